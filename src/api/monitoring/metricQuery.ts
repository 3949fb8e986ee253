import { z } from 'zod'
import {
  type MetricSeriesQuery,
  type MetricSource,
  MetricSourceError,
  type Steps,
} from '../../adapters/prometheus/port.ts'
import {
  AGGREGATIONS,
  type Aggregation,
  defaultStepSeconds,
  MAX_SPAN_DAYS,
  type Metric,
} from '../../contracts/metrics.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { createdAtOf } from '../../core/object.ts'
import type { Services } from '../http/context.ts'
import { DateTime } from '../resources/dto.ts'
import { badParameter } from '../resources/queryFaults.ts'
import type { KubernetesObjects } from './kubernetesObjects.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly monitoring: {
      /** Undefined if no Prometheus is configured. */
      readonly metrics: MetricSource | undefined
      readonly objects: KubernetesObjects
    }
  }
}

export const TimeRangeQuery = z.strictObject({
  from: DateTime.describe('Start of the requested time'),
  to: DateTime.describe(`Its end; at most ${MAX_SPAN_DAYS} days later`),
})
const Name = z.string().min(1).max(64)
export const MetricQuery = TimeRangeQuery.extend({
  metric: Name.describe('A metric of the collection; docs/areas/monitoring.md lists them'),
  aggregation: Name.meta({ override: { enum: [...AGGREGATIONS] } }).describe(
    'How the values of a step are combined, if the metric has it; upper and lower case count the same',
  ),
})

/** In seconds since the epoch, with a step that depends on the length. */
export type MonitoringTimeRange = Steps

const DAY_SECONDS = 86_400

/** @throws PlatformError BAD_REQUEST */
export function parseTimeRange({ from, to }: z.output<typeof TimeRangeQuery>): MonitoringTimeRange {
  const [begin, end] = [Math.floor(Date.parse(from) / 1000), Math.floor(Date.parse(to) / 1000)]
  if (begin >= end) throw badParameter('from', 'from must be before to.')
  if (end - begin > MAX_SPAN_DAYS * DAY_SECONDS)
    throw badParameter('from', `from and to must be at most ${MAX_SPAN_DAYS} days apart.`)
  return { from: begin, to: end, stepSeconds: defaultStepSeconds(end - begin) }
}

const timestampAt = (seconds: number) => timestamp(seconds * 1000)
export const timeRangeDto = ({ from, to, stepSeconds }: MonitoringTimeRange) => ({
  from: timestampAt(from),
  to: timestampAt(to),
  stepSeconds,
})
export const pointsOf = (points: readonly { at: number; value: number }[]) =>
  points.map((point) => ({ timestamp: timestampAt(point.at), value: point.value }))

/**
 * Returns the requested metric and aggregation.
 * @throws PlatformError BAD_REQUEST with `supported`
 */
export function parseMetric(
  metrics: Readonly<Record<string, Metric>>,
  { metric: name, aggregation: word }: { metric: string; aggregation: string },
): { name: string; metric: Metric; aggregation: Aggregation } {
  const known = findNameIgnoringCase(Object.keys(metrics), name)
  const metric = metrics[known ?? '']
  if (known === undefined || metric === undefined) throw unsupportedParameter('metric', name, Object.keys(metrics))
  const aggregation = findNameIgnoringCase(metric.aggregations, word)
  if (aggregation === undefined) throw unsupportedParameter('aggregation', word, metric.aggregations)
  return { name: known, metric, aggregation }
}

/** Finds a name case-insensitively. */
export function findNameIgnoringCase<Name extends string>(names: readonly Name[], word: string): Name | undefined {
  const wanted = word.toLowerCase()
  return names.find((name) => name.toLowerCase() === wanted)
}

export function unsupportedParameter(parameter: string, value: string, supported: readonly string[]): PlatformError {
  const offered = supported.length === 0 ? 'there is none here' : `there are ${supported.join(', ')}`
  return new PlatformError('BAD_REQUEST', `The ${parameter} "${value}" is not offered: ${offered}.`, {
    parameter,
    supported,
  })
}

/** @throws PlatformError ENGINE_MISSING */
export function requireMetricSource({ monitoring: { metrics } }: Pick<Services, 'monitoring'>): MetricSource {
  if (metrics !== undefined) return metrics
  const message = 'This platform has no metrics: an administrator must set PLATFORM_PROMETHEUS_URL.'
  throw new PlatformError('ENGINE_MISSING', message, { engine: 'Prometheus' })
}

/**
 * Returns the part of a span that concerns this incarnation of a resource: data of an earlier namesake must not be
 * shown, and there is none in the future. Undefined if nothing is left.
 */
export function clipToCreation(
  span: MonitoringTimeRange,
  { metadata }: { metadata: { creationTimestamp?: string } },
  now: number,
): MonitoringTimeRange | undefined {
  const made = Math.ceil(Date.parse(createdAtOf(metadata)) / 1000)
  const skipped = Math.max(0, Math.ceil((made - span.from) / span.stepSeconds))
  const part = { ...span, from: span.from + skipped * span.stepSeconds, to: Math.min(span.to, Math.floor(now / 1000)) }
  return part.from < part.to ? part : undefined
}

/** @throws PlatformError UPSTREAM_FAILED */
export async function queryMetric(
  source: MetricSource,
  question: MetricSeriesQuery,
  span: MonitoringTimeRange | undefined,
) {
  if (span === undefined) return []
  try {
    return await source.of(question, span)
  } catch (error) {
    if (!(error instanceof MetricSourceError)) throw error
    throw new PlatformError('UPSTREAM_FAILED', error.message, {}, { cause: error })
  }
}
