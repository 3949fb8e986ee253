import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { FakeMetricSource } from '../../adapters/prometheus/fakeMetrics.ts'
import { METRICS, PLATFORM_METRICS } from '../../contracts/metrics.ts'
import { timestamp } from '../../core/clock.ts'
import { groupNamespace } from '../../core/names.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { shownLabels } from './series.ts'

const BASE = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/monitoring`
const NAMESPACE = groupNamespace(BOUNDARY, 'shop')
const BEGIN = Math.floor(Date.now() / 1000) - 7_200
const at = (seconds: number) => timestamp((BEGIN + seconds) * 1000)
const queryOf = (more: Record<string, string> = {}) =>
  new URLSearchParams({ metric: 'MemoryUsage', aggregation: 'Average', from: at(0), to: at(3600), ...more })

describe('shownLabels', () => {
  it('shows known labels only, by our names', () => {
    const labels = { pod: 'a', bucket: 'b', namespace: 'n', constructor: 'c', toString: 'd' } as Record<string, string>
    expect(shownLabels(labels)).to.deep.equal({ replica: 'a', bucket: 'b' })
  })
})

describe('metrics of a resource', () => {
  const operator = randomUUID()
  const stranger = randomUUID()
  const source = new FakeMetricSource()
  let shop: Awaited<ReturnType<typeof startShop>>

  before(async () => {
    shop = await startShop({}, { monitoring: { metrics: source, objects: {} as never } })
    shop.grant(operator, 'Platform Owner', '/')
    shop.put(VectorCluster, 'products', { storageSize: '5Gi' }, NAMESPACE)
    shop.put(VectorCluster, 'asleep', { storageSize: '5Gi', running: false }, NAMESPACE)
    shop.put(SecretVault, 'safe', {}, NAMESPACE)
    for (const [kind, name] of [
      [VectorCluster, 'products'],
      [SecretVault, 'safe'],
    ] as const) {
      const made = shop.client.edit(kind.resource, { namespace: NAMESPACE, name }, ({ metadata }) => {
        metadata.creationTimestamp = '2026-01-01T00:00:00Z'
      })
      shop.caches.get(kind.resource).observeWrite(made)
    }
    const secret = { vaultName: 'safe', secretName: 'key', expiresOn: new Date(Date.now() + 86_400_000).toISOString() }
    shop.put(VaultEntry, 'safe-1', secret, NAMESPACE)
    shop.put(VaultEntry, 'safe-2', { ...secret, secretName: 'later', expiresOn: '2999-01-01T00:00:00Z' }, NAMESPACE)
    const labels = { namespace: NAMESPACE, pod: 'vc-products-0', container: 'qdrant' }
    for (let second = 30; second <= 3600; second += 30) {
      const time = { at: BEGIN + second }
      source.measured({ metric: 'MemoryUsage', labels, ...time, value: second <= 1800 ? 100 : 200 })
      source.measured({ metric: 'MemoryLimit', labels, ...time, value: 200 })
      source.measured({ metric: 'MemoryRequest', labels, ...time, value: 50 })
      const others = { ...labels, namespace: 'shop-0000000000' }
      source.measured({ metric: 'MemoryUsage', labels: others, ...time, value: 9 })
    }
  })
  after(() => shop.stop())

  const get = (path: string, query: URLSearchParams, as = OWNER) => shop.ask('get', `${path}?${query}`, as)

  it('are one series per container of its own namespace', async () => {
    const { status, body } = await get(`${BASE}/vectorclusters/products`, queryOf())
    expect(status, JSON.stringify(body)).to.equal(200)
    const { series, ...head } = body
    expect(head).to.deep.equal({
      resourceType: 'vectorclusters',
      resourceName: 'products',
      metric: 'MemoryUsage',
      aggregation: 'Average',
      unit: 'bytes',
      from: at(0),
      to: at(3600),
      stepSeconds: 30,
      isComplete: true,
    })
    expect(series).to.have.length(1)
    expect(series[0].labels).to.deep.equal({ replica: 'vc-products-0', container: 'qdrant' })
    expect(series[0].points).to.have.length(120)
    expect(series[0].points[0]).to.deep.equal({ timestamp: at(0), value: 100 })
  })

  it('are empty for an unknown container', async () => {
    const { body } = await get(`${BASE}/vectorclusters/products`, queryOf({ container: 'nothing' }))
    expect([body.series, body.isComplete]).to.deep.equal([[], false])
    const ofPod = await get(`${BASE}/vectorclusters/products`, queryOf({ metric: 'NetworkIn', container: 'nothing' }))
    expect(ofPod.body.series).to.deep.equal([])
  })

  it('are empty for a stopped resource', async () => {
    const { status, body } = await get(`${BASE}/vectorclusters/asleep`, queryOf())
    expect([status, body.series[0].points]).to.deep.equal([200, []])
  })

  it('return 403 without permission and 404 for a missing resource', async () => {
    expect((await get(`${BASE}/vectorclusters/products`, queryOf(), stranger)).status).to.equal(403)
    expect((await get(`${BASE}/vectorclusters/none`, queryOf())).status).to.equal(404)
    expect((await get(`${BASE}/things/products`, queryOf())).status).to.equal(404)
  })

  const refused: [sentence: string, query: Record<string, string>, parameter: string, supported?: readonly string[]][] =
    [
      ['a metric of another collection', { metric: 'WalSize' }, 'metric', Object.keys(METRICS.vectorclusters)],
      ['an inherited property as metric', { metric: 'constructor' }, 'metric', Object.keys(METRICS.vectorclusters)],
      ['PromQL', { metric: 'up{}' }, 'metric', Object.keys(METRICS.vectorclusters)],
      [
        'an unsupported aggregation',
        { aggregation: 'Sum' },
        'aggregation',
        METRICS.vectorclusters.CpuUsage.aggregations,
      ],
      ['a time that ends before it begins', { to: at(-1) }, 'from'],
      ['more than 31 days', { from: at(-31 * 86_400) }, 'from'],
      ['an invalid time', { from: 'yesterday' }, 'from'],
      ['an unknown parameter', { step: '1m' }, 'step'],
    ]
  for (const [sentence, query, parameter, supported] of refused)
    it(`are rejected for ${sentence}`, async () => {
      const { status, body } = await get(`${BASE}/vectorclusters/products`, queryOf(query))
      expect([status, body.parameter]).to.deep.equal([400, parameter])
      expect(body.supported).to.deep.equal(supported)
    })

  it('accept metric and aggregation in any case', async () => {
    const wanted = queryOf({ metric: 'memoryusage', aggregation: 'AVERAGE' })
    const { status, body } = await get(`${BASE}/vectorclusters/products`, wanted)
    expect([status, body.metric, body.aggregation]).to.deep.equal([200, 'MemoryUsage', 'Average'])
    const use = queryOf({ metric: 'memory' })
    use.delete('aggregation')
    const utilization = await get(`${BASE}/vectorclusters/products/utilization`, use)
    expect([utilization.status, utilization.body.metric]).to.deep.equal([200, 'Memory'])
  })

  it('return UPSTREAM_FAILED without Prometheus', async () => {
    source.isGone = true
    const { status, body } = await get(`${BASE}/vectorclusters/products`, queryOf())
    source.isGone = false
    expect([status, body.code]).to.deep.equal([502, 'UPSTREAM_FAILED'])
  })

  it('include utilization with limit, request and recommendation', async () => {
    const query = queryOf({ metric: 'Memory' })
    query.delete('aggregation')
    const { status, body } = await get(`${BASE}/vectorclusters/products/utilization`, query)
    expect(status, JSON.stringify(body)).to.equal(200)
    const { series, recommendation, ...figures } = body
    expect(figures).to.deep.equal({
      ...{ metric: 'Memory', unit: 'bytes', limit: 200, request: 50 },
      ...{ average: 150, maximum: 200, p95: 200, last: 200, averagePercent: 75, maximumPercent: 100 },
    })
    expect(series.map(({ name }: { name: string }) => name)).to.deep.equal(['Used', 'Requested', 'Limit'])
    expect(recommendation).to.include({ kind: 'ScaleUp', computePlan: 'vector-medium' })
    query.set('metric', 'Connections')
    const other = await get(`${BASE}/vectorclusters/products/utilization`, query)
    expect([other.status, other.body.supported]).to.deep.equal([400, ['Cpu', 'Memory', 'Storage']])
  })

  it('are summed by collection for the platform', async () => {
    const query = queryOf({ resourceType: 'vectorclusters' })
    const { status, body } = await get('/admin/monitoring/metrics', query, operator)
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({ resourceType: 'vectorclusters', resourceName: null, unit: 'bytes' })
    expect(body.series[0].labels).to.deep.equal({ resourceType: 'vectorclusters' })
    expect(body.series[0].points[0].value).to.equal(109)
    const all = await get('/admin/monitoring/metrics', queryOf(), operator)
    const types = all.body.series.map(({ labels }: { labels: { resourceType: string } }) => labels.resourceType)
    expect(types).to.include.members(['vectorclusters', 'jobs']).and.not.include('secretvaults')
  })

  it('return 400 for unknown platform metrics and types, and 403 to tenants', async () => {
    const unknown = await get('/admin/monitoring/metrics', queryOf({ metric: 'Nothing' }), operator)
    expect([unknown.status, unknown.body.supported.includes('PodCount')]).to.deep.equal([400, true])
    const ofPlatform = queryOf({ metric: 'PodCount', resourceType: 'apps' })
    const wrong = await get('/admin/monitoring/metrics', ofPlatform, operator)
    expect([wrong.status, wrong.body.supported]).to.deep.equal([400, Object.keys(METRICS.apps)])
    const type = await get('/admin/monitoring/metrics', queryOf({ resourceType: 'things' }), operator)
    expect([type.status, type.body.parameter]).to.deep.equal([400, 'resourceType'])
    expect((await get('/admin/monitoring/metrics', queryOf(), OWNER)).status).to.equal(403)
    for (const metric of Object.keys(PLATFORM_METRICS)) {
      const { status, body } = await get('/admin/monitoring/metrics', queryOf({ metric }), operator)
      expect([status, body.series?.length], metric).to.deep.equal([200, 1])
    }
  })

  it('count expiring secrets of a vault without Prometheus', async () => {
    const to = new Date(Date.now() + 60_000).toISOString()
    const query = queryOf({ metric: 'SecretsExpiringSoon', aggregation: 'Last', to })
    const { status, body } = await get(`${BASE}/secretvaults/safe`, query)
    expect([status, body.unit], JSON.stringify(body)).to.deep.equal([200, 'count'])
    expect(body.series[0].points.map(({ value }: { value: number }) => value)).to.deep.equal([1])
  })

  it('exclude deleted secrets of a vault, and have a point only if the time ends now', async () => {
    const deletedEntry = {
      vaultName: 'safe',
      secretName: 'gone',
      expiresOn: new Date(Date.now() + 86_400_000).toISOString(),
    }
    shop.put(VaultEntry, 'safe-3', { ...deletedEntry, state: 'Deleted' }, NAMESPACE)
    const valuesUntil = async (seconds: number) => {
      const to = new Date(Date.now() + seconds * 1000).toISOString()
      const query = queryOf({ metric: 'SecretsExpiringSoon', aggregation: 'Last', to })
      const { body } = await get(`${BASE}/secretvaults/safe`, query)
      return body.series[0].points.map(({ value }: { value: number }) => value)
    }
    expect(await valuesUntil(60)).to.deep.equal([1])
    expect(await valuesUntil(-5)).to.deep.equal([1])
    expect(await valuesUntil(-3600)).to.deep.equal([])
  })

  it('include platform metrics of vaults and functions without Prometheus', async () => {
    const bare = await startShop({}, { monitoring: { metrics: undefined, objects: {} as never } })
    bare.grant(operator, 'Platform Owner', '/')
    const statusOf = async (metric: string, aggregation: string) => {
      const path = `/admin/monitoring/metrics?${queryOf({ metric, aggregation })}`
      return (await bare.ask('get', path, operator)).status
    }
    expect(await statusOf('SecretsExpiringSoon', 'Last')).to.equal(200)
    expect(await statusOf('Invocations', 'Sum')).to.equal(200)
    // Requests of object storage are counted by Prometheus.
    expect(await statusOf('Requests', 'Average')).to.equal(503)
    await bare.stop()
  })

  it('return METRIC_NOT_APPLICABLE for requests of a database', async () => {
    const query = new URLSearchParams({ from: at(0), to: at(3600) })
    const { status, body } = await get(`${BASE}/vectorclusters/products/requests`, query)
    expect([status, body.code]).to.deep.equal([422, 'METRIC_NOT_APPLICABLE'])
  })
})
