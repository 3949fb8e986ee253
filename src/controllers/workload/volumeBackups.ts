import {
  type Backup,
  type BackupLocation,
  backupScheduleName,
  backupStartOf,
  type CoveredVolume,
  failureOf,
  findLastEndedBackup,
  listSurplusBackups,
  phaseOf,
  selectBackupLocation,
  volumeBackupsObstacle,
} from '../../contracts/backups.ts'
import { type KubeObject, keyOf } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import {
  backupDeletion,
  backupSchedule,
  type VolumeBackups,
  volumePolicy,
} from '../../desired/workload/volumeBackups.ts'
import { configMap } from '../../kube/builtin.ts'
import {
  veleroBackup,
  veleroBackupStorageLocation,
  veleroDeleteBackupRequest,
  veleroSchedule,
  volumeSnapshotClass,
} from '../../kube/velero.ts'
import type { Observed, Pass, Workspace } from '../engine/controller.ts'
import { volumeClasses } from './volumeClasses.ts'

const INSTALL_VELERO =
  'Backups of volumes need Velero, which is not installed in the cluster: an administrator installs it with its node agent, its feature EnableCSI and a default BackupStorageLocation.'

/** Kinds of a resource's children in Velero's namespace. */
export const BACKUP_CHILDREN = [veleroSchedule, veleroDeleteBackupRequest, configMap]

/**
 * Backups inherit labels and annotations from their Schedule, so they wake the resource as its children do.
 *
 * @param isWanted whether a spec asks for backups
 */
export function backupObservers<Spec extends object>(
  { resource }: AnyKind,
  isWanted: (spec: Spec) => boolean,
): Observed[] {
  const wanting = (_: KubeObject, records: Workspace) =>
    records
      .cache<KubeObject & { spec: Spec }>(resource)
      .list()
      .filter(({ spec }) => isWanted(spec))
      .map(keyOf)
  return [
    ...BACKUP_CHILDREN,
    veleroBackup,
    { resource: veleroBackupStorageLocation, keysOf: wanting, relevant: relevantOfLocation },
    { resource: volumeSnapshotClass, keysOf: wanting },
  ]
}

/** Velero updates a location every minute; only its verdict matters. */
function relevantOfLocation(object: KubeObject): unknown {
  const { spec, status } = object as BackupLocation
  return [spec, status?.phase]
}

type BackupPass = Pick<Pass, 'workloads' | 'children'> & { readonly object: Pick<KubeObject, 'kind' | 'metadata'> }
type Wanted = Pick<VolumeBackups, 'shared' | 'policy' | 'claims' | 'hooks'> & {
  volumes: readonly CoveredVolume[]
  /** What the owner can do if there are no snapshots. */
  withoutSnapshots: string
}

export type BackupState = {
  /** Why there are no backups; undefined if nothing prevents them. */
  obstacle?: Outcome | undefined
  /** Why they fail. */
  failure?: Outcome | undefined
  /** Whether there is a Schedule. */
  isScheduled: boolean
  lastBackup?: { name: string; phase: string; startedAt: string; completedAt: string | undefined } | undefined
}

/**
 * Keeps the Schedule as the policy says. What was taken stays until it expires, whatever happens to the policy, and a
 * Schedule stays while its target is not available.
 *
 * @param velero its namespace
 * @param wanted undefined to stop further backups
 */
export async function keepVolumeBackups(
  pass: BackupPass,
  velero: string,
  wanted: Wanted | undefined,
): Promise<BackupState> {
  if (wanted === undefined) {
    await removeBackups(pass)
    return { isScheduled: false }
  }
  const { object, workloads, children } = pass
  if (!workloads.isServed(veleroSchedule))
    return { isScheduled: false, obstacle: stalled('EngineMissing', INSTALL_VELERO) }
  const { policy } = wanted
  const target = selectBackupLocation(
    workloads.cache<BackupLocation>(veleroBackupStorageLocation).list({ namespace: velero }),
  )
  const means = { target, classes: volumeClasses(workloads) }
  const { volumes, withoutSnapshots } = wanted
  const obstacle = policy.enabled ? volumeBackupsObstacle(means, volumes, policy, withoutSnapshots)?.message : undefined
  if (obstacle === undefined && target !== undefined) {
    const backups = { ...wanted, object, velero, target }
    await children.ensure(volumePolicy(backups), { resource: configMap })
    await children.ensure(backupSchedule(backups), { resource: veleroSchedule })
  } else if (!policy.enabled) {
    await children.prune(veleroSchedule, [])
  }
  const schedule = await children.get<Schedule>(veleroSchedule, velero, backupScheduleName(object))
  return {
    obstacle: obstacle === undefined ? undefined : stalled('ConfigurationInvalid', obstacle),
    isScheduled: schedule !== undefined || (obstacle === undefined && target !== undefined),
    ...(await observeBackups(pass, velero, wanted, schedule)),
  }
}

type Schedule = KubeObject & { status?: { phase?: string } }

async function observeBackups(
  { children }: BackupPass,
  velero: string,
  { shared, policy: { keepLast } }: Wanted,
  schedule: Schedule | undefined,
): Promise<Pick<BackupState, 'failure' | 'lastBackup'>> {
  const backups = children.owned<Backup>(veleroBackup)
  for (const { metadata } of listSurplusBackups(backups, keepLast))
    await children.ensure(backupDeletion({ shared, velero }, metadata.name), { resource: veleroDeleteBackupRequest })
  const last = findLastEndedBackup(backups)
  const lastBackup = last && {
    name: last.metadata.name,
    phase: phaseOf(last),
    startedAt: backupStartOf(last),
    completedAt: last.status?.completionTimestamp,
  }
  if (schedule?.status?.phase === 'FailedValidation')
    return { lastBackup, failure: stalled('EngineRefused', 'Velero refused the schedule of the backups.') }
  const message = last && failureOf(last)
  const failure = message === undefined ? undefined : degraded('BackupFailing', `The last backup failed. ${message}`)
  return { lastBackup, failure }
}

/** Stops further backups: a step of deletions. */
export async function removeBackups({ object, workloads, children }: BackupPass): Promise<Outcome> {
  if (workloads.isServed(veleroSchedule)) await children.prune(veleroSchedule, [])
  const name = backupScheduleName(object)
  for (const { metadata } of children.owned(configMap))
    if (metadata.name === name) await children.remove(configMap, metadata.namespace, name)
  return done()
}
