import { z } from 'zod'
import { ADMIN_USERS, SQL_ENGINES } from '../../contracts/sql.ts'
import {
  defaultEdition,
  LICENSE_STATES,
  newestVersion,
  SQL_EDITIONS,
  SQL_VERSIONS,
  type SqlInstance,
} from '../../crds/sql.ts'
import { isEqual } from '../records/mergePatch.ts'
import type { RecordOf } from '../records/records.ts'
import { headFields, recordSchemas, Tags, Uuid } from '../resources/dto.ts'
import { headOf } from '../resources/shape.ts'
import { effectiveSizes, PlanId, planOf, QuantityText, shownPlan } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'

export type SqlObject = RecordOf<typeof SqlInstance>
export type SqlSpec = SqlObject['spec']
export type SqlView = ResourceView<typeof SqlInstance>
export const COLLECTION = 'sqlclusters'

const { collection, boundary, boundaryId, resourceGroup, ...otherHead } = headFields
const VERSIONS = [...SQL_VERSIONS.MsSql, ...SQL_VERSIONS.MariaDb] as const
const EDITIONS = [...SQL_EDITIONS.MsSql, ...SQL_EDITIONS.MariaDb] as const

/** SqlInstanceDto (records: SQL instances). */
export const sqlRecord = recordSchemas(
  'SqlInstanceDto',
  {
    boundary,
    boundaryId,
    resourceGroup,
    collection,
    ...otherHead,
    adminUser: z.string().describe('Never handed out'),
    licenseStatus: z.enum(LICENSE_STATES),
    licenseEdition: z.string().nullable().describe('As the engine reports it'),
    productVersion: z.string().nullable().describe('As the engine reports it'),
    publicEndpoint: z.string().nullable(),
  },
  {
    clusterId: Uuid.describe("Where it runs; the platform's own cluster when absent"),
    computePlan: PlanId.nullable().describe('A plan of family Sql; its default when absent'),
    resourcePlanId: PlanId.nullable().describe('The same as computePlan'),
    cpuLimit: QuantityText.nullable(),
    cpuRequest: QuantityText.nullable().describe("Overrides the plan's"),
    memoryLimit: QuantityText.nullable(),
    memoryRequest: QuantityText.nullable(),
    storageClass: z.string().max(63).nullable(),
    storageSize: QuantityText.nullable().describe('Grows only'),
    engine: z.enum(SQL_ENGINES),
    engineVersion: z.enum(VERSIONS).describe('Up only'),
    edition: z.enum(EDITIONS),
    acceptEula: z.boolean().describe("True accepts Microsoft's licence terms; needed for MsSql"),
    collation: z.string().min(1).max(128),
    timeZone: z.string().min(1).max(64),
    databaseName: z.string().min(1).max(64),
    memoryLimitMb: z.int().min(256).max(16777216).nullable().describe('80 % of memoryLimit when null'),
    enableLoadBalancer: z.boolean(),
    allowedCidrs: z.string().max(2400).nullable(),
    backupEnabled: z.boolean(),
    backupSchedule: z.string().max(100),
    backupRetentionDays: z.int().min(1).max(365),
    deletionProtection: z.boolean(),
    tags: Tags,
  },
)
export type SqlBody = z.output<typeof sqlRecord.body>
export type SqlInstanceDto = z.output<typeof sqlRecord.dto>

export function sqlDto(view: SqlView): SqlInstanceDto {
  const { spec, status } = view.object
  const plan = planOf(view.services, 'Sql', spec)
  const planId = shownPlan(spec, plan)
  return {
    ...headOf(view as unknown as ResourceView, COLLECTION),
    ...effectiveSizes(spec, plan),
    adminUser: ADMIN_USERS[spec.engine],
    licenseStatus: status?.licenseStatus ?? 'NotRequired',
    licenseEdition: status?.licenseEdition ?? null,
    productVersion: status?.productVersion ?? null,
    publicEndpoint: status?.publicEndpoint ?? null,
    computePlan: planId,
    resourcePlanId: planId,
    engine: spec.engine,
    engineVersion: (spec.engineVersion ?? newestVersion(spec.engine)) as SqlInstanceDto['engineVersion'],
    edition: (spec.edition ?? defaultEdition(spec.engine)) as SqlInstanceDto['edition'],
    acceptEula: spec.acceptEula || spec.engine === 'MariaDb',
    collation: spec.collation,
    timeZone: spec.timeZone,
    databaseName: spec.databaseName,
    memoryLimitMb: spec.memoryLimitMb ?? null,
    enableLoadBalancer: spec.enableLoadBalancer,
    allowedCidrs: spec.allowedCidrs ?? null,
    backupEnabled: spec.backupEnabled,
    backupSchedule: spec.backupSchedule,
    backupRetentionDays: spec.backupRetentionDays,
    deletionProtection: spec.deletionProtection,
    tags: spec.tags,
  }
}

/** Fields of the spec that no body shows. */
const HIDDEN = ['running', 'restartedAt', 'onDelete', 'licenseVersion'] as const

export function hiddenFields(spec: SqlSpec | undefined): Partial<SqlSpec> {
  return spec === undefined ? {} : Object.fromEntries(HIDDEN.map((field) => [field, spec[field]]))
}

/** The stored form, where an absent size means the plan's: what a merge patch is laid over. */
export function storedBody({ spec }: SqlObject): SqlBody {
  const shown = Object.entries(spec).filter(([field]) => !(HIDDEN as readonly string[]).includes(field))
  return Object.fromEntries(shown.filter(([, value]) => !isEqual(value, undefined))) as SqlBody
}
