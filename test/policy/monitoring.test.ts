import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { metricNames } from '../../scripts/generate/metrics.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

type Rule = { alert: string; expr: string; annotations: { runbook_url: string } }
const alerts = () =>
  (load(read('deploy/monitoring/alerts.yaml')) as { spec: { groups: { rules: Rule[] }[] } }).spec.groups.flatMap(
    ({ rules }) => rules,
  )
const dashboard = () => {
  const { data } = load(read('deploy/monitoring/dashboard.yaml')) as { data: Record<string, string> }
  return JSON.parse(data['freehold.json'] ?? '') as { panels: { targets: { expr: string }[] }[] }
}

/** Names of metrics in an expression, without the suffixes of histograms. */
function namesIn(expression: string): string[] {
  const words = expression.match(/[a-z]+(?:_[a-z]+)+(?=[{[)\s]|$)/g) ?? []
  return words.map((word) => word.replace(/_(bucket|count|sum)$/, '')).filter((word) => word !== 'histogram_quantile')
}

type Severe = Rule & { labels: { severity: string }; annotations: Rule['annotations'] & { summary: string } }
const ofWorkloads = () =>
  (load(read('deploy/monitoring/workloads.yaml')) as { spec: { groups: { rules: Severe[] }[] } }).spec.groups.flatMap(
    ({ rules }) => rules,
  )
/** Metrics of kube-state-metrics, kubelets, CloudNativePG and its plugin, cert-manager. */
const ELSEWHERE = /^(kube|kubelet|cnpg|barman_cloud|certmanager)_/

describe('alerts about workloads', () => {
  it('have the names and severities of the interface', () => {
    const told = ofWorkloads().map(({ alert, labels }) => `${alert} ${labels.severity}`)
    expect(told.sort()).to.deep.equal([
      ...['AgentSilent error', 'BackupTooOld error', 'BackupTooOld error', 'CertificateExpiring warning'],
      'PodCrashLooping error',
      ...['QuotaNearLimit warning', 'VolumeFilling critical', 'VolumeFilling warning', 'WalGrowing critical'],
    ])
  })

  it('use only metrics that exist', () => {
    const words = ofWorkloads().flatMap(({ expr }) => expr.match(/\b[a-z]+(?:_[a-z0-9]+)+(?=[{)\s])/g) ?? [])
    const own = words.filter((word) => !ELSEWHERE.test(word) && !/^(max_over_time|exported_namespace)$/.test(word))
    expect(own).to.deep.equal(['freehold_clusters'])
    expect(metricNames()).to.include.members(own)
  })

  it('have a section of docs/areas/monitoring.md as runbook_url', () => {
    const page = read('docs/areas/monitoring.md')
    for (const { alert, annotations } of ofWorkloads()) {
      expect(page).to.contain(`### ${alert}\n`)
      expect(annotations.runbook_url).to.match(new RegExp(`docs/areas/monitoring.md#${alert.toLowerCase()}$`))
    }
  })
})

describe('alerts and dashboard of the platform', () => {
  const known = [
    ...metricNames(),
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
  ]
  const isLabel = (name: string) => /^(http_response_status_code|http_request_method|http_route)$/.test(name)

  it('have more than five alerts and panels', () => {
    expect(alerts()).to.have.length.greaterThan(5)
    expect(dashboard().panels).to.have.length.greaterThan(5)
  })

  it('use only metrics that exist', () => {
    const expressions = [
      ...alerts().map(({ expr }) => expr),
      ...dashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ]
    const asked = expressions.flatMap(namesIn).filter((name) => !isLabel(name))
    expect(asked.filter((name) => !known.includes(name))).to.deep.equal([])
    expect(new Set(asked).size).to.be.greaterThan(5)
  })

  it('select the namespace freehold-system in every expression', () => {
    const expressions = [
      ...alerts().map(({ expr }) => expr),
      ...dashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ]
    const without = expressions.flatMap((expression) => {
      const expr = expression.replaceAll(/\bby \([^)]*\)/g, '')
      const selectors = expr.match(/\b(?!histogram_quantile)(?:up|[a-z]+(?:_[a-z]+)+)(?:\{[^}]*\}|(?=[[)]))/g) ?? []
      expect(selectors, expr).not.to.deep.equal([])
      return selectors.filter((selector) => !selector.includes('{namespace="freehold-system"'))
    })
    expect(without).to.deep.equal([])
  })

  it('cover each deployment with a PodMonitor and an alert when it is down', () => {
    const parts = ['facade', 'controllers', 'activator']
    const scraped = load(read('deploy/monitoring/podmonitor.yaml')) as {
      spec: { selector: { matchExpressions: { values: string[] }[] } }
    }
    expect(scraped.spec.selector.matchExpressions[0]?.values).to.deep.equal(parts)
    const down = alerts().flatMap(({ expr }) => /absent\(up\{.*component="(\w+)"/.exec(expr)?.[1] ?? [])
    expect(down).to.deep.equal(parts)
  })

  it('count calls to the API server that got no answer as failed', () => {
    const { expr } = alerts().find(({ alert }) => alert === 'FreeholdApiServerFails') ?? { expr: '' }
    expect(expr).to.contain('code=~"5..|<error>"')
  })

  it('see one object whose passes fail, which is retried every five minutes', () => {
    const { expr } = alerts().find(({ alert }) => alert === 'FreeholdPassesFail') ?? { expr: '' }
    const [, minutes = '0', failures = '0'] = /\[(\d+)m\]\)\) > (\d+)$/.exec(expr) ?? []
    expect(Number(failures)).to.be.lessThan(Number(minutes) / 6)
  })

  it('name counters, and only these, with _total', () => {
    const rows = [...read('docs/reference/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \|/gm)]
    expect(rows).to.have.length.greaterThan(10)
    const wrong = rows.filter(([, name = '', type]) => name.endsWith('_total') !== (type === 'counter'))
    expect(wrong.map(([row]) => row)).to.deep.equal([])
  })

  it('have a section of docs/monitoring.md as runbook_url', () => {
    const page = read('docs/monitoring.md')
    for (const { alert, annotations } of alerts()) {
      expect(page).to.contain(`### ${alert}\n`)
      expect(annotations.runbook_url).to.match(new RegExp(`docs/monitoring.md#${alert.toLowerCase()}$`))
    }
  })
})
