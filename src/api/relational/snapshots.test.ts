import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { postedAtOnce } from '../../../test/worlds/atOnce.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { systemClock } from '../../core/clock.ts'
import { RESTORE_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import { objectKey } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { NEWEST_RELATIONAL_VERSION, RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { COLLECTION } from './record.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const SIZES = {
  ...{ cpuRequest: '500m', cpuLimit: '1', memoryRequest: '1Gi', memoryLimit: '1Gi', storageSize: '5Gi' },
  isDefault: true,
}
const PATH = `/boundaries/${B}/resourcegroups/shop/resources/${COLLECTION}/orders/snapshots`

describe('snapshots of relational databases over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  /** No controller runs: snapshots stay unfinished. */
  let apps: unknown[]
  beforeEach(async () => {
    server = await startShop()
    apps = [server.app, await server.another()]
    server.put(RelationalCluster, 'orders', {}, NAMESPACE)
  })
  afterEach(() => server.stop())

  const atOnce = async (bodies: readonly object[]) => {
    const posts = bodies.map((body) => ({ path: PATH, body }))
    const answers = await postedAtOnce(server.client, apps, posts)
    return answers.map(({ status, body }) => (status === 202 ? '202' : `${status} ${body.code}`)).sort()
  }
  const stored = async () => (await server.client.list(RelationalSnapshot.resource, { namespace: NAMESPACE })).items

  const together: [string, (index: number) => object][] = [
    ['the same name', () => ({ name: 'same' })],
    ['different names', (index) => ({ name: `n${index}` })],
    ['no name', () => ({})],
  ]
  for (const [title, bodyOf] of together) {
    it(`accepts one of six concurrent snapshots with ${title}`, async () => {
      const answers = await atOnce(Array.from({ length: 6 }, (_, index) => bodyOf(index)))
      expect(answers).to.deep.equal(['202', ...Array(5).fill('409 SNAPSHOT_RUNNING')])
      expect(await stored()).to.have.length(1)
    })
  }

  const report = (kind: AnyKind, name: string, status: object) => {
    const ref = { namespace: NAMESPACE, name }
    const edited = server.client.edit(kind.resource, ref, (object) => Object.assign(object, { status }))
    server.caches.get(kind.resource).observeWrite(edited)
  }

  it('gives snapshots of the same second different names', async () => {
    await server.stop()
    server = await startShop({}, { clock: { ...systemClock, now: () => Date.parse('2026-01-01T00:00:00Z') } })
    server.put(RelationalCluster, 'orders', {}, NAMESPACE)
    for (const name of ['manual-20260101000000', 'manual-20260101000000-2']) {
      const { status, body } = await server.ask('post', PATH).send({})
      expect([status, body.name]).to.deep.equal([202, name])
      report(RelationalSnapshot, body.id, { completedAt: '2026-01-01T00:00:00Z' })
    }
  })

  it('shows the engine version of the database until the snapshot has its own', async () => {
    const made = await server.ask('post', PATH).send({ name: 'first' })
    expect([made.status, made.body.engineVersion]).to.deep.equal([202, NEWEST_RELATIONAL_VERSION])
    const version = async () => (await server.ask('get', PATH)).body.items[0].engineVersion
    // A new major version is requested, but the instances still run the old one.
    report(RelationalCluster, 'orders', { engineVersion: '15' })
    expect(await version()).to.equal('15')
    report(RelationalSnapshot, made.body.id, { engineVersion: '14' })
    expect(await version()).to.equal('14')
  })

  const windows: [sentence: string, status: object, shown: object][] = [
    [
      'without lastArchivedAt while archiving works',
      { archiving: 'Healthy' },
      { archiving: 'Healthy', lastArchivedAt: null },
    ],
    [
      'with the time at which archiving stopped',
      { archiving: 'Failing', archivingStoppedAt: '2026-11-01T10:00:00Z' },
      { archiving: 'Failing', lastArchivedAt: '2026-11-01T10:00:00Z' },
    ],
    [
      'with the full precision of the engine',
      { archiving: 'Healthy', firstRecoverableAt: '2026-11-01T10:00:00.123456789Z' },
      { earliest: '2026-11-01T10:00:00.123456789Z', isAvailable: true },
    ],
    [
      'of one moment if archiving stopped before the first base backup',
      {
        archiving: 'Failing',
        archivingStoppedAt: '2026-11-01T09:00:00Z',
        firstRecoverableAt: '2026-11-01T10:00:00.5Z',
      },
      { earliest: '2026-11-01T10:00:00.5Z', latest: '2026-11-01T10:00:00.5Z', isAvailable: true },
    ],
    [
      'of one moment if the clock of the engine is ahead',
      { archiving: 'Healthy', firstRecoverableAt: '2999-11-01T10:00:00Z' },
      { earliest: '2999-11-01T10:00:00Z', latest: '2999-11-01T10:00:00Z', isAvailable: true },
    ],
  ]
  for (const [sentence, status, shown] of windows) {
    it(`returns a recovery window ${sentence}`, async () => {
      report(RelationalCluster, 'orders', status)
      expect((await server.ask('get', `${PATH}/pitr-window`)).body).to.deep.include(shown)
    })
  }

  it('requires the right to create a database in the group for a restore', async () => {
    const snapshot = randomUUID()
    server.put(ComputePlan, 'relational-dev', { family: 'Relational', displayName: 'Dev', ...SIZES }, undefined)
    server.put(RelationalSnapshot, snapshot, { clusterName: 'orders', name: 'first' }, NAMESPACE)
    report(RelationalSnapshot, snapshot, { completedAt: '2026-01-01T00:00:00Z' })
    const orders = `/boundaries/${B}/resourcegroups/shop/resources/${COLLECTION}/orders`
    const restored = async (scope: string) => {
      const caller = randomUUID()
      server.grant(caller, 'Contributor', scope)
      return (await server.ask('post', `${PATH}/${snapshot}/restore`, caller).send({ newName: 'copy' })).status
    }
    expect(await restored(orders)).to.equal(403)
    expect((await server.client.list(RelationalCluster.resource)).items).to.have.length(1)
    expect(await restored(`/boundaries/${B}/resourcegroups/shop`)).to.equal(202)
  })

  // The database may have been recreated under the name with a smaller volume.
  for (const [sentence, of, held, made] of [
    ['the size of the snapshot if the plan has less', {}, '8Gi', '8Gi'],
    ['the size of the plan if that is enough', {}, '5Gi', undefined],
    ['the size of the database if that is enough', { storageSize: '20Gi' }, '8Gi', '20Gi'],
    ['the size of the snapshot if the database has less by now', { storageSize: '4Gi' }, '5Gi', '5Gi'],
  ] as const)
    it(`restores with ${sentence}`, async () => {
      const snapshot = randomUUID()
      server.put(ComputePlan, 'relational-dev', { family: 'Relational', displayName: 'Dev', ...SIZES }, undefined)
      server.put(RelationalCluster, 'orders', of, NAMESPACE)
      server.put(RelationalSnapshot, snapshot, { clusterName: 'orders', name: 'first' }, NAMESPACE)
      report(RelationalSnapshot, snapshot, { completedAt: '2026-01-01T00:00:00Z', storageSize: held })
      expect((await server.ask('post', `${PATH}/${snapshot}/restore`).send({ newName: 'copy' })).status).to.equal(202)
      const { items } = await server.client.list(RelationalCluster.resource, { namespace: NAMESPACE })
      const copy = items.find(({ metadata }) => metadata.name === 'copy')
      expect((copy?.spec as { storageSize?: string } | undefined)?.storageSize).to.equal(made)
    })

  it('rejects a restore to a deprecated plan unless the database already has it', async () => {
    const snapshot = randomUUID()
    const plan = { family: 'Relational', displayName: 'Old', ...SIZES, isDefault: false, deprecated: true }
    server.put(ComputePlan, 'relational-old', plan, undefined)
    server.put(RelationalSnapshot, snapshot, { clusterName: 'orders', name: 'first' }, NAMESPACE)
    report(RelationalSnapshot, snapshot, { completedAt: '2026-01-01T00:00:00Z' })
    const restored = async (body: object) => {
      const answer = await server.ask('post', `${PATH}/${snapshot}/restore`).send(body)
      return `${answer.status} ${answer.body.code} ${answer.body.field}`
    }
    const old = { computePlan: 'relational-old' }
    expect(await restored({ newName: 'copy', ...old })).to.equal('422 PLAN_DEPRECATED computePlan')
    server.put(RelationalCluster, 'orders', old, NAMESPACE)
    expect(await restored({ newName: 'copy' })).to.match(/^202 /)
    expect(await restored({ newName: 'another', ...old })).to.match(/^202 /)
  })

  for (const newName of ['Not a name', 'a'.repeat(53), 'config'])
    it(`rejects the new name ${newName.slice(0, 10)} under the name of its field`, async () => {
      const snapshot = randomUUID()
      server.put(RelationalSnapshot, snapshot, { clusterName: 'orders', name: 'first' }, NAMESPACE)
      const { status, body } = await server.ask('post', `${PATH}/${snapshot}/restore`).send({ newName })
      expect([status, body.errors?.[0]?.field]).to.deep.equal([400, 'newName'])
    })

  it('accepts takeOverName only for an existing database or the source itself', async () => {
    const snapshot = randomUUID()
    server.put(ComputePlan, 'relational-dev', { family: 'Relational', displayName: 'Dev', ...SIZES }, undefined)
    server.put(RelationalSnapshot, snapshot, { clusterName: 'gone', name: 'first' }, NAMESPACE)
    report(RelationalSnapshot, snapshot, { completedAt: '2026-01-01T00:00:00Z' })
    const restored = async (newName: string) => {
      const path = `/boundaries/${B}/resourcegroups/shop/resources/${COLLECTION}/gone/snapshots/${snapshot}/restore`
      const { status, body } = await server.ask('post', path).send({ newName, takeOverName: true })
      return `${status} ${body.code} ${body.field}`
    }
    expect(await restored('heir')).to.equal('422 REFERENCE_NOT_FOUND takeOverName')
    expect(await restored('gone')).to.match(/^202 /)
  })

  for (const [sentence, body, refusal] of [
    ['with the same name', { name: 'same' }, '409 ALREADY_EXISTS'],
    ['without a name', {}, '409 SNAPSHOT_RUNNING'],
  ] as const)
    it(`rejects a snapshot ${sentence} if another replica created one a moment before`, async () => {
      const create = server.client.create.bind(server.client)
      server.client.create = (async (...given: Parameters<typeof create>) => {
        if (given[0] !== RelationalSnapshot.resource) return create(...given)
        // As if the other replica had sent the same a moment before.
        const other = structuredClone(given[1])
        server.client.create = create
        await create(given[0], { ...other, metadata: { ...other.metadata, annotations: {} } })
        return create(...given)
      }) as typeof create
      expect(await atOnce([body])).to.deep.equal([refusal])
      expect(await stored()).to.have.length(1)
    })

  it('rejects a snapshot while the archive is suspended', async () => {
    server.put(RelationalCluster, 'orders', { archivingSuspended: true }, NAMESPACE)
    expect(await atOnce([{}])).to.deep.equal(['409 INVALID_STATE'])
  })

  it('rejects the name of a snapshot that was created with kubectl', async () => {
    const id = '33333333-3333-4333-8333-333333333333'
    const spec = { clusterName: 'orders', name: 'same' }
    server.put(RelationalSnapshot, id, spec, NAMESPACE)
    expect(await atOnce([{ name: 'same' }])).to.deep.equal(['409 SNAPSHOT_RUNNING'])
    const ref = { namespace: NAMESPACE, name: id }
    server.client.edit<RelationalSnapshot>(RelationalSnapshot.resource, ref, (object) => {
      object.status = { ...object.status, completedAt: '2026-11-01T10:00:00Z' } as never
    })
    const cache = server.caches.get<RelationalSnapshot>(RelationalSnapshot.resource)
    await until('the cache has the status', () => cache.get(NAMESPACE, id)?.status?.completedAt)
    expect(await atOnce([{ name: 'same' }])).to.deep.equal(['409 ALREADY_EXISTS'])
  })

  describe('deletion of a snapshot that another group restores from', () => {
    const id = '44444444-4444-4444-8444-444444444444'
    const restoreFrom = { clusterName: 'orders', resourceGroup: 'shop', snapshotId: id }
    const approved = { [RESTORE_ANNOTATION]: objectKey(NAMESPACE, id) }
    const other = groupNamespace(B, 'other')
    const restore = (namespace: string, annotations: Record<string, string>) => {
      const object = server.put(RelationalCluster, 'copy', { restoreFrom }, namespace)
      server.client.edit(RelationalCluster.resource, { namespace, name: 'copy' }, ({ metadata }) => {
        Object.assign(metadata.annotations ?? {}, annotations)
      })
      return until('the cache has it', () => {
        const seen = server.caches.get(RelationalCluster.resource).get(namespace, object.metadata.name)
        return Object.keys(annotations).every((name) => seen?.metadata.annotations?.[name] !== undefined) || undefined
      })
    }
    const remove = (as?: string) => server.ask('delete', `${PATH}/${id}`, as)
    beforeEach(() => {
      server.group(B, 'other')
      server.put(RelationalSnapshot, id, { clusterName: 'orders', name: 'kept' }, NAMESPACE)
      report(RelationalSnapshot, id, { completedAt: '2026-11-01T10:00:00Z' })
    })

    it('deletes a snapshot that an unauthorized database of another boundary names', async () => {
      await restore(groupNamespace('55555555-5555-4555-8555-555555555555', 'theirs'), {})
      expect((await remove()).status).to.equal(204)
    })

    it('returns IN_USE for an authorized restore, and lists it only for callers who may read it', async () => {
      await restore(other, approved)
      const { status, body } = await remove()
      expect([status, body.code]).to.deep.equal([409, 'IN_USE'])
      expect(body.usedBy).to.deep.equal([{ name: 'copy', collection: COLLECTION, resourceGroup: 'other' }])
      const who = randomUUID()
      server.grant(who, 'Contributor', `/boundaries/${B}/resourcegroups/shop`)
      const hidden = await remove(who)
      expect([hidden.status, hidden.body.code, hidden.body.usedBy]).to.deep.equal([409, 'IN_USE', []])
    })
  })
})
