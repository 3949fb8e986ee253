import { z } from 'zod'
import { DateTime, Uuid } from '../../crds/fields.ts'
import { namedRecord } from '../http/namedRecord.ts'

/** Records that every area answers with (interface section 2, records section 0). */

export { DateTime, Uuid }

/** The known fields of a record: those that are never null must be there, others may be. */
type Known<Record> = { [Name in keyof Record as null extends Record[Name] ? never : Name]: Record[Name] } & {
  [Name in keyof Record]?: Record[Name] | undefined
}

/** Returns a record for an answer: exactly its fields, with null for unknown values. */
export function wholeRecord<Dto extends z.ZodObject>(dto: Dto, known: Known<z.output<Dto>>): z.output<Dto> {
  const values = known as Record<string, unknown>
  return Object.fromEntries(Object.keys(dto.shape).map((name) => [name, values[name] ?? null])) as z.output<Dto>
}

/** A body field that accepts whatever a read record has there. */
const Ignored = z.unknown().optional().meta({ description: 'As read; ignored', readOnly: true })

/** Fields that a body takes and ignores, so that a record that was read can be sent back. */
export function ignoredFields(names: readonly string[]): Record<string, typeof Ignored> {
  return Object.fromEntries(names.map((name) => [name, Ignored]))
}

/** Fields that answers show and bodies may repeat without effect, so that a record that was read can be sent back. */
export const headFields = {
  id: Uuid.describe('The same for the whole life of the resource, also after a restore from backup'),
  name: z.string(),
  boundary: z.string().describe('Display name of the boundary, as it is now'),
  boundaryId: Uuid,
  resourceGroup: z.string(),
  collection: z.string().describe('The URL segment of the kind'),
  clusterName: z.string(),
  region: z.string().describe('Empty if the cluster has none'),
  createdAt: DateTime,
  status: z
    .enum(['Pending', 'Provisioning', 'Running', 'Updating', 'Stopped', 'Degraded', 'Failed', 'Deleting'])
    .describe('Where the resource is in its life'),
  phase: z.string().nullable().describe('The reason constant; null until first observed'),
  statusMessage: z.string().nullable().describe("One sentence, the engine's own if there is one"),
}

export const Tags = z.record(z.string(), z.string().max(256)).describe('At most 50 pairs')

const PaginationMetaDto = namedRecord('PaginationMeta', {
  hasNextPage: z.boolean(),
  hasPreviousPage: z.boolean(),
  page: z.int(),
  pageSize: z.int(),
  totalItems: z.int(),
  totalPages: z.int(),
})

export type PaginationMeta = z.output<typeof PaginationMetaDto>

const pageOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item), pagination: PaginationMetaDto })
const pages = new Map<z.ZodType, z.ZodType>()

/** Returns PagedListResponse<T>, one schema for each T, so that documents and clients have one name for it. */
export function pagedListOf<Item extends z.ZodType>(item: Item): ReturnType<typeof pageOf<Item>> {
  const id = item.meta()?.id
  const page =
    pages.get(item) ?? (id === undefined ? pageOf(item) : pageOf(item).meta({ id: `PagedListResponseOf${id}` }))
  pages.set(item, page)
  return page as ReturnType<typeof pageOf<Item>>
}

export const ScaleRequestDto = z.strictObject({ targetScale: z.int() })

export const ScaleStatusDto = namedRecord('ScaleStatus', {
  currentScale: z.int(),
  maxScale: z.int(),
  minScale: z.int(),
  readyScale: z.int(),
  targetScale: z.int(),
  isScaling: z.boolean(),
})
export type ScaleStatusDto = z.output<typeof ScaleStatusDto>

export const POWER_ACTIONS = ['start', 'stop', 'restart'] as const

export const ResourceActionResultDto = namedRecord('ResourceActionResult', {
  action: z.enum([...POWER_ACTIONS, 'redeploy']),
  changed: z.boolean(),
  id: Uuid,
  name: z.string(),
  phase: z.string().nullable(),
  requestedAt: DateTime,
  resourceGroup: z.string(),
  status: z.string(),
})

export const HEALTH_STATES = ['Healthy', 'Degraded', 'Unhealthy', 'Unknown'] as const
export const HealthCheckDto = namedRecord('HealthCheck', {
  name: z.string(),
  status: z.enum(HEALTH_STATES),
  message: z.string().nullable(),
  durationMs: z.int().nullable(),
  observedAt: DateTime,
})
export type HealthCheckDto = z.output<typeof HealthCheckDto>

export const healthReportFields = {
  status: z.enum(HEALTH_STATES),
  checkedAt: DateTime,
  message: z.string().nullable(),
  checks: z.array(HealthCheckDto),
}
export const HealthReportDto = namedRecord('HealthReport', healthReportFields)

export const ExternalAddressDto = namedRecord('ExternalAddress', {
  enabled: z.boolean(),
  status: z.enum(['Disabled', 'Pending', 'Ready', 'Failed']),
  hostname: z.string().nullable(),
  ipAddresses: z.array(z.string()),
  ports: z.array(namedRecord('NamedPort', { name: z.string(), port: z.int(), protocol: z.string() })),
  message: z.string().nullable(),
})
export type ExternalAddressDto = z.output<typeof ExternalAddressDto>

const EnumeratedValue = z.union([z.string(), z.int()]).meta({ id: 'EnumeratedValue' })

export const ListConfigDto = namedRecord('ListConfig', {
  collection: z.string(),
  columns: z.array(
    namedRecord('ListColumn', {
      field: z.string(),
      title: z.string(),
      type: z.enum(['text', 'number', 'boolean', 'dateTime', 'status', 'tags', 'link']),
      sortable: z.boolean(),
      defaultVisible: z.boolean(),
    }),
  ),
  filters: z.array(
    namedRecord('ListFilter', {
      field: z.string(),
      operators: z.array(z.string()),
      values: z.array(z.string()).nullable(),
    }),
  ),
  sorts: z.array(z.string()),
  defaultSort: z.string(),
  searchFields: z.array(z.string()),
  enumerations: z.record(
    z.string(),
    z.array(namedRecord('EnumerationValue', { value: EnumeratedValue, title: z.string() })),
  ),
  plans: z.array(namedRecord('PlanChoice', { id: z.string(), name: z.string(), isDefault: z.boolean() })),
  actions: z.array(z.string()).describe('What this caller may do here'),
  names: namedRecord('NameRule', { pattern: z.string(), maxLength: z.int(), reserved: z.array(z.string()) }),
  limits: z.record(z.string(), z.int()),
  pageSizeDefault: z.int(),
  pageSizeMax: z.int(),
})
export type ListConfigDto = z.output<typeof ListConfigDto>

/** A record that somebody must publish in the DNS. */
export const DnsRecordDto = namedRecord('DnsRecord', { type: z.string(), name: z.string(), value: z.string() })
