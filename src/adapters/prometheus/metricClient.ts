import { z } from 'zod'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { PrometheusOptions } from './client.ts'
import { queryPrometheus, seriesAnswerSchema } from './httpApi.ts'
import {
  type MeasuredSeries,
  type MetricSeriesQuery,
  type MetricSource,
  MetricSourceError,
  type Steps,
} from './port.ts'
import { queryOf } from './queries.ts'

const Answer = seriesAnswerSchema(z.record(z.string(), z.string()))

/** Milliseconds: a month of many pods takes a while. */
const QUERY_TIMEOUT_MS = 15_000
/** Series per answer: a resource has a few per replica, and a query for all volumes one per claim. */
const SERIES_MAX = 5_000

/** Queries Prometheus for metrics of the catalogue, and nothing else. */
export function createMetricSource({
  url,
  log,
  timeout = QUERY_TIMEOUT_MS,
}: PrometheusOptions & { log: Pick<Log, 'debug'> }): MetricSource {
  return {
    async of(question, steps) {
      const signal = AbortSignal.timeout(timeout)
      try {
        const parts = await Promise.all(
          partsOf(question, steps).map(({ path, parameters }) =>
            queryPrometheus(url, path, parameters, { answer: Answer, signal }),
          ),
        )
        return mergeSeries(
          parts.flatMap(({ data }) => data.result),
          steps,
        )
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'Prometheus did not report the measurements.')
        throw new MetricSourceError('Prometheus did not report the measurements.', { cause: error })
      }
    },
  }
}

type Part = { path: 'query' | 'query_range'; parameters: Record<string, string> }

/** The steps of a range query are equally long; a shorter last step gets its own query. */
function partsOf(question: MetricSeriesQuery, { from, to, stepSeconds }: Steps): Part[] {
  const whole = Math.floor((to - from) / stepSeconds)
  const rest = to - from - whole * stepSeconds
  const parts: Part[] = []
  if (whole > 0) {
    const range = {
      start: String(from + stepSeconds),
      end: String(from + whole * stepSeconds),
      step: String(stepSeconds),
    }
    parts.push({ path: 'query_range', parameters: { query: queryOf(question, stepSeconds), ...range } })
  }
  if (rest > 0) parts.push({ path: 'query', parameters: { query: queryOf(question, rest), time: String(to) } })
  return parts
}

/** Merges the results. Prometheus reports a step at its end, a point belongs to its beginning. */
function mergeSeries(
  found: z.output<typeof Answer>['data']['result'],
  { from, to, stepSeconds }: Steps,
): MeasuredSeries[] {
  const series = new Map<string, { labels: Record<string, string>; points: { at: number; value: number }[] }>()
  for (const { metric, values, value } of found) {
    const key = JSON.stringify(Object.entries(metric).sort())
    const one = series.get(key) ?? { labels: metric, points: [] }
    if (!series.has(key) && series.size >= SERIES_MAX) throw new Error(`There are more than ${SERIES_MAX} series.`)
    series.set(key, one)
    for (const [time, text] of [...values, ...value]) {
      const number = Number(text)
      const at = time === to ? from + (Math.ceil((to - from) / stepSeconds) - 1) * stepSeconds : time - stepSeconds
      if (Number.isFinite(number)) one.points.push({ at, value: number })
    }
  }
  return [...series.values()]
}
