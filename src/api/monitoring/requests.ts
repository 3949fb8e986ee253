import { z } from 'zod'
import { ACTIVATOR_SERVICE, functionRouteName } from '../../contracts/functions.ts'
import { PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { SeriesDto } from '../resources/metrics.ts'
import { countedRequests, webMetrics } from '../resources/webMetrics.ts'
import { parseTimeRange, requireMetricSource, TimeRangeQuery, timeRangeDto } from './metricQuery.ts'
import { findMonitoredResource, MONITORING_PATH, type MonitoredResource } from './monitoredResource.ts'
import { targetOf } from './targets.ts'

const RequestStatsDto = namedRecord('RequestStatsDto', {
  from: DateTime,
  to: DateTime,
  stepSeconds: z.int(),
  total: z.int(),
  errors4xx: z.int(),
  errors5xx: z.int(),
  averageMilliseconds: z.number().nullable().describe('Null where nothing was asked for'),
  p95Milliseconds: z.number().nullable(),
  series: z.array(SeriesDto),
  statusCodes: z.record(z.string(), z.int()),
  callers: z
    .array(
      namedRecord('RequestCaller', {
        source: z.enum(['Internet', 'Resource', 'Platform']),
        name: z.string(),
        requests: z.int(),
      }),
    )
    .max(20)
    .describe('Empty: a Gateway does not count by caller'),
})

const REQUEST_METRICS = ['Requests', 'Errors4xx', 'Errors5xx', 'LatencyP95']

type Asked = Context<string, z.output<typeof TimeRangeQuery>>

async function requestsOf(context: Asked) {
  const watched = await findMonitoredResource(context)
  const routed = routedTo(context, watched)
  const span = parseTimeRange(context.query)
  requireMetricSource(context.services)
  const now = context.services.clock.now()
  const counted =
    routed && (await countedRequests(context as Context, { object: watched.object as never, routed }, span, now))
  const { totals, series, statusCodes } = webMetrics(counted)
  return ok({
    ...timeRangeDto(span),
    total: totals.requests,
    errors4xx: totals.errors4xx,
    errors5xx: totals.errors5xx,
    averageMilliseconds: totals.averageMilliseconds,
    p95Milliseconds: totals.p95Milliseconds,
    series: series.filter(({ name }) => REQUEST_METRICS.includes(name)),
    statusCodes,
    callers: [],
  })
}

/** Returns the Gateway route of a resource; undefined if there is none. @throws PlatformError METRIC_NOT_APPLICABLE */
function routedTo({ services }: Asked, watched: MonitoredResource) {
  const { namespace, location } = watched
  if (location.collection === 'functionnamespaces') {
    const route = functionRouteName(namespace, location.name)
    return { namespace: SYSTEM_NAMESPACE, route, service: ACTIVATOR_SERVICE }
  }
  if (!['apps', 'staticwebapps', 'containerinstances'].includes(location.collection)) {
    const message = `Requests to ${location.collection} are not counted: they serve no web requests.`
    throw new PlatformError('METRIC_NOT_APPLICABLE', message)
  }
  const { routes } = targetOf(services, watched)
  const [first] = 'stem' in routes ? [] : routes
  return first && { namespace, ...first }
}

/** Web requests answered by a resource (interface section 4.16, records: monitoring). */
export const requestsRoute: RouteDraft = route('GET', `${MONITORING_PATH}/requests`, {
  auth: action('monitoring/read'),
  summary: 'The web requests that a resource answered',
  query: TimeRangeQuery,
  reply: RequestStatsDto,
  answers: [422],
  handler: requestsOf as never,
})
