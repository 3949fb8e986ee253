import type { Aggregation } from '../../contracts/metrics.ts'
import { CAPACITIES, CATALOGUE, type Entry, PLATFORM_CATALOGUE } from './catalogue.ts'
import type { MetricSeriesQuery } from './port.ts'
import { Selection } from './selectors.ts'

/** Minimum seconds between samples within a step, and for the window of a rate. */
const SAMPLE_SECONDS_MIN = 15
const RATE_SECONDS_MIN = 180
/** Samples per step: more would not change what 120 points show. */
const SAMPLES_PER_STEP = 20

const QUANTILES: Partial<Record<Aggregation, number>> = { P50: 0.5, P95: 0.95, P99: 0.99 }

/** Returns the catalogue entry of a metric. @throws RangeError for a metric that is not from Prometheus */
export function entryOf({ collection, metric }: Pick<MetricSeriesQuery, 'collection' | 'metric'>): Entry {
  const ofCollection: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
    ...CATALOGUE,
    platform: PLATFORM_CATALOGUE,
  }
  for (const entries of [ofCollection[collection] ?? {}, CAPACITIES as Readonly<Record<string, Entry>>]) {
    const entry = Object.hasOwn(entries, metric) ? entries[metric] : undefined
    if (entry !== undefined) return entry
  }
  throw new RangeError(`"${metric}" of ${collection} has no query.`)
}

/** Returns the PromQL whose value at the end of a step is the metric over that step. */
export function queryOf(question: MetricSeriesQuery, stepSeconds: number): string {
  const entry = entryOf(question)
  const selection = new Selection(question)
  if ('histogram' in entry) return latencyQuery(entry, question.aggregation, selection, stepSeconds)
  const inner = entry.level(selection)
  const resolution = Math.max(SAMPLE_SECONDS_MIN, Math.ceil(stepSeconds / SAMPLES_PER_STEP))
  // One second less, so that a sample at the boundary is not counted twice: Prometheus 2 includes both ends of a range.
  const over = (seconds: number) => `(${inner})[${seconds - 1}s:${resolution}s]`
  switch (question.aggregation) {
    case 'Average':
      return `avg_over_time(${over(stepSeconds)})`
    case 'Minimum':
      return `min_over_time(${over(stepSeconds)})`
    case 'Maximum':
      return `max_over_time(${over(stepSeconds)})`
    case 'Last':
      return inner
    case 'Sum':
      // Restarts are a counter; the previous sample gives its starting value.
      return question.metric === 'Restarts'
        ? `max_over_time(${over(stepSeconds + resolution)}) - min_over_time(${over(stepSeconds + resolution)})`
        : `${stepSeconds} * avg_over_time(${over(stepSeconds)})`
    case 'Count':
      return `count_over_time(${over(stepSeconds)})`
    default:
      return `quantile_over_time(${QUANTILES[question.aggregation]}, ${over(stepSeconds)})`
  }
}

function latencyQuery(
  { histogram, labels }: Extract<Entry, { histogram: unknown }>,
  aggregation: Aggregation,
  of: Selection,
  stepSeconds: number,
): string {
  const rate = (part: string) => `rate(${histogram(of, part)}[${Math.max(RATE_SECONDS_MIN, stepSeconds)}s])`
  const quantile = QUANTILES[aggregation]
  if (quantile === undefined) return `1000 * ${of.sum(labels, rate('sum'))} / (${of.sum(labels, rate('count'))} > 0)`
  const groups = [of.grouping(labels), 'le'].filter((part) => part !== '').join(', ')
  return `1000 * histogram_quantile(${quantile}, sum by (${groups}) (${rate('bucket')}))`
}
