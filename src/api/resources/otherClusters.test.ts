import { Readable } from 'node:stream'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { FakePodLogs } from '../../adapters/podlogs/fake.ts'
import { followedPodLogs } from '../../adapters/podlogs/followed.ts'
import type { VolumeFiles } from '../../adapters/volumefiles/port.ts'
import { COMPONENT_LABEL, REVISION_LABEL } from '../../contracts/containerinstances.ts'
import { systemClock } from '../../core/clock.ts'
import {
  INCARNATION_ANNOTATION,
  OWNER_INCARNATION_ANNOTATION,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
} from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { pod, storageClass } from '../../kube/builtin.ts'
import { veleroBackup, veleroBackupStorageLocation, volumeSnapshotClass } from '../../kube/velero.ts'

const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const AWAY = '5a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b78'
const HOME = groupNamespace(BOUNDARY, 'shop')
const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources`
const web = { name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }
const disk = { name: 'disk', kind: 'Persistent', size: '1Gi' }

/** Each collection with a body, and the subcollection of its pods. */
const COLLECTIONS = [
  [
    'containerinstances',
    'ContainerInstance',
    { components: [{ ...web, mounts: [{ volume: 'disk', path: '/d' }] }], volumes: [disk] },
    'crates',
  ],
  ['apps', 'PlatformApp', { sourceKind: 'Image', image: 'site:1', volumes: [{ ...disk, mountPath: '/d' }] }, 'pods'],
  ['staticwebapps', 'StaticWebApp', { image: 'site:1' }, 'pods'],
] as const

describe('resources on another cluster', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  const logs = new FakePodLogs()
  /** The clusters in which files were asked for. */
  const askedClusters: (string | undefined)[] = []
  const volumeFiles: VolumeFiles = {
    async ask({ clusterId }) {
      askedClusters.push(clusterId)
      return { answer: { entries: [], truncated: false }, bytes: Readable.from([]) }
    },
  }

  before(async () => {
    shop = await startShop(
      {},
      {
        podLogs: followedPodLogs(logs, { clock: systemClock, isAlive: () => false }),
        volumeFiles,
      },
    )
    for (const [id, name] of [
      [FAR, 'far'],
      [AWAY, 'away'],
    ] as const)
      shop.put(PlatformCluster, id, { displayName: name, domain: `${name}.example.org` })
    shop.put(BoundaryProjection, FAR, { clusterId: FAR }, boundaryNamespace(BOUNDARY))
    const sizes = { cpuRequest: '100m', cpuLimit: '1', memoryRequest: '128Mi', memoryLimit: '256Mi' }
    for (const [plan, family] of [
      ['container-nano', 'ContainerInstance'],
      ['app-nano', 'App'],
      ['function-nano', 'Function'],
    ] as const)
      shop.put(ComputePlan, plan, { family, displayName: plan, ...sizes, isDefault: true })
    for (const [collection, kind, body] of COLLECTIONS) {
      const path = `${GROUP}/${collection}/web`
      const made = await shop.ask('post', path).send(body)
      expect(made.status, JSON.stringify(made.body)).to.equal(201)
      expect(made.body.clusterId, 'where the boundary is projected').to.equal(FAR)
      shop.far.seed(pod, copyOf(kind))
    }
  })
  after(() => shop.stop())

  const copyOf = (kind: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${kind.toLowerCase()}-1`,
      namespace: HOME,
      labels: { [OWNER_KIND_LABEL]: kind, [OWNER_NAME_LABEL]: 'web', [COMPONENT_LABEL]: 'web', [REVISION_LABEL]: '1' },
    },
    spec: { containers: [{ name: 'web', image: 'site:1' }] },
    status: { phase: 'Running', containerStatuses: [{ name: 'web', ready: true }] },
  })

  for (const [collection, kind, body, copies] of COLLECTIONS) {
    const path = `${GROUP}/${collection}/web`
    const name = `${kind.toLowerCase()}-1`

    it(`have their pods and logs from that cluster: ${collection}`, async () => {
      const { body: found } = await shop.ask('get', `${path}/${copies}`).expect(200)
      expect(found.items.map((one: { id?: string; name?: string }) => one.id ?? one.name)).to.deep.equal([name])
      logs.write({ namespace: HOME, pod: name, container: 'web', clusterId: FAR }, '2026-01-01T00:00:00Z hello\n')
      const log = copies === 'crates' ? `${path}/crates/${name}/logs` : `${path}/logs`
      expect((await shop.ask('get', log).expect(200)).text).to.equal('hello\n')
    })

    it(`are rejected on a cluster without a projection of the boundary: ${collection}`, async () => {
      const other = `${GROUP}/${collection}/other`
      const { body: refused } = await shop
        .ask('post', other)
        .send({ ...body, clusterId: AWAY })
        .expect(422)
      expect(refused.code).to.equal('CLUSTER_NOT_PROJECTED')
    })
  }

  it('have metrics of their replicas, and incomplete metrics of requests', async () => {
    const { body: metrics } = await shop.ask('get', `${GROUP}/apps/web/metrics`).expect(200)
    const replicas = metrics.series.find(({ name }: { name: string }) => name === 'Replicas')
    expect(replicas.points.map(({ value }: { value: number }) => value)).to.deep.equal([1])
    const { body: counted } = await shop.ask('get', `${GROUP}/apps/web/metrics/web`).expect(200)
    expect(counted.isComplete).to.equal(false)
  })

  it('include functions, with the logs of their pods', async () => {
    const path = `${GROUP}/functionnamespaces/calls`
    const { body: made } = await shop.ask('post', path).send({ runtime: 'nodejs' }).expect(201)
    expect(made.clusterId).to.equal(FAR)
    await shop.ask('post', `${path}/functions/hello`).send({ handler: 'index' }).expect(201)
    const name = 'hello-1'
    const copy = copyOf(ServerlessFunction.kind)
    const labels = { ...copy.metadata.labels, [OWNER_NAME_LABEL]: 'calls.hello' }
    shop.far.seed(pod, { ...copy, metadata: { ...copy.metadata, name, labels } })
    logs.write({ namespace: HOME, pod: name, container: 'web', clusterId: FAR }, '2026-01-01T00:00:00Z called\n')
    expect((await shop.ask('get', `${path}/functions/hello/logs`).expect(200)).text).to.equal('called\n')
    const { body: metrics } = await shop.ask('get', `${path}/functions/hello/metrics`).expect(200)
    const replicas = metrics.series.find((one: { name: string }) => one.name === 'Replicas')
    expect(replicas.points.map(({ value }: { value: number }) => value)).to.deep.equal([1])
    await shop.ask('post', `${GROUP}/functionnamespaces/other`).send({ runtime: 'nodejs', clusterId: AWAY }).expect(422)
  })

  it('have hosts in the domain of that cluster', async () => {
    const request = { name: 'next', resourceGroup: 'shop' }
    const url = `/boundaries/${BOUNDARY}/resources/containerinstances/url`
    expect((await shop.ask('post', url).send(request).expect(200)).body.host).to.match(/\.far\.example\.org$/)
  })

  it('have the files of their volumes on that cluster', async () => {
    for (const [kind, collection] of [
      [ContainerInstance, 'containerinstances'],
      [PlatformApp, 'apps'],
    ] as const) {
      const found = await shop.client.get(kind.resource, { namespace: HOME, name: 'web' })
      const status = { ...(found.status as object), revision: 1, firstReadyAt: '2026-01-01T00:00:00Z' }
      shop.caches.get(kind.resource).observeWrite(shop.client.seed(kind.resource, { ...found, status }))
      await shop.ask('get', `${GROUP}/${collection}/web/files?path=/d`).expect(200)
    }
    expect(askedClusters).to.deep.equal([FAR, FAR])
  })

  it('are backed up by the Velero of that cluster', async () => {
    const path = `${GROUP}/containerinstances/web/backup-policy`
    const policy = { schedule: '0 2 * * *', retentionDays: 7 }
    expect((await shop.ask('put', path).send(policy)).body.code).to.equal('BACKUP_TARGET_MISSING')
    shop.far.seed(veleroBackupStorageLocation, {
      apiVersion: 'velero.io/v1',
      kind: veleroBackupStorageLocation.kind,
      metadata: { name: 'default', namespace: 'velero' },
      spec: { default: true },
      status: { phase: 'Available' },
    })
    expect((await shop.ask('put', path).send(policy)).body.code).to.equal('SNAPSHOT_CLASS_MISSING')
    shop.far.seed(storageClass, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'disks.example.com',
    })
    shop.far.seed(volumeSnapshotClass, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: volumeSnapshotClass.kind,
      metadata: { name: 'snapshots' },
      driver: 'disks.example.com',
    })
    const { body: set } = await shop.ask('put', path).send(policy).expect(200)
    expect(set).to.deep.include({ status: 'Active', backups: [] })
    const { metadata } = await shop.client.get(ContainerInstance.resource, { namespace: HOME, name: 'web' })
    const incarnation = metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    for (const [name, owner] of [
      ['ours', incarnation],
      ['of-others', 'another'],
    ] as const)
      shop.far.seed(veleroBackup, {
        apiVersion: 'velero.io/v1',
        kind: 'Backup',
        metadata: { name, namespace: 'velero', annotations: { [OWNER_INCARNATION_ANNOTATION]: owner } },
        status: { phase: 'Completed', startTimestamp: '2026-01-02T02:00:00Z' },
      })
    const { body: shown } = await shop.ask('get', path).expect(200)
    expect(shown.backups.map(({ phase }: { phase: string }) => phase)).to.deep.equal(['Completed'])
  })
})
