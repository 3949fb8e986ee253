import type { Aggregation } from '../../contracts/metrics.ts'
import {
  type MeasuredSeries,
  type MetricSeriesQuery,
  type MetricSource,
  MetricSourceError,
  type Steps,
} from './port.ts'
import { entryOf } from './queries.ts'
import { matchesTarget } from './selectors.ts'

export type FakeSample = {
  metric: string
  labels: Readonly<Record<string, string>>
  /** Seconds since the epoch. */
  at: number
  value: number
}

const AGGREGATED: Readonly<Record<Aggregation, (values: readonly number[]) => number>> = {
  Average: (values) => sumOf(values) / values.length,
  Minimum: (values) => Math.min(...values),
  Maximum: (values) => Math.max(...values),
  Sum: sumOf,
  Count: (values) => values.length,
  Last: (values) => values.at(-1) ?? Number.NaN,
  P50: (values) => quantile(values, 0.5),
  P95: (values) => quantile(values, 0.95),
  P99: (values) => quantile(values, 0.99),
}

/** Samples in memory, each with the value of the metric itself. */
export class FakeMetricSource implements MetricSource {
  readonly #samples: FakeSample[] = []
  readonly queries: MetricSeriesQuery[] = []
  isGone = false

  measured(...samples: readonly FakeSample[]): void {
    this.#samples.push(...samples)
  }

  async of(question: MetricSeriesQuery, { from, to, stepSeconds }: Steps): Promise<readonly MeasuredSeries[]> {
    this.queries.push(question)
    if (this.isGone) throw new MetricSourceError('Prometheus did not report the measurements.')
    const { labels: wanted } = entryOf(question)
    const groups = new Map<string, { labels: Record<string, string>; values: Map<number, Map<number, number>> }>()
    for (const { metric, labels, at, value } of this.#samples) {
      if (metric !== question.metric || at <= from || at > to || !matchesTarget(question, labels)) continue
      const names = question.isSummed === true || wanted === '' ? [] : wanted.split(', ')
      const shown = Object.fromEntries(
        names.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])),
      )
      const key = JSON.stringify(shown)
      const group = groups.get(key) ?? { labels: shown, values: new Map<number, Map<number, number>>() }
      groups.set(key, group)
      const begin = from + (Math.ceil((at - from) / stepSeconds) - 1) * stepSeconds
      const values = group.values.get(begin) ?? new Map<number, number>()
      group.values.set(begin, values)
      values.set(at, (values.get(at) ?? 0) + value)
    }
    return [...groups.values()].map(({ labels, values }) => ({
      labels,
      points: [...values]
        .map(([at, found]) => ({ at, value: AGGREGATED[question.aggregation]([...found.values()]) }))
        .sort((one, other) => one.at - other.at),
    }))
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.ceil(part * sorted.length) - 1] ?? Number.NaN
}
