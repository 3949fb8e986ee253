import { z } from 'zod'
import type { MeasuredSeries } from '../../adapters/prometheus/port.ts'
import { METRICS } from '../../contracts/metrics.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { SeriesDto } from '../resources/metrics.ts'
import { planOf } from '../resources/sizing.ts'
import {
  clipToCreation,
  findNameIgnoringCase,
  MetricQuery,
  type MonitoringTimeRange,
  parseTimeRange,
  pointsOf,
  queryMetric,
  requireMetricSource,
  unsupportedParameter,
} from './metricQuery.ts'
import { findMonitoredResource, isMeasuredHere, MONITORING_PATH, type MonitoredResource } from './monitoredResource.ts'
import { recommendation } from './recommendation.ts'
import { targetOf } from './targets.ts'

/** The metric of each usage, and the amounts to compare it with. */
const USAGE_METRICS = {
  Cpu: { unit: 'cores', used: 'CpuUsage', requested: 'CpuRequest', limit: 'CpuLimit', size: 'cpuLimit' },
  Memory: { unit: 'bytes', used: 'MemoryUsage', requested: 'MemoryRequest', limit: 'MemoryLimit', size: 'memoryLimit' },
  Storage: { unit: 'bytes', used: 'StorageUsed', requested: undefined, limit: 'StorageCapacity', size: 'storageSize' },
  Connections: { unit: 'count', used: 'Connections', requested: undefined, limit: 'ConnectionLimit', size: undefined },
} as const

const Amount = z.number().nullable()
const UtilizationDto = namedRecord('UtilizationDto', {
  metric: z.enum(['Cpu', 'Memory', 'Storage', 'Connections']),
  unit: z.string(),
  limit: Amount.describe('Of all replicas together at the end; null if there is none'),
  request: Amount,
  average: Amount.describe('Null where nothing was measured'),
  maximum: Amount,
  p95: Amount.describe('What it did not exceed in 95 % of the steps'),
  last: Amount,
  averagePercent: Amount.describe('Of the limit'),
  maximumPercent: Amount,
  series: z.array(SeriesDto),
  recommendation: z
    .object({
      kind: z.enum(['None', 'ScaleUp', 'ScaleDown']),
      computePlan: z.string().nullable(),
      message: z.string().nullable(),
    })
    .nullable()
    .describe('Null where nothing was measured'),
})

const Query = MetricQuery.omit({ aggregation: true })
type Asked = Context<string, z.output<typeof Query>>

async function utilizationOf(context: Asked) {
  const { services, query } = context
  const watched = await findMonitoredResource(context)
  const meters = usageMetricsOf(watched)
  const meter = findNameIgnoringCase(meters, query.metric)
  if (meter === undefined) throw unsupportedParameter('metric', query.metric, meters)
  const span = parseTimeRange(query)
  requireMetricSource(services)
  const { unit, used, requested, limit, size } = USAGE_METRICS[meter]
  const [ofUse, highest, ofRequest, ofLimit] = await Promise.all([
    queryPoints(context, watched, used, 'Average', span),
    queryPoints(context, watched, used, 'Maximum', span),
    requested === undefined ? [] : queryPoints(context, watched, requested, 'Last', span),
    queryPoints(context, watched, limit, 'Last', span),
  ])
  const statistics = { ...usageStatistics(ofUse, highest), limit: lastOf(ofLimit), request: lastOf(ofRequest) }
  const ofTotal = (value: number | null) =>
    value === null || !statistics.limit ? null : Math.round((10_000 * value) / statistics.limit) / 100
  const shown = (name: string, points: Points) => ({ name, unit, labels: {}, points: pointsOf(points) })
  return ok({
    metric: meter,
    unit,
    ...statistics,
    averagePercent: ofTotal(statistics.average),
    maximumPercent: ofTotal(statistics.maximum),
    series: [shown('Used', ofUse), shown('Requested', ofRequest), shown('Limit', ofLimit)],
    recommendation: recommended(context, watched, statistics, { size, seconds: ofUse.length * span.stepSeconds }),
  })
}

function usageMetricsOf({ location }: MonitoredResource): (keyof typeof USAGE_METRICS)[] {
  const metrics: object = METRICS[location.collection]
  const names = Object.keys(USAGE_METRICS) as (keyof typeof USAGE_METRICS)[]
  return names.filter((name) => Object.hasOwn(metrics, USAGE_METRICS[name].used))
}

type Points = MeasuredSeries['points']

async function queryPoints(
  { services }: Asked,
  watched: MonitoredResource,
  metric: string,
  aggregation: 'Average' | 'Maximum' | 'Last',
  span: MonitoringTimeRange,
): Promise<Points> {
  const { object, location } = watched
  if (!isMeasuredHere(services, watched)) return []
  const target = targetOf(services, watched)
  const question = { collection: location.collection, metric, aggregation, target, isSummed: true }
  const part = clipToCreation(span, object, services.clock.now())
  const [one] = await queryMetric(requireMetricSource(services), question, part)
  return one?.points ?? []
}

const lastOf = (points: Points) => points.at(-1)?.value ?? null

function usageStatistics(used: Points, highest: Points) {
  const values = used.map(({ value }) => value).sort((one, other) => one - other)
  const sum = values.reduce((total, value) => total + value, 0)
  return {
    average: values.length === 0 ? null : sum / values.length,
    maximum: highest.length === 0 ? null : Math.max(...highest.map(({ value }) => value)),
    p95: values[Math.ceil(0.95 * values.length) - 1] ?? null,
    last: lastOf(used),
  }
}

type UsageStatistics = ReturnType<typeof usageStatistics> & { limit: number | null; request: number | null }

function recommended(
  { services }: Asked,
  { kind, object }: MonitoredResource,
  { p95, maximum, limit, request }: UsageStatistics,
  { size, seconds }: { size: (typeof USAGE_METRICS)[keyof typeof USAGE_METRICS]['size']; seconds: number },
) {
  if (p95 === null || maximum === null) return null
  const current = kind.sized && planOf(services, kind.sized, object.spec as { computePlan?: string })
  const plans = services.records.peekAll(ComputePlan)
  return recommendation({ p95, maximum, limit, request, seconds }, plans, size, current)
}

/** Usage of a resource against its request and limit (interface section 4.16, records: monitoring). */
export const utilizationRoute: RouteDraft = route('GET', `${MONITORING_PATH}/utilization`, {
  auth: action('monitoring/read'),
  summary: 'How much of what it has a resource uses',
  query: Query,
  reply: UtilizationDto,
  answers: [502],
  handler: utilizationOf as never,
})
