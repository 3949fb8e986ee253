import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { CLUSTER } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { FakeMetricSource } from '../../adapters/prometheus/fakeMetrics.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { node, persistentVolume, persistentVolumeClaim, pod } from '../../kube/builtin.ts'
import { KubeError } from '../../kube/errors.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { createKubernetesObjects } from './kubernetesObjects.ts'

const NAMESPACE = groupNamespace(BOUNDARY, 'shop')
const FAR = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
const SILENT = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb'
const HANGING = 'dddddddd-dddd-4ddd-8ddd-dddddddddddd'
const AWAITED = 'cccccccc-cccc-4ccc-8ccc-cccccccccccc'
const labels = { [OWNER_KIND_LABEL]: 'VectorCluster', [OWNER_NAME_LABEL]: 'products' }

const machine = (name: string, ready: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'node-role.kubernetes.io/worker': '' }, creationTimestamp: '2026-01-01T00:00:00Z' },
  status: {
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    allocatable: { cpu: '3800m', memory: 'nonsense' },
    nodeInfo: {
      kubeletVersion: 'v1.36.3',
      osImage: 'Debian',
      architecture: 'amd64',
      containerRuntimeVersion: 'containerd',
    },
    conditions: [
      {
        type: 'Ready',
        status: ready,
        reason: 'KubeletReady',
        message: 'a\nb',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
  ...more,
})
const running = (name: string, phase = 'Running') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: NAMESPACE },
  spec: { nodeName: 'one', containers: [{ resources: { requests: { cpu: '500m', memory: '1Gi' } } }, {}] },
  status: { phase },
})
const claim = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: NAMESPACE, labels, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
  spec: { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } },
  status: { phase: 'Bound', capacity: { storage: '1Gi' } },
})
const volume = (name: string, claimed: string | undefined, phase = 'Bound') => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    storageClassName: 'fast',
    capacity: { storage: '1Gi' },
    persistentVolumeReclaimPolicy: 'Delete',
    accessModes: ['ReadWriteOnce'],
    ...(claimed !== undefined && { claimRef: { namespace: NAMESPACE, name: claimed } }),
  },
  status: { phase },
})

describe('nodes and volumes of clusters', () => {
  const operator = randomUUID()
  const [ownCluster, otherCluster] = [new FakeKubeClient(), new FakeKubeClient()]
  const metrics = new FakeMetricSource()
  let shop: Awaited<ReturnType<typeof startShop>>

  before(async () => {
    const silent = {
      list: () => Promise.reject(new KubeError('Unavailable', 'The agent is not connected.', { status: 503 })),
    }
    const hanging = {
      list: (_resource: object, { signal }: { signal?: AbortSignal }) =>
        new Promise((_, refuse) => signal?.addEventListener('abort', () => refuse(signal.reason))),
    }
    const objects = createKubernetesObjects({
      client: ownCluster,
      caches: { has: () => false } as never,
      clientOf: (clusterId) => (clusterId === FAR ? otherCluster : clusterId === HANGING ? hanging : silent) as never,
    })
    const clock: Clock = {
      ...systemClock,
      setTimeout: (task, after) => systemClock.setTimeout(task, Math.min(after, 50)),
    }
    shop = await startShop({}, { monitoring: { metrics, objects }, clock })
    shop.grant(operator, 'Platform Owner', '/')
    shop.put(VectorCluster, 'products', { storageSize: '5Gi' }, NAMESPACE)
    for (const [id, status] of [
      [FAR, { agent: { joinedAt: '2026-01-01T00:00:00Z', connection: 'a' } }],
      [SILENT, { agent: { joinedAt: '2026-01-01T00:00:00Z', connection: 'a' } }],
      [HANGING, { agent: { joinedAt: '2026-01-01T00:00:00Z', connection: 'a' } }],
      [AWAITED, {}],
    ] as const) {
      shop.put(PlatformCluster, id, {
        name: id.slice(0, 3),
        displayName: id.slice(0, 3),
        domain: 'far.test',
        isPlatform: false,
      })
      const made = shop.client.edit(
        PlatformCluster.resource,
        { name: id },
        (object) => void Object.assign(object, { status }),
      )
      shop.caches.get(PlatformCluster.resource).observeWrite(made)
    }
    const seed = (client: FakeKubeClient, ...all: [typeof node, object][]) => {
      for (const [resource, object] of all) client.seed(resource, object as KubeObject)
    }
    seed(
      ownCluster,
      [node, machine('one', 'True')],
      [node, machine('two', 'Unknown', { spec: { unschedulable: true } })],
    )
    seed(ownCluster, [pod, running('a')], [pod, running('b')], [pod, running('over', 'Succeeded')])
    seed(otherCluster, [node, machine('far', 'False')])
    const labelsOfDeleted = { ...labels, [OWNER_NAME_LABEL]: 'gone' }
    seed(ownCluster, [persistentVolumeClaim, claim('storage-vc-products-0')])
    seed(ownCluster, [persistentVolumeClaim, claim('storage-vc-gone-0', { labels: labelsOfDeleted })])
    seed(ownCluster, [persistentVolumeClaim, claim('other', { namespace: 'kube-system', labels: {} })])
    seed(
      ownCluster,
      [persistentVolume, volume('used', 'storage-vc-products-0')],
      [persistentVolume, volume('kept', 'storage-vc-gone-0')],
    )
    seed(
      ownCluster,
      [persistentVolume, volume('released', 'nothing', 'Released')],
      [persistentVolume, volume('free', undefined, 'Available')],
    )
    const now = Math.floor(Date.now() / 1000)
    const named = { namespace: NAMESPACE, persistentvolumeclaim: 'storage-vc-products-0' }
    for (let back = 0; back < 7_200; back += 15)
      metrics.measured({ metric: 'ClaimUsed', labels: named, at: now - back, value: 512 * 1024 ** 2 })
    for (let back = 0; back < 60; back += 15)
      metrics.measured({ metric: 'ClaimGrowth', labels: named, at: now - back, value: 128 * 1024 ** 2 })
  })
  after(() => shop.stop())

  const list = async (path: string) => {
    const { status, body, headers } = await shop.ask('get', `/admin/monitoring/${path}`, operator)
    expect(status, JSON.stringify(body)).to.equal(200)
    return { items: body.items as Record<string, unknown>[], missing: headers['freehold-missing-clusters'] }
  }

  it('are those of reachable clusters, with a header for the others', async () => {
    const { items, missing } = await list('nodes')
    expect(items.map(({ name, clusterId, status }) => [name, clusterId, status])).to.deep.equal([
      ['far', FAR, 'NotReady'],
      ['one', CLUSTER, 'Ready'],
      ['two', CLUSTER, 'Unknown'],
    ])
    expect(missing).to.equal(`${SILENT}, ${HANGING}`)
  })

  it('sum the requests of running pods per node', async () => {
    const { items } = await list(`nodes?filter=clusterId:eq:${CLUSTER}`)
    expect(items[0]).to.deep.include({
      ...{ roles: ['worker'], isSchedulable: true, cpuCapacity: '4', cpuAllocatable: '3800m', cpuRequested: '1' },
      ...{ memoryRequested: '2Gi', memoryAllocatable: '0', podCount: 2, podCapacity: 110, cpuUsage: null },
    })
    expect(items[1]).to.include({ isSchedulable: false, podCount: 0 })
    expect(((items[0]?.conditions ?? []) as { message: string }[])[0]?.message).to.equal('a b')
  })

  it('show the usage of nodes from the metrics API', async () => {
    const usage = { cpu: '1234567890n', memory: '2Gi' }
    const metricsOf: typeof node = {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      plural: 'nodes',
      kind: 'NodeMetrics',
      namespaced: false,
    }
    otherCluster.seed(metricsOf, {
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'NodeMetrics',
      metadata: { name: 'far' },
      usage,
    })
    const { items } = await list(`nodes?filter=clusterId:eq:${FAR}`)
    expect([items[0]?.cpuUsage, items[0]?.memoryUsage]).to.deep.equal(['1235m', '2Gi'])
  })

  it('show the resource of volumes, and orphaned ones', async () => {
    const { items } = await list('storage/volumes')
    expect(items.map(({ name, isOrphaned }) => [name, isOrphaned])).to.deep.equal([
      ['free', false],
      ['kept', true],
      ['released', true],
      ['used', false],
    ])
    expect(items[3]).to.deep.include({
      ...{ boundaryId: BOUNDARY, resourceGroup: 'shop', collection: 'vectorclusters', resourceName: 'products' },
      ...{ capacityBytes: 1024 ** 3, phase: 'Bound', claim: { namespace: NAMESPACE, name: 'storage-vc-products-0' } },
    })
  })

  it('show the usage of claims and the days until they are full', async () => {
    const { items } = await list(`storage/claims?namespace=${NAMESPACE}&lookbackMinutes=60`)
    expect(items.map(({ name }) => name)).to.deep.equal(['storage-vc-gone-0', 'storage-vc-products-0'])
    const { series, ...shown } = items[1] as { series: { points: object[] }[] }
    expect(shown).to.include({
      usedBytes: 512 * 1024 ** 2,
      usedPercent: 50,
      growthBytesPerDay: 128 * 1024 ** 2,
      fullInDays: 4,
    })
    expect(series[0]?.points.length).to.be.within(119, 121)
    expect(items[0]).to.include({ usedBytes: null, usedPercent: null, fullInDays: null, resourceName: 'gone' })
  })

  it('include only the named claims', async () => {
    const names = async (query: string) => (await list(`storage/claims?${query}`)).items.map(({ name }) => name)
    expect(await names(`claim=other,${NAMESPACE}/storage-vc-gone-0`)).to.deep.equal(['other', 'storage-vc-gone-0'])
    expect(await names('claim=elsewhere/other&claim=kube-system/other')).to.deep.equal(['other'])
    expect(await names('claim=none')).to.deep.equal([])
  })

  it('omit usage without Prometheus', async () => {
    metrics.isGone = true
    const { items } = await list('storage/claims?claim=storage-vc-products-0')
    metrics.isGone = false
    expect([items[0]?.usedBytes, items[0]?.series]).to.deep.equal([null, []])
  })

  for (const path of ['nodes', 'storage/volumes', 'storage/claims'])
    it(`are forbidden to tenants: ${path}`, async () => {
      expect((await shop.ask('get', `/admin/monitoring/${path}`, OWNER)).status).to.equal(403)
    })

  for (const query of ['lookbackMinutes=4', 'lookbackMinutes=10081', 'lookbackMinutes=x', 'namespace=', 'nothing=1'])
    it(`are rejected with ${query}`, async () => {
      expect((await shop.ask('get', `/admin/monitoring/storage/claims?${query}`, operator)).status).to.equal(400)
    })
})
