import { z } from 'zod'
import { phaseOf } from '../../contracts/backups.ts'
import {
  ARCHIVE_STATES,
  type ArchiveStore,
  archiveOf,
  type DatabaseCluster,
  recoveryWindowOf,
  suspensionStateOf,
  type WalStatistics,
} from '../../contracts/platformbackups/archives.ts'
import { BACKUP_TRIGGERS, platformFailureOf, triggerOf } from '../../contracts/platformbackups/backups.ts'
import { CONDITION_TYPES, OVERALL_STATES } from '../../contracts/platformbackups/conditions.ts'
import { PLATFORM_BACKUP_LABEL, SUSPENDED_ANNOTATION } from '../../contracts/platformbackups/names.ts'
import { createdByOf } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import type { SuspendedArchive } from '../../crds/platformBackups.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { DateTime } from '../resources/dto.ts'
import type { DatabaseBackup, PlatformBackup } from './cluster.ts'

/** Records of the platform's own backups (interface section 4.21). */

const MESSAGE_MAX = 1024

export const PlatformBackupDto = namedRecord('PlatformBackupDto', {
  name: z.string(),
  trigger: z
    .enum(BACKUP_TRIGGERS)
    .describe('Manual: requested by a person; Scheduled: by the schedule; Rollout: before a rollout'),
  phase: z.string().describe('Phase, as Velero reports it, such as Queued, InProgress or Completed'),
  queuePosition: z.int().nullable(),
  startedAt: DateTime.nullable(),
  completedAt: DateTime.nullable(),
  expiresAt: DateTime.nullable().describe('When Velero deletes it'),
  itemsTotal: z.int().nullable(),
  itemsDone: z.int().nullable(),
  warnings: z.int().nullable(),
  errors: z.int().nullable(),
  failureReason: z.string().nullable(),
  startedBy: z.string().nullable().describe('Id of the principal who requested it'),
  databases: z
    .array(z.object({ namespace: z.string(), name: z.string(), phase: z.string() }))
    .describe('Databases of the platform that were backed up with it'),
})
export type PlatformBackupRecord = z.output<typeof PlatformBackupDto>

export function backupDto(backup: PlatformBackup, databases: readonly DatabaseBackup[]): PlatformBackupRecord {
  const { metadata, status = {} } = backup
  const { progress = {}, phase, completionTimestamp } = status
  // Velero omits zeros, and has no counts for a backup that it did not finish.
  const absentCount = completionTimestamp === undefined || phase === 'Failed' ? null : 0
  return {
    name: metadata.name,
    trigger: triggerOf(backup),
    phase: phaseOf(backup),
    queuePosition: status.queuePosition ?? null,
    startedAt: status.startTimestamp ?? null,
    completedAt: status.completionTimestamp ?? null,
    expiresAt: status.expiration ?? null,
    itemsTotal: progress.totalItems ?? null,
    itemsDone: progress.itemsBackedUp ?? null,
    warnings: status.warnings ?? absentCount,
    errors: status.errors ?? absentCount,
    failureReason: platformFailureOf(backup) ?? null,
    startedBy: createdByOf(metadata),
    databases: databases
      .filter(({ metadata: { labels } }) => labels?.[PLATFORM_BACKUP_LABEL] === metadata.name)
      .map(({ metadata: meta, spec, status: now }) => ({
        namespace: meta.namespace ?? '',
        name: spec?.cluster?.name ?? '',
        phase: now?.phase ?? 'pending',
      })),
  }
}

export const ArchivingClusterRequest = strictRecord('ArchivingClusterRequest', {
  namespace: z.string().max(256).nullish(),
  name: z.string().max(256).nullish(),
})

export const ArchivingClusterDto = namedRecord('ArchivingClusterDto', {
  namespace: z.string(),
  name: z.string().describe('Name of the Cluster of CloudNativePG'),
  archiving: z
    .enum(ARCHIVE_STATES)
    .describe('Pressure: archiving fails, and the log fills its volume; ResumePending: until a base backup is begun'),
  walReadyCount: z.int().nullable().describe('Files that wait for the archive; null where nobody measures'),
  walVolumePercent: z.number().nullable().describe('How much of its volume the log fills'),
  lastArchivedAt: DateTime.nullable().describe('Since when archiving fails; null while it does not'),
  suspendedAt: DateTime.nullable(),
  suspendedBy: z.string().nullable(),
  firstRecoverableAt: DateTime.nullable(),
  lastBackupAt: DateTime.nullable(),
  message: z.string().nullable().describe('Why archiving fails, in the words of the engine'),
})
export type ArchivingRecord = z.output<typeof ArchivingClusterDto>

/** A database with everything that its record shows. */
export type ObservedDatabase = {
  cluster: DatabaseCluster
  /** The object with the suspension annotations: the Cluster, or the resource that it was created for. */
  annotated: Pick<KubeObject, 'metadata'>
  /** Its entry in the settings; undefined if there is none. */
  suspension: SuspendedArchive | undefined
  statistics: WalStatistics | undefined
  stores: readonly ArchiveStore[]
}

export function archiveIn({ cluster, annotated, suspension, statistics }: ObservedDatabase) {
  return archiveOf(cluster, suspensionStateOf(annotated, suspension !== undefined), statistics)
}

export function archivingDto(observed: ObservedDatabase): ArchivingRecord {
  const { cluster, annotated, suspension, statistics, stores } = observed
  const { state, lastArchivedAt, message } = archiveIn(observed)
  const [at, actor] = annotated.metadata.annotations?.[SUSPENDED_ANNOTATION]?.split(' ') ?? []
  const window = recoveryWindowOf(cluster, stores)
  const isSuspended = state === 'Suspended'
  return {
    namespace: cluster.metadata.namespace ?? '',
    name: cluster.metadata.name,
    archiving: state,
    walReadyCount: statistics?.readyCount ?? null,
    walVolumePercent: statistics?.volumePercent ?? null,
    lastArchivedAt: lastArchivedAt ?? null,
    suspendedAt: (isSuspended && (suspension?.suspendedAt ?? at)) || null,
    suspendedBy: (isSuspended && (suspension?.suspendedBy ?? actor)) || null,
    firstRecoverableAt: window?.firstRecoverabilityPoint ?? null,
    lastBackupAt: window?.lastSuccessfulBackupTime ?? null,
    message: message === undefined ? null : plainLine(message, MESSAGE_MAX),
  }
}

export const BackupConditionsDto = namedRecord('BackupConditionsDto', {
  observedAt: DateTime,
  overall: z.enum(OVERALL_STATES),
  conditions: z.array(
    namedRecord('BackupConditionDto', {
      type: z.enum(CONDITION_TYPES),
      status: z.enum(['True', 'False', 'Unknown']),
      reason: z.string(),
      message: z.string(),
      since: DateTime,
    }),
  ),
  databases: z.array(ArchivingClusterDto),
})
