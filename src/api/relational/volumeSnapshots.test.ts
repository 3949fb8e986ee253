import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import type { VolumeClasses } from '../../contracts/backups.ts'
import { groupNamespace } from '../../core/names.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import type { Backups } from '../resources/backups.ts'
import { COLLECTION } from './record.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const GROUP = `/boundaries/${B}/resourcegroups/shop/resources/${COLLECTION}`
const SIZES = {
  ...{ cpuRequest: '500m', cpuLimit: '1', memoryRequest: '1Gi', memoryLimit: '1Gi', storageSize: '5Gi' },
  storageClass: 'disks',
}
const CLASSES: VolumeClasses = {
  storage: ['disks', 'folders'].map((name) => ({
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name } },
    provisioner: `${name}.example.com`,
  })),
  snapshot: [
    {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotClass', metadata: { name: 'snapshots' } },
      driver: 'disks.example.com',
    },
  ],
}

describe('snapshots of volumes over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    const classes = async (clusterId?: string) => ({ ...CLASSES, ...(clusterId === FAR && { snapshot: [] }) })
    server = await startShop({}, { backups: { classes } as Backups })
    const plan = { family: 'Relational', displayName: 'Dev', ...SIZES, isDefault: true }
    server.put(ComputePlan, 'relational-dev', plan, undefined)
    server.put(PlatformCluster, FAR, { displayName: 'far', domain: 'far.example.org' })
    for (const [name, spec] of [
      ['orders', { walStorageSize: '3Gi', clusterId: FAR }],
      ['ours', {}],
      ['folded', { storageClass: 'folders' }],
      ['away', { clusterId: FAR }],
    ] as const)
      server.put(RelationalCluster, name, spec, NAMESPACE)
  })
  after(() => server.stop())

  const take = async (name: string) => {
    const { status, body } = await server.ask('post', `${GROUP}/${name}/snapshots`).send({ method: 'Volume' })
    return [status, status === 202 ? body.method : body.code, body.field, body.error?.match(/storage class[^.]*/)?.[0]]
  }

  it('are taken where a VolumeSnapshotClass fits the storage class', async () => {
    expect((await take('ours')).slice(0, 2)).to.deep.equal([202, 'Volume'])
    expect(await take('ours')).to.deep.include.members([409, 'SNAPSHOT_RUNNING'])
  })

  for (const [sentence, name, storageClass] of [
    ['of the database', 'folded', 'folders'],
    ['on its cluster', 'away', 'disks'],
  ] as const)
    it(`are refused if no VolumeSnapshotClass fits the storage class ${sentence}`, async () => {
      const reason = `storage class "${storageClass}" has no VolumeSnapshotClass`
      expect(await take(name)).to.deep.equal([422, 'SNAPSHOT_CLASS_MISSING', 'method', reason])
    })

  describe('of a database that was made anew elsewhere', () => {
    const id = randomUUID()
    const path = `${GROUP}/orders/snapshots`
    before(() => {
      server.put(RelationalSnapshot, id, { clusterName: 'orders', name: 'first', method: 'Volume' }, NAMESPACE)
      const status = {
        ...{ completedAt: '2026-01-01T00:00:00Z', storageSize: '8Gi', walStorageSize: '2Gi', storageClass: 'blocks' },
        sizeBytes: 9 * 2 ** 30,
      }
      const ref = { namespace: NAMESPACE, name: id }
      const edited = server.client.edit(RelationalSnapshot.resource, ref, (object) => Object.assign(object, { status }))
      server.caches.get(RelationalSnapshot.resource).observeWrite(edited)
    })

    it('show their size, and are sorted by it', async () => {
      const { body } = await server.ask('get', `${path}?sort=-sizeBytes`).expect(200)
      expect(body.items).to.have.nested.property('[0].sizeBytes', 9 * 2 ** 30)
    })

    it('are restored where they are: on their cluster, in their storage class, with as much storage', async () => {
      await server.ask('post', `${path}/${id}/restore`).send({ newName: 'copy' }).expect(202)
      const { spec } = await server.client.get(RelationalCluster.resource, { namespace: NAMESPACE, name: 'copy' })
      expect(spec).to.include({ storageClass: 'blocks', storageSize: '8Gi', walStorageSize: '3Gi' })
      expect(spec).to.not.have.property('clusterId')
    })

    it('are refused in another group', async () => {
      server.group(B, 'other')
      const request = { newName: 'copy', resourceGroup: 'other' }
      const { status, body } = await server.ask('post', `${path}/${id}/restore`).send(request)
      expect([status, body.code, body.field]).to.deep.equal([422, 'FEATURE_UNSUPPORTED', 'resourceGroup'])
    })
  })
})
