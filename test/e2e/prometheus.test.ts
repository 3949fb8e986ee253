import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { dump, load } from 'js-yaml'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { waitUntil } from '../../scripts/controlplane/request.ts'
import { prometheusPrograms } from '../../scripts/node/prometheus.ts'
import { CAPACITIES, CATALOGUE, PLATFORM_CATALOGUE } from '../../src/adapters/prometheus/catalogue.ts'
import { createRequestFigures } from '../../src/adapters/prometheus/client.ts'
import { createMetricSource } from '../../src/adapters/prometheus/metricClient.ts'
import type {
  MetricSeriesQuery,
  MetricSource,
  MetricTarget,
  RequestFigures,
  RoutedService,
} from '../../src/adapters/prometheus/port.ts'
import { silentLog as log } from '../../src/core/log.ts'
import { ALERT_CASES, WORKLOAD_ALERT_CASES } from '../cases/alerts.ts'
import { debianIsMissing } from '../cluster/debian.ts'
import { PATIENCE } from '../make/until.ts'
import { metricSourceContract, PLAYED_METRICS } from '../suites/metricSourceContract.ts'
import { PLAYED, requestFiguresContract } from '../suites/requestFiguresContract.ts'

const SCRAPE_SECONDS = 15
const MONITORING = join(import.meta.dirname, '../../deploy/monitoring')
const ALERTS = [
  ['alerts.yaml', ALERT_CASES],
  ['workloads.yaml', WORKLOAD_ALERT_CASES],
] as const

type Rules = { groups: { name: string; rules: { alert: string; expr: string }[] }[] }
/** The name as Traefik writes it, on a node. */
const serviceOf = ({ namespace, route, service }: RoutedService) =>
  `httproute-${namespace}-${route}-gw-freehold-gateway-public-ep-websecure-0-c2f2c2bb7572614a6653-svc-${namespace}-${service}-0@kubernetesgateway`

type Sample = readonly [name: string, labels: Readonly<Record<string, string>>, value: number]

/** What Traefik would report of itself at that time after such requests. */
function saidAt(time: number): Sample[] {
  const { bounds, measured, restartedAt, requests } = PLAYED
  const began = time < restartedAt ? measured.from - 3_600 : restartedAt
  const samples: Sample[] = [
    ['process_start_time_seconds', {}, began],
    ['traefik_config_reloads_total', {}, 1],
  ]
  const routes = new Map(requests.map(([routed]) => [serviceOf(routed), routed]))
  for (const service of routes.keys()) {
    const all = requests
      .filter(([routed]) => serviceOf(routed) === service)
      .flatMap(([, those]) => those)
      .filter(({ at }) => at <= time && at >= began)
    for (const code of new Set(all.map((one) => one.code))) {
      const those = all.filter((one) => one.code === code)
      const sum = (of: (one: (typeof those)[number]) => number) => those.reduce((total, one) => total + of(one), 0)
      const labels = { service, code: String(code), method: 'GET', protocol: 'http' }
      samples.push(
        ['traefik_service_requests_total', labels, those.length],
        ['traefik_service_requests_bytes_total', labels, sum(({ bytesIn = 0 }) => bytesIn)],
        ['traefik_service_responses_bytes_total', labels, sum(({ bytesOut = 0 }) => bytesOut)],
        ['traefik_service_request_duration_seconds_sum', labels, sum(({ seconds }) => seconds)],
        ...[...bounds, Number.POSITIVE_INFINITY].map((bound): Sample => {
          const le = Number.isFinite(bound) ? String(bound) : '+Inf'
          const within = those.filter(({ seconds }) => seconds <= bound).length
          return ['traefik_service_request_duration_seconds_bucket', { ...labels, le }, within]
        }),
      )
    }
  }
  return samples
}

/** Everything that is played, scraped every 15 seconds, in the form of OpenMetrics. */
function scraped(): string {
  const { from, to } = PLAYED.measured
  // Together by series, each in the order of time.
  const bySeries = new Map<string, string[]>()
  for (let time = from; time <= to; time += SCRAPE_SECONDS) {
    for (const [name, labels, value] of saidAt(time)) {
      const named = Object.entries({ instance: 'gateway:8080', job: 'gateway', ...labels })
      const series = `${name}{${named.map(([label, text]) => `${label}="${text}"`).join(',')}}`
      bySeries.set(series, [...(bySeries.get(series) ?? []), `${series} ${value} ${time}`])
    }
  }
  return `${[...bySeries.values(), memorySeries()].flat().join('\n')}\n# EOF\n`
}

/** What kubelets say of the memory of containers. */
function memorySeries(): string[] {
  const { from, to, every, memory } = PLAYED_METRICS
  return memory.flatMap(({ namespace, pod, container, value }) => {
    const series = `container_memory_working_set_bytes{namespace="${namespace}",pod="${pod}",container="${container}"}`
    const times = Array.from({ length: (to - from) / every + 1 }, (_, index) => from + index * every)
    return times.map((time) => `${series} ${value(time - from)} ${time}`)
  })
}

const missing = debianIsMissing('prometheus')
describe('Prometheus', () => {
  if (missing !== undefined) {
    it(`skips:  ${missing}`, function () {
      this.skip()
    })
    return
  }
  let folder: string
  let server: ChildProcess | undefined
  let figures: RequestFigures
  let metrics: MetricSource

  before(async () => {
    const programs = await prometheusPrograms({ progress: silentProgress, signal: undefined })
    folder = await mkdtemp(join(tmpdir(), 'freehold-prometheus-'))
    const [played, storage, configuration] = ['played', 'storage', 'prometheus.yml'].map((name) => join(folder, name))
    await writeFile(played ?? '', scraped())
    await writeFile(configuration ?? '', 'scrape_configs: []\n')
    const words = ['tsdb', 'create-blocks-from', 'openmetrics', '--quiet', played ?? '', storage ?? '']
    await promisify(execFile)(join(programs, 'promtool'), words)
    const { prometheus: port = 0 } = await choosePorts(folder, ['prometheus'])
    const flags = {
      'config.file': configuration,
      'storage.tsdb.path': storage,
      'storage.tsdb.retention.time': '100y',
      'web.listen-address': `127.0.0.1:${port}`,
    }
    const options = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
    server = spawn(join(programs, 'prometheus'), options, { stdio: 'ignore' })
    const url = `http://127.0.0.1:${port}`
    const ended = new Promise<never>((_, failed) => server?.once('exit', (code) => failed(new Error(`ended: ${code}`))))
    ended.catch(() => undefined)
    await waitUntil('Prometheus', PATIENCE, async () => (await fetch(`${url}/-/ready`)).ok, ended)
    figures = createRequestFigures({ url, log })
    metrics = createMetricSource({ url, log })
  })
  after(async () => {
    server?.kill()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  describe('createRequestFigures', () => requestFiguresContract(() => figures))
  describe('createMetricSource', () => metricSourceContract(() => metrics))

  for (const [file, cases] of ALERTS)
    describe(`alerts of deploy/monitoring/${file}`, () => {
      let names: string[]
      before(async () => {
        const { spec } = load(await readFile(join(MONITORING, file), 'utf8')) as { spec: Rules }
        names = [...new Set(spec.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)))]
        await writeFile(join(folder, 'rules.yaml'), dump(spec))
      })

      for (const { title, series, minutes, firing } of cases)
        it(`say ${title}`, async () => {
          const test = {
            interval: '1m',
            input_series: series.map(([name, values]) => ({ series: name, values })),
            promql_expr_test: names.map((name) => ({
              expr: `count by (alertname) (ALERTS{alertname="${name}", alertstate="firing"})`,
              eval_time: `${minutes}m`,
              exp_samples: firing.includes(name) ? [{ labels: `{alertname="${name}"}`, value: 1 }] : [],
            })),
          }
          expect(names)
            .to.include.members([...firing])
            .and.to.have.length.greaterThan(5)
          const path = join(folder, 'alerts.yaml')
          await writeFile(path, dump({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests: [test] }))
          const programs = await prometheusPrograms({ progress: silentProgress, signal: undefined })
          const { stdout } = await promisify(execFile)(join(programs, 'promtool'), ['test', 'rules', path])
          expect(stdout).to.contain('SUCCESS')
        })
    })

  it('accepts every query of the catalogue', async () => {
    const target: MetricTarget = {
      namespace: 'shop-0123456789',
      pods: [{ workload: 'vc-main', tail: 'Ordinal' }],
      claims: [{ claim: 'storage-vc-main', tail: 'Ordinal' }],
      routes: [{ route: 'papp-a', service: 'papp-a--app' }],
      buckets: ['media.one'],
      jobs: [{ job: 'pjob-a', tail: 'None' }],
    }
    const entries = { ...CATALOGUE, platform: { ...PLATFORM_CATALOGUE, ...CAPACITIES } }
    for (const [collection, ofCollection] of Object.entries(entries)) {
      for (const [metric, entry] of Object.entries(ofCollection)) {
        const words = 'histogram' in entry ? ['Average', 'P95'] : ['Average', 'Sum', 'Last', 'P95']
        for (const aggregation of words)
          for (const isSummed of [false, true]) {
            const question = { collection, metric, aggregation, target, isSummed } as MetricSeriesQuery
            await metrics.of(question, { from: PLAYED_METRICS.from, to: PLAYED_METRICS.from + 90, stepSeconds: 60 })
          }
      }
    }
  })
})
