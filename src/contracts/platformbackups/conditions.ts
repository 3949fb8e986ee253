import { timestamp } from '../../core/clock.ts'
import { createdAtOf, type KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import { type Backup, type BackupLocation, backupStartOf, findLastEndedBackup, phaseOf } from '../backups.ts'
import type { ArchiveState } from './archives.ts'
import { platformFailureOf, type VeleroSchedule } from './backups.ts'
import { PLATFORM_SCHEDULE } from './names.ts'

/** Whether the platform's backups can be relied on: one condition for each requirement (interface section 4.21). */

export const CONDITION_TYPES = [
  'TargetAvailable',
  'ScheduleActive',
  'LastBackupSucceeded',
  'LastBackupFresh',
  'CrdsMatch',
  'RestoreTested',
] as const
export type BackupCondition = {
  type: (typeof CONDITION_TYPES)[number]
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  /** RFC 3339; since when this is known. */
  since: string
}

export const OVERALL_STATES = ['Healthy', 'Degraded', 'Failing'] as const
export type OverallState = (typeof OVERALL_STATES)[number]

export type Restore = KubeObject & {
  spec?: { backupName?: string }
  status?: { phase?: string; completionTimestamp?: string }
}

export type BackupLocationWithStatus = BackupLocation & { status?: { message?: string; lastValidationTime?: string } }

/** The CRD of a type, as far as it tells which fields exist. */
export type VeleroCrd = KubeObject & { spec?: { versions?: readonly { schema?: { openAPIV3Schema?: Schema } }[] } }
type Schema = { properties?: Readonly<Record<string, Schema>> }

export type BackupObservation = {
  /** Milliseconds since the epoch. */
  now: number
  location: BackupLocationWithStatus | undefined
  schedule: VeleroSchedule | undefined
  /** Backups of the platform. */
  backups: readonly Backup[]
  /** CRDs of Velero; empty if it is not installed. */
  definitions: readonly VeleroCrd[]
  restores: readonly Restore[]
}

/** Milliseconds for which a backup is fresh: a day, and two hours to take it. */
export const MAX_BACKUP_AGE_MS = 26 * 3_600_000
const MESSAGE_MAX = 1024

type ConditionDraft = Omit<BackupCondition, 'type' | 'since'> & { since?: string | undefined }

export function backupConditions(seen: BackupObservation): BackupCondition[] {
  const drafts: Record<BackupCondition['type'], ConditionDraft> = {
    TargetAvailable: targetAvailable(seen),
    ScheduleActive: scheduleActive(seen),
    LastBackupSucceeded: lastBackupSucceeded(seen),
    LastBackupFresh: lastBackupFresh(seen),
    CrdsMatch: crdsMatch(seen),
    RestoreTested: restoreTested(seen),
  }
  return CONDITION_TYPES.map((type) => ({ type, ...drafts[type], since: drafts[type].since ?? timestamp(seen.now) }))
}

/** Failing: nothing is backed up, or soon will not be. Degraded: a restore is possible, but not as it should be. */
export function overallStateOf(
  conditions: readonly BackupCondition[],
  archives: readonly ArchiveState[],
): OverallState {
  const is = (status: BackupCondition['status'], ...types: BackupCondition['type'][]) =>
    conditions.some((one) => types.includes(one.type) && one.status === status)
  if (is('False', 'TargetAvailable', 'ScheduleActive', 'LastBackupFresh', 'CrdsMatch')) return 'Failing'
  const isDegraded = archives.some((state) => state !== 'Healthy' && state !== 'NotConfigured')
  if (isDegraded || is('False', 'LastBackupSucceeded', 'RestoreTested') || is('Unknown', 'TargetAvailable'))
    return 'Degraded'
  return 'Healthy'
}

const yes = (reason: string, message: string, since?: string): ConditionDraft => ({
  status: 'True',
  reason,
  message,
  since,
})
const no = (reason: string, message: string, since?: string): ConditionDraft => ({
  status: 'False',
  reason,
  message,
  since,
})
const unknown = (reason: string, message: string, since?: string): ConditionDraft => ({
  ...{ status: 'Unknown', reason, message, since },
})

/** Says what is missing and what to do, for everything that needs Velero. */
export const INSTALL_VELERO_ADVICE =
  'Velero is not installed in the cluster, so the platform is not backed up: an administrator installs it with its plugin for AWS, and sets a target.'
const hasVelero = ({ definitions }: BackupObservation) => definitions.length > 0
const veleroMissing = () => no('EngineMissing', INSTALL_VELERO_ADVICE)

function targetAvailable(seen: BackupObservation): ConditionDraft {
  const { location } = seen
  if (!hasVelero(seen)) return veleroMissing()
  if (location === undefined) return no('NotConfigured', 'No target is set, and Velero has no default location.')
  const { phase, message = '', lastValidationTime: at } = location.status ?? {}
  if (location.spec?.accessMode === 'ReadOnly')
    return no('ReadOnly', 'The target is read-only: no backup can be written.')
  if (phase === 'Available') return yes('Available', 'Velero reaches the target.', at)
  if (phase === undefined) return unknown('NotValidated', 'Velero has not checked the target yet.')
  return no('Unavailable', plainLine(message, MESSAGE_MAX) || 'Velero cannot reach the target.', at)
}

function scheduleActive(seen: BackupObservation): ConditionDraft {
  const { schedule } = seen
  if (!hasVelero(seen)) return veleroMissing()
  if (schedule === undefined) return no('Missing', `There is no Schedule "${PLATFORM_SCHEDULE}".`)
  const since = createdAtOf(schedule.metadata)
  const { phase, validationErrors = [] } = schedule.status ?? {}
  if (schedule.spec?.paused === true) return no('Paused', 'The schedule is paused.', since)
  if (phase === 'FailedValidation')
    return no('Refused', plainLine(validationErrors.join('; '), MESSAGE_MAX) || 'Velero refuses the schedule.', since)
  return phase === 'Enabled'
    ? yes('Enabled', 'Velero takes backups on schedule.', since)
    : unknown('NotValidated', 'Velero has not checked the schedule yet.', since)
}

function lastBackupSucceeded({ backups }: BackupObservation): ConditionDraft {
  const last = findLastEndedBackup(backups)
  if (last === undefined) return unknown('NoBackup', 'No backup has ended yet.')
  const at = last.status?.completionTimestamp ?? backupStartOf(last)
  const failure = platformFailureOf(last)
  if (failure === undefined) return yes('Completed', `Backup "${last.metadata.name}" was completed.`, at)
  return no(phaseOf(last), `Backup "${last.metadata.name}" failed. ${failure}`, at)
}

export function lastSuccessfulBackup(backups: readonly Backup[]): Backup | undefined {
  return findLastEndedBackup(backups.filter(({ status }) => status?.phase === 'Completed'))
}

function lastBackupFresh({ backups, schedule, now }: BackupObservation): ConditionDraft {
  const last = lastSuccessfulBackup(backups)
  const at = last === undefined ? undefined : (last.status?.completionTimestamp ?? backupStartOf(last))
  const begun = Date.parse(at ?? (schedule === undefined ? '' : createdAtOf(schedule.metadata)))
  // NaN if nothing was ever scheduled: then nothing is fresh either.
  if (!(now - begun <= MAX_BACKUP_AGE_MS)) {
    const since = Number.isNaN(begun) ? undefined : timestamp(begun + MAX_BACKUP_AGE_MS)
    const what = at === undefined ? 'No backup was ever completed.' : `The last good backup ended at ${at}.`
    return no(at === undefined ? 'NoBackup' : 'TooOld', what, since)
  }
  if (at === undefined) return unknown('NoBackup', 'The first backup is not due yet, or in progress.')
  return yes('Fresh', `The last good backup ended at ${at}.`, at)
}

/** The fields of Velero's types that the platform writes and reads, by the name of the CRD. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  'backupstoragelocations.velero.io': ['spec.accessMode', 'spec.credential', 'spec.objectStorage.caCertRef'],
  'schedules.velero.io': ['spec.paused', 'spec.template.includedNamespaceScopedResources', 'status.validationErrors'],
  'backups.velero.io': ['spec.includedNamespaceScopedResources', 'status.progress', 'status.expiration'],
  'deletebackuprequests.velero.io': ['spec.backupName'],
}
export const VELERO_CRD_NAMES: readonly string[] = Object.keys(NEEDED)

function crdsMatch(seen: BackupObservation): ConditionDraft {
  const { definitions } = seen
  if (!hasVelero(seen)) return veleroMissing()
  const lacking = VELERO_CRD_NAMES.flatMap((name) => missingFieldsOf(name, definitions))
  const since = definitions.map(({ metadata }) => createdAtOf(metadata)).sort()[0]
  if (lacking.length === 0) return yes('Match', 'The CRDs of Velero have what the platform uses.', since)
  // The API server silently drops a field that a CRD lacks, and the backup would not be the requested one.
  const message = `The definitions of Velero lack ${lacking.join(', ')}: install those of Velero's own release.`
  return no('DefinitionsTooOld', message, since)
}

function missingFieldsOf(name: string, definitions: readonly VeleroCrd[]): string[] {
  const found = definitions.find(({ metadata }) => metadata.name === name)
  if (found === undefined) return [name]
  const schema = found.spec?.versions?.[0]?.schema?.openAPIV3Schema
  const has = (path: string) =>
    path.split('.').reduce<Schema | undefined>((at, part) => at?.properties?.[part], schema) !== undefined
  return (NEEDED[name] ?? []).filter((path) => !has(path)).map((path) => `${path} of ${name}`)
}

function restoreTested({ restores, backups }: BackupObservation): ConditionDraft {
  const backupNames = new Set(backups.map(({ metadata }) => metadata.name))
  const ended = restores
    .filter(({ spec, status }) => backupNames.has(spec?.backupName ?? '') && status?.completionTimestamp !== undefined)
    .sort((one, other) => timeOf(other).localeCompare(timeOf(one)))
  const [last] = ended
  if (last === undefined) return unknown('NeverRestored', 'None of the kept backups was ever restored.')
  const phase = last.status?.phase ?? ''
  const message = `Restore "${last.metadata.name}" ended as ${phase}.`
  return phase === 'Completed' ? yes('Restored', message, timeOf(last)) : no('RestoreFailed', message, timeOf(last))
}

const timeOf = ({ status }: Restore) => status?.completionTimestamp ?? ''
