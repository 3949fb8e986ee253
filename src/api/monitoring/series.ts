import { z } from 'zod'
import { METRICS, type Metric, unitOf } from '../../contracts/metrics.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { SeriesDto } from '../resources/metrics.ts'
import { queryLocalMetric } from './localMetrics.ts'
import {
  clipToCreation,
  MetricQuery,
  type MonitoringTimeRange,
  parseMetric,
  parseTimeRange,
  pointsOf,
  queryMetric,
  requireMetricSource,
  timeRangeDto,
} from './metricQuery.ts'
import { findMonitoredResource, isMeasuredHere, MONITORING_PATH, type MonitoredResource } from './monitoredResource.ts'
import { choosesPods, hasProcess, targetOf } from './targets.ts'

export const MonitoringSeriesDto = namedRecord('MonitoringSeriesDto', {
  resourceType: z.string().nullable().describe('Null for the platform itself'),
  resourceName: z.string().nullable(),
  metric: z.string(),
  aggregation: z.string(),
  unit: z.string(),
  from: DateTime,
  to: DateTime,
  stepSeconds: z.int(),
  isComplete: z.boolean().describe('Whether something was measured in every step; false also where nobody measures it'),
  series: z.array(SeriesDto).describe('One for each container, replica or volume; points where it was measured'),
})
type Shown = z.output<typeof MonitoringSeriesDto>
export type ShownSeries = Shown['series']

/** Our names for labels of Prometheus. */
const LABELS = {
  pod: 'replica',
  function: 'function',
  container: 'container',
  persistentvolumeclaim: 'volume',
  bucket: 'bucket',
  job_name: 'job',
} as const

export function shownLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(LABELS).flatMap(([label, name]) => (labels[label] === undefined ? [] : [[name, labels[label]]])),
  )
}

/** Returns whether each step has a point in some series. */
export function coversEveryStep(series: ShownSeries, { from, to, stepSeconds }: MonitoringTimeRange): boolean {
  const times = new Set(series.flatMap(({ points }) => points.map(({ timestamp }) => timestamp)))
  return times.size >= Math.ceil((to - from) / stepSeconds)
}

type Asked = Context<string, z.output<typeof SeriesQuery>>
const SeriesQuery = MetricQuery.extend({
  container: z.string().min(1).max(63).optional().describe('Only this process of the resource'),
})

async function seriesOf(context: Asked) {
  const { services, query } = context
  const watched = await findMonitoredResource(context)
  const { name, metric, aggregation } = parseMetric(METRICS[watched.location.collection], query)
  const span = parseTimeRange(query)
  const unit = unitOf(metric, aggregation)
  const isStopped = (watched.object.spec as { running?: boolean }).running === false
  const ask = metric.by === undefined ? measuredSeries : countedSeries
  const found =
    isStopped && services.monitoring.metrics === undefined
      ? []
      : await ask(context, watched, { ...query, metric: name, aggregation }, span)
  const named = found.map(({ labels, points }) => ({
    name,
    unit,
    labels: shownLabels(labels),
    points: pointsOf(points),
  }))
  // Without measurements, one empty series is shown, but none for a process that does not exist.
  const series = named.length > 0 || query.container !== undefined ? named : [{ name, unit, labels: {}, points: [] }]
  const { collection: resourceType, name: resourceName } = watched.location
  const isComplete = coversEveryStep(series, span)
  return ok({ resourceType, resourceName, metric: name, aggregation, unit, ...timeRangeDto(span), isComplete, series })
}

type SeriesSelection = { metric: string; aggregation: Metric['aggregations'][number]; container?: string | undefined }
type Found = readonly { labels: Readonly<Record<string, string>>; points: readonly { at: number; value: number }[] }[]

const CONTAINER_METRICS: ReadonlySet<string> = new Set([
  'CpuUsage',
  'MemoryUsage',
  'CpuPercent',
  'MemoryPercent',
  'Restarts',
])

async function measuredSeries(
  { services }: Asked,
  watched: MonitoredResource,
  selection: SeriesSelection,
  span: MonitoringTimeRange,
): Promise<Found> {
  const source = requireMetricSource(services)
  const { object, location } = watched
  if (!isMeasuredHere(services, watched)) return []
  const { metric, aggregation, container } = selection
  // Metrics of a whole pod or volume belong to its main process; sidecars only have those of their container.
  if (container !== undefined && !hasProcess(watched, container) && !CONTAINER_METRICS.has(metric)) return []
  const chooses = choosesPods(location.collection)
  const target = targetOf(services, watched, chooses ? container : undefined)
  const question = { collection: location.collection, metric, aggregation, target }
  const part = clipToCreation(span, object, services.clock.now())
  return queryMetric(source, chooses ? question : { ...question, container }, part)
}

async function countedSeries(
  { services }: Asked,
  watched: MonitoredResource,
  selection: SeriesSelection,
  span: MonitoringTimeRange,
): Promise<Found> {
  const part = clipToCreation(span, watched.object, services.clock.now())
  return part === undefined ? [] : queryLocalMetric(services, watched, selection, part)
}

/** Metrics of one resource (interface section 4.16, records: monitoring). */
export const seriesRoute: RouteDraft = route('GET', MONITORING_PATH, {
  auth: action('monitoring/read'),
  summary: 'What was measured of a resource',
  query: SeriesQuery,
  reply: MonitoringSeriesDto,
  answers: [502],
  handler: seriesOf as never,
})
