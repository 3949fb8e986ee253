import { z } from 'zod'
import { ALERT_STATES } from '../../contracts/monitoring.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { PlatformAlert } from '../../crds/monitoring.ts'
import { groupScope, resourceScope } from '../callers/visibility.ts'
import { accepted } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { Flag } from '../http/query.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { findBoundary } from '../resources/find.ts'
import { dateTime, enumeration, number, text } from '../resources/paging.ts'
import { AlertDto, type AlertRecord, alertDto, groupOfAlert } from './alertRecord.ts'
import { AlertIngestRequest, AlertIngestResult, ingest } from './ingest.ts'
import { findMonitoredResource, MONITORING_PATH } from './monitoredResource.ts'

const Query = z.strictObject({ includeResolved: Flag.optional().describe('Also those that are over; false') })
type Asked = Context<string, z.output<typeof Query>>

const LIST = {
  dto: AlertDto,
  query: Query,
  columns: {
    title: text<AlertDto>('Title', { isSearched: true, isFiltered: false }),
    level: number<AlertDto>('Level'),
    status: enumeration<AlertDto>('Status', ALERT_STATES, { isSorted: false }),
    resourceType: text<AlertDto>('Type', { isSorted: false }),
    resourceName: text<AlertDto>('Resource', { isSorted: false, isSearched: true }),
    resourceGroup: text<AlertDto>('Resource group', { isSorted: false }),
    alertId: text<AlertDto>('Alert', { isSorted: false, isSearched: true }),
    firstSeenAt: dateTime<AlertDto>('First seen', { isSorted: false }),
    lastSeenAt: dateTime<AlertDto>('Last seen', { isFiltered: false }),
  },
  sort: '-lastSeenAt',
} as const

const read = action('monitoring/read')

async function shown(
  context: Asked,
  filter: { namespace?: string },
  isMeant: (alert: AlertRecord) => boolean = () => true,
): Promise<AlertDto[]> {
  const { services, query, fresh } = context
  const alerts = await services.records.list(PlatformAlert, filter, { fresh })
  return alerts
    .filter((alert) => (query.includeResolved === true || alert.spec.status === 'Firing') && isMeant(alert))
    .map((alert) => alertDto(services, alert))
}

/** Returns the alerts of this incarnation: those last seen before it was created concern an earlier namesake. */
async function ofResource(context: Asked): Promise<AlertDto[]> {
  const { location, object } = await findMonitoredResource(context)
  const { boundaryId, resourceGroup, name, collection } = location
  const made = Date.parse(createdAtOf(object.metadata))
  const alerts = await shown(context, { namespace: boundaryNamespace(boundaryId) }, (alert) => {
    const { resourceType, resourceName } = alert.spec
    return groupOfAlert(alert) === resourceGroup && resourceType === collection && resourceName === name
  })
  return alerts.filter(({ lastSeenAt }) => !(Date.parse(lastSeenAt) < made))
}

/** Returns the alerts of a boundary that the caller may read, because a deny may be at a group or resource in it. */
async function ofBoundary(context: Asked): Promise<AlertDto[]> {
  const { boundaryId = '' } = context.parameters
  await findBoundary(context, boundaryId, context)
  const { access } = context.services
  const { principalId } = context.caller
  const isDeniedBelow = access.scopesWith(principalId, 'monitoring/read').denied.length > 0
  return shown(context, { namespace: boundaryNamespace(boundaryId) }, (alert) => {
    const group = groupOfAlert(alert)
    return (
      !isDeniedBelow ||
      group === undefined ||
      access.isAllowed(principalId, 'monitoring/read', scopeOf(boundaryId, group, alert))
    )
  })
}

function scopeOf(boundaryId: string, group: string, { spec }: AlertRecord): string {
  const { resourceType, resourceName } = spec
  return resourceType === '' || resourceName === ''
    ? groupScope(boundaryId, group)
    : resourceScope(boundaryId, group, resourceType, resourceName)
}

/** Lists of alerts, and the route that reports them (interface section 4.16). */
export const alertRoutes: readonly RouteDraft[] = [
  listRoute(`${MONITORING_PATH}/alerts`, {
    ...LIST,
    auth: read,
    summary: 'Alerts about a resource, newest first',
    limitName: 'limit',
    rows: ofResource,
  }),
  listRoute('{B}/resources/monitoring/alerts', {
    ...LIST,
    auth: read,
    summary: 'Alerts about a boundary and all in it, newest first',
    rows: ofBoundary,
  }),
  listRoute('/admin/monitoring/alerts', {
    ...LIST,
    auth: action('monitoring/platform/read'),
    summary: 'All alerts of the platform, newest first',
    rows: (context) => shown(context, {}),
  }),
  route('POST', '/admin/monitoring/alerts', {
    auth: action('monitoring/platform/alerts/write'),
    summary: 'Report an alert, or that it was resolved',
    body: AlertIngestRequest,
    example: {
      alertId: 'disk-7',
      title: 'A disk is nearly full',
      level: 2,
      resourceType: 'apps',
      resourceName: 'web',
    },
    reply: AlertIngestResult,
    handler: async (context) => {
      const { result, alert } = await ingest(context as unknown as Context, context.body)
      return accepted(result, alert && { etag: etagOf(alert) })
    },
  }),
]
