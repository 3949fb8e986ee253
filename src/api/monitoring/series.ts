import { z } from 'zod'
import { METRICS, type Metric, unitOf } from '../../contracts/metrics.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/named.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { SeriesDto } from '../resources/metrics.ts'
import {
  MetricQuery,
  measured,
  metricAsked,
  pointsOf,
  type Span,
  shownSpan,
  sinceItsBeginning,
  sourceOf,
  spanAsked,
} from './asked.ts'
import { countedHere } from './countedHere.ts'
import { choosesPods, hasProcess, targetOf } from './targets.ts'
import { findWatched, isMeasuredHere, MONITORING, type Watched } from './watched.ts'

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
const LABELS: Readonly<Record<string, string>> = {
  pod: 'replica',
  function: 'function',
  container: 'container',
  persistentvolumeclaim: 'volume',
  bucket: 'bucket',
  job_name: 'job',
}

export function shownLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).flatMap(([label, value]) => (LABELS[label] === undefined ? [] : [[LABELS[label], value]])),
  )
}

/** Returns whether each step has a point in some series. */
export function isWhole(series: ShownSeries, { from, to, stepSeconds }: Span): boolean {
  const times = new Set(series.flatMap(({ points }) => points.map(({ timestamp }) => timestamp)))
  return times.size >= Math.ceil((to - from) / stepSeconds)
}

type Asked = Context<string, z.output<typeof SeriesQuery>>
const SeriesQuery = MetricQuery.extend({
  container: z.string().min(1).max(63).optional().describe('Only this process of the resource'),
})

async function seriesOf(context: Asked) {
  const { services, query } = context
  const watched = await findWatched(context)
  const { name, metric, aggregation } = metricAsked(METRICS[watched.place.collection], query)
  const span = spanAsked(query)
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
  const { collection: resourceType, name: resourceName } = watched.place
  const isComplete = isWhole(series, span)
  return ok({ resourceType, resourceName, metric: name, aggregation, unit, ...shownSpan(span), isComplete, series })
}

type Words = { metric: string; aggregation: Metric['aggregations'][number]; container?: string | undefined }
type Found = readonly { labels: Readonly<Record<string, string>>; points: readonly { at: number; value: number }[] }[]

const OF_CONTAINERS: ReadonlySet<string> = new Set([
  'CpuUsage',
  'MemoryUsage',
  'CpuPercent',
  'MemoryPercent',
  'Restarts',
])

async function measuredSeries({ services }: Asked, watched: Watched, asked: Words, span: Span): Promise<Found> {
  const source = sourceOf(services)
  const { object, place } = watched
  if (!isMeasuredHere(services, watched)) return []
  const { metric, aggregation, container } = asked
  // Metrics of a whole pod or volume belong to its main process; sidecars only have those of their container.
  if (container !== undefined && !hasProcess(watched, container) && !OF_CONTAINERS.has(metric)) return []
  const chooses = choosesPods(place.collection)
  const target = targetOf(services, watched, chooses ? container : undefined)
  const question = { collection: place.collection, metric, aggregation, target }
  const part = sinceItsBeginning(span, object, services.clock.now())
  return measured(source, chooses ? question : { ...question, container }, part)
}

async function countedSeries({ services }: Asked, watched: Watched, asked: Words, span: Span): Promise<Found> {
  const part = sinceItsBeginning(span, watched.object, services.clock.now())
  return part === undefined ? [] : countedHere(services, watched, asked, part)
}

/** Metrics of one resource (interface section 4.16, records: monitoring). */
export const seriesRoute: RouteDraft = route('GET', MONITORING, {
  auth: action('monitoring/read'),
  summary: 'What was measured of a resource',
  query: SeriesQuery,
  reply: MonitoringSeriesDto,
  answers: [502],
  handler: seriesOf as never,
})
