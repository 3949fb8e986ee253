import { z } from 'zod'
import {
  METRIC_COLLECTIONS,
  METRICS,
  type Metric,
  type MetricCollection,
  PLATFORM_METRICS,
  unitOf,
} from '../../contracts/metrics.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { currentPoint, expiringSoon } from './localMetrics.ts'
import {
  findNameIgnoringCase,
  MetricQuery,
  type MonitoringTimeRange,
  parseMetric,
  parseTimeRange,
  pointsOf,
  queryMetric,
  requireMetricSource,
  timeRangeDto,
  unsupportedParameter,
} from './metricQuery.ts'
import { coversEveryStep, MonitoringSeriesDto, type ShownSeries } from './series.ts'
import { targetOfAll } from './targets.ts'

const Query = MetricQuery.extend({
  resourceType: z.string().min(1).max(64).optional().describe('Only resources of this collection, summed over all'),
})
type Asked = Context<string, z.output<typeof Query>>

const hasMetric = (metrics: object, name: string) => findNameIgnoringCase(Object.keys(metrics), name) !== undefined

/** Returns the platform, or the collections that have the metric. @throws PlatformError BAD_REQUEST */
function collectionsAsked({ metric, resourceType }: z.output<typeof Query>): (MetricCollection | 'platform')[] {
  if (resourceType !== undefined) {
    const collection = findNameIgnoringCase(METRIC_COLLECTIONS, resourceType)
    if (collection === undefined) throw unsupportedParameter('resourceType', resourceType, METRIC_COLLECTIONS)
    return [collection]
  }
  if (hasMetric(PLATFORM_METRICS, metric)) return ['platform']
  const having = METRIC_COLLECTIONS.filter((collection) => hasMetric(METRICS[collection], metric))
  return having.length > 0 ? having : ['platform']
}

async function platformSeries(context: Asked) {
  const { services, query } = context
  const collections = collectionsAsked(query)
  const metricsOf = (collection: MetricCollection | 'platform') =>
    collection === 'platform' ? everyMetric(query.resourceType) : METRICS[collection]
  const selections = collections.map((collection) => [collection, parseMetric(metricsOf(collection), query)] as const)
  const [, first] = selections[0] ?? []
  const span = parseTimeRange(query)
  if (selections.some(([, { metric }]) => metric.by === undefined)) requireMetricSource(services)
  const part = { ...span, to: Math.min(span.to, Math.floor(services.clock.now() / 1000)) }
  const series: ShownSeries = await Promise.all(
    selections.map(async ([collection, { name, metric, aggregation }]) => ({
      name,
      unit: unitOf(metric, aggregation),
      labels: collection === 'platform' ? {} : { resourceType: collection },
      points: pointsOf(
        part.from < part.to ? await pointsAsked(context, collection, { name, metric, aggregation }, part) : [],
      ),
    })),
  )
  return ok({
    resourceType: query.resourceType === undefined ? null : (collections[0] ?? null),
    resourceName: null,
    metric: first?.name ?? query.metric,
    aggregation: first?.aggregation ?? query.aggregation,
    unit: series[0]?.unit ?? '',
    ...timeRangeDto(span),
    isComplete: coversEveryStep(series, span),
    series,
  })
}

/** Returns the metrics that need no collection, which the refusal of an unknown name lists. */
function everyMetric(resourceType: string | undefined): Readonly<Record<string, Metric>> {
  const ofCollections: Readonly<Record<string, Metric>>[] = METRIC_COLLECTIONS.map((collection) => METRICS[collection])
  return resourceType === undefined ? Object.assign({}, ...ofCollections, PLATFORM_METRICS) : {}
}

async function pointsAsked(
  { services }: Asked,
  collection: MetricCollection | 'platform',
  { name, metric, aggregation }: ReturnType<typeof parseMetric>,
  span: MonitoringTimeRange,
) {
  // The activator counts per function, and nothing sums that up.
  if (metric.by === 'activator') return []
  if (metric.by === 'objects')
    return name === 'SecretsExpiringSoon' ? currentPoint(services, span, expiringSoon(services)) : []
  const target = collection === 'platform' ? undefined : targetOfAll(collection)
  const question = { collection, metric: name, aggregation, target, isSummed: true }
  const [one] = await queryMetric(requireMetricSource(services), question, span)
  return one?.points ?? []
}

/** Metrics of the platform (interface section 4.16, records: monitoring). */
export const platformMetricsRoute: RouteDraft = route('GET', '/admin/monitoring/metrics', {
  auth: action('monitoring/platform/read'),
  summary: 'What was measured of the platform, or of all resources together',
  query: Query,
  reply: MonitoringSeriesDto,
  answers: [502],
  handler: platformSeries as never,
})
