import { z } from 'zod'
import {
  ARCHIVING_STATES,
  CRON_PATTERN,
  POOLER_MODES,
  RELATIONAL_EXTENSIONS,
  RELATIONAL_VERSIONS,
  type RelationalCluster,
} from '../../crds/relational.ts'
import { isEqual } from '../records/mergePatch.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, headFields, recordSchemas, Tags, Uuid } from '../resources/dto.ts'
import { headOf } from '../resources/shape.ts'
import { effectiveSizes, PlanId, planOf, QuantityText, shownPlan } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'

export type RelationalObject = RecordOf<typeof RelationalCluster>
export type RelationalSpec = RelationalObject['spec']
export type RelationalView = ResourceView<typeof RelationalCluster>
export const COLLECTION = 'relationalclusters'

const RestoreOriginDto = z
  .object({ clusterName: z.string(), snapshotId: Uuid.nullable(), targetTime: DateTime.nullable() })
  .meta({ id: 'RestoreOrigin' })

const { collection, boundary, boundaryId, resourceGroup, ...otherHead } = headFields

/** RelationalClusterDto (records: relational databases). */
export const relationalRecord = recordSchemas(
  'RelationalClusterDto',
  {
    boundary,
    boundaryId,
    resourceGroup,
    collection,
    ...otherHead,
    restoredFrom: RestoreOriginDto.nullable().describe('What it was made from; null for one that began empty'),
    currentPrimary: z.string().nullable(),
    publicEndpoint: z.string().nullable().describe('Where it is reached from outside, once it is'),
    readyReplicas: z.int().nullable(),
    archiving: z.enum(ARCHIVING_STATES).describe('Whether the log goes to the backup target'),
    lastBackupAt: DateTime.nullable(),
    firstRecoverableAt: DateTime.nullable().describe('The earliest moment that can be restored'),
  },
  {
    clusterId: Uuid.describe("Where it runs; the platform's own cluster when absent"),
    computePlan: PlanId.nullable().describe('A plan of family Relational; its default when absent'),
    resourcePlanId: PlanId.nullable().describe('The same as computePlan'),
    cpuRequest: QuantityText.nullable().describe("Overrides the plan's"),
    cpuLimit: QuantityText.nullable(),
    memoryRequest: QuantityText.nullable(),
    memoryLimit: QuantityText.nullable(),
    storageSize: QuantityText.nullable().describe('Grows only'),
    storageClass: z.string().max(63).nullable(),
    walStorageSize: QuantityText.nullable().describe('A volume of its own for the log; grows only'),
    replicas: z.int().min(1).max(9).nullable().describe('Instances, one of which is the primary'),
    engineVersion: z.enum(RELATIONAL_VERSIONS).describe('Major version of PostgreSQL; never down'),
    imageName: z.string().min(1).max(255).nullable().describe('An image of your own, where the platform allows it'),
    databaseName: z.string().max(63),
    ownerName: z.string().max(63),
    extensions: z.array(z.enum(RELATIONAL_EXTENSIONS)).max(32),
    parameters: z.record(z.string(), z.string().max(1024)).describe('Of postgresql.conf; at most 100'),
    synchronousReplicas: z.int().min(0).max(8),
    enablePooler: z.boolean(),
    poolerMode: z.enum(POOLER_MODES),
    enableLoadBalancer: z.boolean(),
    allowedCidrs: z.string().max(2400).nullable().describe('Networks that may use the load balancer; null for all'),
    backupEnabled: z.boolean().describe('True where the platform has a backup target, when absent'),
    backupSchedule: z.string().max(100).regex(new RegExp(CRON_PATTERN), 'must be five fields of crontab'),
    backupRetentionDays: z.int().min(1).max(365),
    deletionProtection: z.boolean(),
    finalSnapshotOnDelete: z.boolean(),
    tags: Tags,
  },
)
export type RelationalBody = z.output<typeof relationalRecord.body>
export type RelationalClusterDto = z.output<typeof relationalRecord.dto>

/** Whether it is backed up, as far as intent says: where the spec is silent, whether the platform has a target. */
export function isBackedUp(spec: Pick<RelationalSpec, 'backupEnabled'>, hasTarget: boolean): boolean {
  return spec.backupEnabled ?? hasTarget
}

export function relationalDto(view: RelationalView): RelationalClusterDto {
  const { spec, status } = view.object
  const plan = planOf(view.services, 'Relational', spec)
  const planId = shownPlan(spec, plan)
  const { restoreFrom } = spec
  return {
    ...headOf(view as unknown as ResourceView, COLLECTION),
    restoredFrom:
      restoreFrom === undefined
        ? null
        : {
            clusterName: restoreFrom.clusterName,
            snapshotId: restoreFrom.snapshotId,
            targetTime: restoreFrom.targetTime ?? null,
          },
    currentPrimary: status?.currentPrimary ?? null,
    publicEndpoint: status?.publicEndpoint ?? null,
    readyReplicas: status?.readyReplicas ?? null,
    archiving: status?.archiving ?? 'Disabled',
    lastBackupAt: status?.lastBackupAt ?? null,
    firstRecoverableAt: status?.firstRecoverableAt ?? null,
    ...effectiveSizes(spec, plan),
    computePlan: planId,
    resourcePlanId: planId,
    walStorageSize: spec.walStorageSize ?? null,
    replicas: spec.replicas ?? plan?.spec.replicas ?? null,
    engineVersion: spec.engineVersion,
    imageName: spec.imageName ?? null,
    databaseName: spec.databaseName,
    ownerName: spec.ownerName,
    extensions: spec.extensions,
    parameters: spec.parameters,
    synchronousReplicas: spec.synchronousReplicas,
    enablePooler: spec.enablePooler,
    poolerMode: spec.poolerMode,
    enableLoadBalancer: spec.enableLoadBalancer,
    allowedCidrs: spec.allowedCidrs ?? null,
    backupEnabled: isBackedUp(spec, view.services.relational.hasBackupTarget),
    backupSchedule: spec.backupSchedule,
    backupRetentionDays: spec.backupRetentionDays,
    deletionProtection: spec.deletionProtection,
    finalSnapshotOnDelete: spec.finalSnapshotOnDelete,
    tags: spec.tags,
  }
}

/** Fields of the spec that no body shows. */
const HIDDEN = [
  'running',
  'restartedAt',
  'onDelete',
  'archivingSuspended',
  'restoreFrom',
  'takesOver',
  'connectTo',
] as const

export function hiddenFields(spec: RelationalSpec | undefined): Partial<RelationalSpec> {
  return spec === undefined ? {} : Object.fromEntries(HIDDEN.map((field) => [field, spec[field]]))
}

/** The stored form, where an absent size means the plan's: what a merge patch is laid over. */
export function storedBody({ spec }: RelationalObject): RelationalBody {
  const shown = Object.entries(spec).filter(([field]) => !(HIDDEN as readonly string[]).includes(field))
  return Object.fromEntries(shown.filter(([, value]) => !isEqual(value, undefined))) as RelationalBody
}
