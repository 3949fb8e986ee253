import { z } from 'zod'
import {
  type Backup,
  backupLocationObstacle,
  backupStartOf,
  expiryOf,
  failureOf,
  findLastEndedBackup,
  phaseOf,
  selectBackedUpVolumes,
  USE_FILES,
  volumeBackupsObstacle,
} from '../../contracts/backups.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { BackupPolicyField, type BackupPolicySpec } from '../../crds/containerFields.ts'
import { ContainerInstance, completeInstance, completeSpec } from '../../crds/containerinstances.ts'
import { veleroBackup } from '../../kube/velero.ts'
import { noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { checkSpec, withoutAbsent } from '../records/specs.ts'
import { changeResource } from '../resources/change.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, ignoredFields, Uuid } from '../resources/dto.ts'
import { findResource, locateResource, otherClusterOf, type ResourceLocation } from '../resources/find.ts'
import { nextRunAt } from '../resources/nextRunAt.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { requireInstanceReadRights } from './record.ts'

type Stored = RecordOf<typeof ContainerInstance>

const BackupRunDto = namedRecord('BackupRunDto', {
  id: Uuid,
  startedAt: DateTime,
  finishedAt: DateTime.nullable(),
  phase: z.string().describe('In the words of Velero, such as InProgress or Completed'),
  sizeBytes: z.int().nullable().describe('Null: Velero does not say how large a backup is'),
  expiresAt: DateTime,
  message: z.string().nullable(),
})
type BackupRunDto = z.output<typeof BackupRunDto>

const policyFields = BackupPolicyField.shape
/** Computed fields, which bodies may repeat so that a policy can be sent back as read. */
const computed = {
  status: z.enum(['Active', 'Paused', 'Failing']),
  lastBackup: BackupRunDto.nullable().describe('The newest one that is over'),
  nextRunAt: DateTime.nullable().describe('Null while paused'),
  backups: z.array(BackupRunDto).describe('The 20 newest'),
}
const BackupPolicyDto = namedRecord('BackupPolicyDto', {
  ...policyFields,
  keepLast: policyFields.keepLast
    .unwrap()
    .nullable()
    .describe(policyFields.keepLast.description ?? ''),
  volumes: policyFields.volumes
    .unwrap()
    .nullable()
    .describe(policyFields.volumes.description ?? ''),
  ...computed,
})

const { schedule, retentionDays, enabled, keepLast, method, volumes, hooks } = policyFields
const BackupPolicySpecDto = strictRecord('BackupPolicySpecDto', {
  schedule,
  retentionDays,
  ...Object.fromEntries(
    Object.entries({ enabled, keepLast, method, volumes, hooks }).map(([name, field]) => [
      name,
      field
        .unwrap()
        .nullish()
        .describe(field.description ?? ''),
    ]),
  ),
  ...ignoredFields(Object.keys(computed)),
})

const SHOWN_RUNS_MAX = 20

/** `.../backup-policy`: the backup policy of an instance and its backups. */
export function backupPolicyRoutes(base: string): RouteDraft[] {
  const path: string = `${base}/backup-policy`
  const write = action('containerinstance/write')
  return [
    route('GET', path, {
      auth: action('containerinstance/read'),
      summary: 'How its volumes are backed up',
      reply: BackupPolicyDto,
      handler: async (context) => {
        const { object } = await findResource(ContainerInstance, context)
        return ok(await policyDto(object, context.services), { etag: etagOf(object) })
      },
    }),
    route('PUT', path, {
      auth: write,
      summary: 'Sets how its volumes are backed up',
      body: BackupPolicySpecDto,
      reply: BackupPolicyDto,
      handler: put,
    }),
    route('DELETE', path, {
      auth: write,
      summary: 'Stops backing up its volumes',
      handler: async (context) => {
        const located = await locateResource(context, 'name')
        await changeResource(ContainerInstance, located, context, ({ spec: { backupPolicy, ...rest } }) => {
          if (backupPolicy === undefined) throw noPolicy(located.location.name)
          return rest
        })
        return noContent()
      },
    }),
    listRoute(`${path}/backups`, {
      auth: action('containerinstance/read'),
      summary: 'The backups of its volumes, newest first; also those that a deleted policy took',
      dto: BackupRunDto,
      columns: {
        startedAt: dateTime('Started'),
        finishedAt: dateTime('Finished'),
        phase: enumeration('Phase', undefined, { isSearched: true }),
        expiresAt: dateTime('Expires'),
        message: text('Message', { isFiltered: false, isSorted: false, isShown: false, isSearched: true }),
      },
      sort: '-startedAt',
      rows: async (context) => {
        const { object } = await findResource(ContainerInstance, context)
        return (await backupsOf(object, context.services)).map(runOf)
      },
    }),
  ]
}

const noPolicy = (name: string) => notFound(`A backup policy of "${name}"`)

async function put(context: Context<string, unknown, z.output<typeof BackupPolicySpecDto>>) {
  const located = await locateResource(context, 'name')
  const given = Object.entries(context.body).filter(([name]) => !Object.hasOwn(computed, name))
  const backupPolicy = BackupPolicyField.parse(withoutAbsent(Object.fromEntries(given)))
  const { object } = await changeResource(ContainerInstance, located, context, async (stored) => {
    const spec = { ...stored.spec, backupPolicy }
    // Check the rules first: their violations do not depend on the backup target.
    checkSpec(ContainerInstance, spec, stored.spec)
    await refuse(stored, backupPolicy, context, located.location)
    return spec
  })
  return ok(await policyDto(object, context.services), { etag: etagOf(object) })
}

/** @throws PlatformError FORBIDDEN, BACKUP_TARGET_MISSING, SNAPSHOT_CLASS_MISSING */
async function refuse(
  stored: Stored,
  backupPolicy: BackupPolicySpec,
  context: Context,
  location: ResourceLocation,
): Promise<void> {
  const { services } = context
  const draft = { ...completeSpec(stored.spec), backupPolicy }
  requireInstanceReadRights(draft, { ...location, services, context, previous: stored })
  // A paused policy needs no target.
  if (!backupPolicy.enabled) return
  const clusterId = otherClusterOf(services, draft.clusterId)
  const means = { target: await services.backups.target(clusterId), classes: await services.backups.classes(clusterId) }
  const found = volumeBackupsObstacle(
    means,
    selectBackedUpVolumes(draft.volumes, backupPolicy),
    backupPolicy,
    USE_FILES,
  )
  if (found === undefined) return
  const { code, message, volume } = found
  throw new PlatformError(
    code,
    message,
    volume === undefined ? { field: 'enabled' } : { field: 'method', value: volume },
  )
}

/** @throws PlatformError NOT_FOUND */
async function policyDto(object: Stored, services: Services): Promise<z.input<typeof BackupPolicyDto>> {
  const policy = completeInstance(object).spec.backupPolicy
  if (policy === undefined) throw noPolicy(object.metadata.name)
  const clusterId = otherClusterOf(services, object.spec.clusterId)
  const backups = await backupsOf(object, services)
  const last = findLastEndedBackup(backups)
  const isFailing =
    backupLocationObstacle(await services.backups.target(clusterId)) !== undefined ||
    (last !== undefined && failureOf(last) !== undefined)
  return {
    ...policy,
    keepLast: policy.keepLast ?? null,
    volumes: policy.volumes ?? null,
    status: !policy.enabled ? 'Paused' : isFailing ? 'Failing' : 'Active',
    lastBackup: last === undefined ? null : runOf(last),
    nextRunAt: policy.enabled ? nextRunAt(services, policy.schedule) : null,
    backups: backups.slice(0, SHOWN_RUNS_MAX).map(runOf),
  }
}

/** Returns all backups, newest first. They remain until they expire, whatever happens to the policy. */
function backupsOf({ metadata, spec }: Stored, services: Services): Promise<Backup[]> {
  const clusterId = otherClusterOf(services, spec.clusterId)
  return services.backups.of(metadata.annotations?.[INCARNATION_ANNOTATION] ?? '', clusterId)
}

function runOf(backup: Backup): BackupRunDto {
  const { metadata, status = {} } = backup
  return {
    id: objectId(veleroBackup, metadata),
    startedAt: backupStartOf(backup),
    finishedAt: status.completionTimestamp ?? null,
    phase: phaseOf(backup),
    sizeBytes: null,
    expiresAt: expiryOf(backup),
    message: failureOf(backup) ?? null,
  }
}
