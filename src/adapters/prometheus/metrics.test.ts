import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { metricSourceContract, PLAYED_METRICS } from '../../../test/suites/metricSourceContract.ts'
import { askedOf, says, whole } from '../../../test/worlds/playedPrometheus.ts'
import { METRICS, PLATFORM_METRICS } from '../../contracts/metrics.ts'
import { silentLog as log } from '../../core/log.ts'
import { CAPACITIES, CATALOGUE, PLATFORM_CATALOGUE } from './catalogue.ts'
import { FakeMetricSource } from './fakeMetrics.ts'
import { createMetricSource } from './metricClient.ts'
import {
  CAPACITY_METRICS,
  CLAIM_METRICS,
  type MetricSeriesQuery,
  MetricSourceError,
  type MetricTarget,
} from './port.ts'
import { queryOf } from './queries.ts'

describe('FakeMetricSource', () => {
  const source = new FakeMetricSource()
  const { from, to, every, memory } = PLAYED_METRICS
  for (const { value, ...labels } of memory)
    for (let at = from; at <= to; at += every)
      source.measured({ metric: 'MemoryUsage', labels, at, value: value(at - from) })
  metricSourceContract(() => source)
})

const target: MetricTarget = {
  namespace: 'shop-0123456789',
  pods: [{ workload: 'vc-main', tail: 'Ordinal' }],
  claims: [{ claim: 'storage-vc-main', tail: 'Ordinal' }],
  routes: [{ route: 'papp-a', service: 'papp-a--app' }],
  buckets: ['media.one'],
  jobs: [{ job: 'pjob-a', tail: 'None' }],
}
const question = (collection: MetricSeriesQuery['collection'], metric: string, more: Partial<MetricSeriesQuery> = {}) =>
  ({ collection, metric, aggregation: 'Average', target, ...more }) as MetricSeriesQuery

describe('queryOf', () => {
  it('covers exactly the metrics that Prometheus measures', () => {
    for (const [collection, entries] of Object.entries(CATALOGUE)) {
      const metrics = Object.entries(METRICS[collection as keyof typeof CATALOGUE])
      const measured = metrics.filter(([, metric]) => !('by' in metric)).map(([name]) => name)
      expect(Object.keys(entries).sort(), collection).to.deep.equal(measured.sort())
    }
    expect(Object.keys(PLATFORM_CATALOGUE).sort()).to.deep.equal(Object.keys(PLATFORM_METRICS).sort())
    expect(Object.keys(CAPACITIES).sort()).to.deep.equal([...CAPACITY_METRICS, ...CLAIM_METRICS].sort())
  })

  it("restricts every selector to the target's namespace and names", () => {
    for (const [collection, entries] of Object.entries(CATALOGUE)) {
      for (const metric of Object.keys(entries)) {
        const query = queryOf(question(collection as keyof typeof CATALOGUE, metric), 60)
        const selectors = query.match(/[a-zA-Z_]+\{[^}]*\}/g) ?? []
        expect(selectors, metric).to.have.length.above(0)
        for (const selector of selectors) {
          const isOurs =
            selector.includes('namespace="shop-0123456789"') && /(pod|job_name|persistentvolumeclaim)=~/.test(selector)
          const isRouted = selector.includes('service=~"httproute-shop-0123456789-papp-a-gw')
          const isBucket = selector.includes('bucket=~"media\\\\.one"')
          expect(isOurs || isRouted || isBucket, `${metric}: ${selector}`).to.equal(true)
        }
      }
    }
  })

  const cases: [sentence: string, MetricSeriesQuery, stepSeconds: number, query: string][] = [
    [
      'the average of a gauge',
      question('vectorclusters', 'Collections'),
      60,
      'avg_over_time((max by (pod) (collections_total{namespace="shop-0123456789",pod=~"vc-main-[0-9]+"}))[59s:15s])',
    ],
    [
      'the sum of a rate over all series',
      question('apps', 'Requests', { aggregation: 'Sum', isSummed: true }),
      600,
      '600 * avg_over_time((sum (rate(traefik_service_requests_total{service=~"httproute-shop-0123456789-papp-a-gw-.+-ep-.+-[0-9]+-[0-9a-f]{8,}-svc-shop-0123456789-papp-a--app-[0-9]+@kubernetesgateway"}[3m])))[599s:30s])',
    ],
    [
      'a quantile of durations',
      question('objectstorageaccounts', 'Latency', { aggregation: 'P95' }),
      60,
      '1000 * histogram_quantile(0.95, sum by (bucket, le) (rate(SeaweedFS_s3_request_seconds_bucket{bucket=~"media\\\\.one"}[180s])))',
    ],
    [
      'restarts within a step',
      question('vectorclusters', 'Restarts', { aggregation: 'Sum', container: 'qdrant' }),
      60,
      ['max', 'min']
        .map(
          (word) =>
            `${word}_over_time((sum by (pod, container) (kube_pod_container_status_restarts_total{namespace="shop-0123456789",pod=~"vc-main-[0-9]+",container!="",container="qdrant"}))[74s:15s])`,
        )
        .join(' - '),
    ],
  ]
  for (const [sentence, seriesQuery, stepSeconds, query] of cases)
    it(`builds the query for ${sentence}`, () => expect(queryOf(seriesQuery, stepSeconds)).to.equal(query))

  it('rejects a metric of another collection', () => {
    expect(() => queryOf(question('jobs', 'Vectors'), 60)).to.throw(RangeError)
    expect(() => queryOf(question('jobs', 'constructor'), 60)).to.throw(RangeError)
  })
})

describe('createMetricSource, reading an answer', () => {
  const ask = (listener: RequestListener, timeout?: number) =>
    askedOf(listener, async (url) => {
      try {
        const source = createMetricSource({ url, log, ...(timeout !== undefined && { timeout }) })
        return await source.of(question('vectorclusters', 'MemoryUsage'), { from: 0, to: 30, stepSeconds: 30 })
      } catch (error) {
        expect(error).to.be.instanceOf(MetricSourceError)
        expect((error as Error).message).to.not.contain('secret')
        return undefined
      }
    })

  it('returns series without values that are not numbers', async () => {
    const found = await ask(
      says(
        whole({
          metric: { pod: 'a' },
          values: [
            [30, '5'],
            [60, 'NaN'],
          ],
        }),
      ),
    )
    expect(found).to.deep.equal([{ labels: { pod: 'a' }, points: [{ at: 0, value: 5 }] }])
  })

  const many = Array.from({ length: 5_001 }, (_, index) => ({ metric: { pod: String(index) }, values: [] }))
  const cases: [sentence: string, RequestListener, timeout?: number][] = [
    ['a body that is not JSON', says('<html>secret')],
    ['status 503', says('secret', 503)],
    ['an error with status 200', says({ status: 'error', error: 'secret' })],
    ['samples that are not numbers', says(whole({ metric: {}, values: [['now', 1]] }))],
    ['more than 5,000 series', says(whole(...many))],
    ['a body of 17 MiB', says(' '.repeat(17 * 1024 * 1024))],
    ['no answer within the timeout', () => {}, 20],
    ['a closed connection', (request) => void request.socket.destroy()],
  ]
  for (const [sentence, listener, timeout] of cases)
    it(`reports ${sentence}`, async () => expect(await ask(listener, timeout)).to.equal(undefined))
})
