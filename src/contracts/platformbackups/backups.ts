import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import { type Backup, failureOf, newestFirst, phaseOf, startOf } from '../backups.ts'
import { PLATFORM_SCHEDULE, SCHEDULE_LABEL, TRIGGER_ANNOTATION } from './names.ts'

/** Backups of the platform itself: which they are, who asked for them, and what one of them is made of. */

export const TRIGGERS = ['Manual', 'Scheduled', 'Rollout'] as const
export type Trigger = (typeof TRIGGERS)[number]

/** The Schedule of Velero. */
export type Schedule = KubeObject & {
  spec?: { schedule?: string; paused?: boolean; template?: object }
  status?: { phase?: string; lastBackup?: string; validationErrors?: readonly string[] }
}

export function isOfPlatform({ metadata: { labels } }: Pick<KubeObject, 'metadata'>): boolean {
  return labels?.[SCHEDULE_LABEL] === PLATFORM_SCHEDULE
}

export function triggerOf({ metadata: { annotations } }: Pick<KubeObject, 'metadata'>): Trigger {
  const said = annotations?.[TRIGGER_ANNOTATION]
  return TRIGGERS.find((trigger) => trigger === said) ?? 'Scheduled'
}

/** Phases in which Velero does nothing more with a backup. */
const OVER: ReadonlySet<string> = new Set(['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation', 'Deleting'])

export const isPhaseOver = (phase: string): boolean => OVER.has(phase)

export function isUnderWay(backup: Backup): boolean {
  return !isPhaseOver(phaseOf(backup))
}

/**
 * What one that did not go well says of itself. In Velero's own words, where it has any: only administrators are shown them.
 * Undefined of all others.
 */
export function platformFailureOf(backup: Backup): string | undefined {
  const failure = failureOf(backup)
  const { failureReason, validationErrors = [] } = backup.status ?? {}
  return failure && (plainLine(failureReason ?? validationErrors.join('; '), REASON_MAX) || failure)
}
const REASON_MAX = 1024

/** Milliseconds for which a backup that was asked for keeps others from being asked for (interface section 8). */
const BLOCKING = 3 * 3_600_000

/** The backup that somebody asked for and that is under way; undefined if another may be asked for. */
export function blockingBackup<B extends Backup>(backups: readonly B[], now: number): B | undefined {
  const blocks = (backup: B) =>
    triggerOf(backup) === 'Manual' && isUnderWay(backup) && Date.parse(startOf(backup)) > now - BLOCKING
  return newestFirst(backups).find((backup) => blocks(backup as B)) as B | undefined
}

/**
 * A backup of what the Schedule backs up, now. It carries the label of the Schedule, by which it is found, and lives as long as
 * those that are taken by the clock.
 *
 * @param startedBy id of the principal who asked for it
 */
export function backupFrom(
  schedule: Schedule,
  { name, trigger, startedBy }: { name: string; trigger: Exclude<Trigger, 'Scheduled'>; startedBy: string },
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

/** A name that no other backup has, as the clock of Velero makes them: the second, and a few characters of chance. */
export function backupName(trigger: Exclude<Trigger, 'Scheduled'>, now: number, chance: string): string {
  const second = new Date(now).toISOString().replace(/\D/g, '').slice(0, 14)
  return `platform-${trigger.toLowerCase()}-${second}-${chance}`
}
