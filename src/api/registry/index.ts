import { z } from 'zod'
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../contracts/registry/audit.ts'
import { PlatformError } from '../../core/errors.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { dateTime, text } from '../resources/paging.ts'
import { manifestRoutes } from './manifests.ts'
import { mintRoutes } from './mint.ts'
import { notifyRoutes } from './notify.ts'
import { pinRoutes } from './pins.ts'
import { retentionRoutes } from './retention.ts'
import { registryOf } from './service.ts'
import { tokenRoutes } from './token.ts'

const RegistryAuditEntryDto = namedRecord('RegistryAuditEntry', {
  id: Uuid,
  timestamp: DateTime,
  action: z.enum(AUDIT_ACTIONS),
  boundary: z.string().nullable(),
  repository: z.string().nullable(),
  tag: z.string().nullable(),
  digest: z.string().nullable(),
  actor: z.string(),
  remoteAddress: z.string().nullable(),
  outcome: z.enum(AUDIT_OUTCOMES),
  detail: z.string().nullable(),
  correlationId: z.string().nullable(),
})

/** How many of the newest entries a query considers. */
const ENTRIES_MAX = 10_000

const AuditQuery = z.object({
  action: z.enum(AUDIT_ACTIONS).optional().describe('Only entries of this action'),
  boundary: Uuid.optional().describe('Only entries of this boundary'),
  repository: z.string().min(1).max(255).optional().describe('Only entries of this repository'),
  correlation_id: Uuid.optional().describe('Only entries of this request'),
  from: DateTime.optional().describe('The earliest time'),
  to: DateTime.optional().describe('The latest time'),
})

const auditRoute = listRoute('/resources/registries/audit', {
  auth: action('registry/audit/read'),
  summary: 'Actions at the registry, refused ones included, newest first',
  query: AuditQuery,
  dto: RegistryAuditEntryDto,
  columns: { timestamp: dateTime('Time'), actor: text('Actor', { isSorted: false }) },
  sort: '-timestamp',
  limitName: 'limit',
  pageSizeDefault: 100,
  unfollowed: 'the audit log of the registry',
  rows: async ({ services, query }) => {
    const { correlation_id: correlationId, from, to, ...fields } = query
    const filters = Object.entries({ ...fields, correlationId }).filter(([, value]) => value !== undefined)
    const reading = registryOf(services).audit.newest(
      ENTRIES_MAX,
      (entry) =>
        filters.every(([name, value]) => entry[name as keyof typeof entry] === value) &&
        (to === undefined || Date.parse(entry.timestamp) <= Date.parse(to)),
      from === undefined ? undefined : Date.parse(from),
    )
    const found = await reading.catch((cause: unknown) => {
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The audit of the registry cannot be read.', {}, { cause })
    })
    return found.map((entry) => wholeRecord(RegistryAuditEntryDto, entry))
  },
})

/** The routes of interface section 4.17. */
export const registryRoutes: readonly RouteDraft[] = [
  ...mintRoutes,
  auditRoute,
  ...manifestRoutes,
  ...pinRoutes,
  ...retentionRoutes,
  ...tokenRoutes,
  ...notifyRoutes,
]
