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

/** Names of metrics in an expression; a histogram has three. */
function namesIn(expression: string): string[] {
  const words = expression.match(/[a-z]+(?:_[a-z]+)+(?=[{[)\s]|$)/g) ?? []
  return words.map((word) => word.replace(/_(bucket|count|sum)$/, '')).filter((word) => word !== 'histogram_quantile')
}

describe('monitoring', () => {
  const known = [...metricNames(), 'process_resident_memory_bytes', 'process_cpu_seconds_total']
  const isLabel = (name: string) => /^(http_response_status_code|http_request_method|http_route)$/.test(name)

  it('has alerts and panels', () => {
    expect(alerts()).to.have.length.greaterThan(5)
    expect(dashboard().panels).to.have.length.greaterThan(5)
  })

  it('asks only for metrics that there are', () => {
    const expressions = [
      ...alerts().map(({ expr }) => expr),
      ...dashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ]
    const asked = expressions.flatMap(namesIn).filter((name) => !isLabel(name))
    expect(asked.filter((name) => !known.includes(name))).to.deep.equal([])
    expect(new Set(asked).size).to.be.greaterThan(5)
  })

  it('has a part on the page for each alert, which its address names', () => {
    const page = read('docs/monitoring.md')
    for (const { alert, annotations } of alerts()) {
      expect(page).to.contain(`### ${alert}\n`)
      expect(annotations.runbook_url).to.match(new RegExp(`docs/monitoring.md#${alert.toLowerCase()}$`))
    }
  })
})
