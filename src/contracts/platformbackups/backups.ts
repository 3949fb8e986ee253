import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import { type Backup, backupStartOf, failureOf, phaseOf, sortBackupsNewestFirst } from '../backups.ts'
import { PLATFORM_SCHEDULE, SCHEDULE_LABEL, TRIGGER_ANNOTATION } from './names.ts'

/** Backups of the platform itself: which they are, who requested them, and how one is made. */

export const BACKUP_TRIGGERS = ['Manual', 'Scheduled', 'Rollout'] as const
export type BackupTrigger = (typeof BACKUP_TRIGGERS)[number]

/** A Velero Schedule. */
export type VeleroSchedule = KubeObject & {
  spec?: { schedule?: string; paused?: boolean; template?: object }
  status?: { phase?: string; lastBackup?: string; validationErrors?: readonly string[] }
}

export function isPlatformBackup({ metadata: { labels } }: Pick<KubeObject, 'metadata'>): boolean {
  return labels?.[SCHEDULE_LABEL] === PLATFORM_SCHEDULE
}

export function triggerOf({ metadata: { annotations } }: Pick<KubeObject, 'metadata'>): BackupTrigger {
  const annotation = annotations?.[TRIGGER_ANNOTATION]
  return BACKUP_TRIGGERS.find((trigger) => trigger === annotation) ?? 'Scheduled'
}

/** Phases after which Velero does nothing more with a backup. */
const FINAL_PHASES: ReadonlySet<string> = new Set([
  'Completed',
  'PartiallyFailed',
  'Failed',
  'FailedValidation',
  'Deleting',
])

export const isFinalBackupPhase = (phase: string): boolean => FINAL_PHASES.has(phase)

export function isBackupInProgress(backup: Backup): boolean {
  return !isFinalBackupPhase(phaseOf(backup))
}

/**
 * Returns why a backup failed, in Velero's own words if it has any, because only administrators see them. Undefined for
 * all others.
 */
export function platformFailureOf(backup: Backup): string | undefined {
  const failure = failureOf(backup)
  const { failureReason, validationErrors = [] } = backup.status ?? {}
  return failure && (plainLine(failureReason ?? validationErrors.join('; '), REASON_MAX) || failure)
}
const REASON_MAX = 1024

/** Milliseconds for which a requested backup blocks further requests (interface section 8). */
const BLOCKING_PERIOD_MS = 3 * 3_600_000

/** Returns the requested backup that is in progress; undefined if another one may be requested. */
export function blockingBackup<B extends Backup>(backups: readonly B[], now: number): B | undefined {
  const blocks = (backup: B) =>
    triggerOf(backup) === 'Manual' &&
    isBackupInProgress(backup) &&
    Date.parse(backupStartOf(backup)) > now - BLOCKING_PERIOD_MS
  return sortBackupsNewestFirst(backups).find((backup) => blocks(backup as B)) as B | undefined
}

/**
 * Builds a backup of what the Schedule backs up. It carries the label of the Schedule, by which it is found, and is
 * kept as long as scheduled backups.
 *
 * @param startedBy id of the principal who requested it
 */
export function buildBackupFromSchedule(
  schedule: VeleroSchedule,
  { name, trigger, startedBy }: { name: string; trigger: Exclude<BackupTrigger, 'Scheduled'>; startedBy: string },
): KubeObject {
  const { metadata: _, ...spec } = (schedule.spec?.template ?? {}) as { metadata?: object }
  const { namespace = '' } = schedule.metadata
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: {
      name,
      namespace,
      labels: { [SCHEDULE_LABEL]: PLATFORM_SCHEDULE },
      annotations: { [TRIGGER_ANNOTATION]: trigger, [CREATED_BY_ANNOTATION]: startedBy },
    },
    spec,
  }
}

/** Returns a unique name, formed like those of Velero's scheduled backups: the second, and a few random characters. */
export function platformBackupName(trigger: Exclude<BackupTrigger, 'Scheduled'>, now: number, suffix: string): string {
  const second = new Date(now).toISOString().replace(/\D/g, '').slice(0, 14)
  return `platform-${trigger.toLowerCase()}-${second}-${suffix}`
}
