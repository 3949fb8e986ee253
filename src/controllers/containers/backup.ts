import {
  type Backup,
  type BackupLocation,
  backupLocationObstacle,
  backupScheduleName,
  backupStartOf,
  failureOf,
  findLastEndedBackup,
  listSurplusBackups,
  phaseOf,
  type SnapshotClass,
  type StorageClass,
  selectBackupLocation,
  snapshotObstacle,
} from '../../contracts/backups.ts'
import { type KubeObject, keyOf } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled } from '../../core/outcome.ts'
import type { BackupPolicySpec } from '../../crds/containerFields.ts'
import type { AnyKind } from '../../crds/define.ts'
import { backupDeletion, backupSchedule, volumePolicy } from '../../desired/containers/backup.ts'
import { configMap, storageClass } from '../../kube/builtin.ts'
import {
  veleroBackup,
  veleroBackupStorageLocation,
  veleroDeleteBackupRequest,
  veleroSchedule,
  volumeSnapshotClass,
} from '../../kube/velero.ts'
import type { Observed, Workspace } from '../engine/controller.ts'
import type { ContainerOptions, InstancePass, InstanceStep } from './types.ts'

const INSTALL_VELERO =
  'A backup policy needs Velero, which is not installed in the cluster: an administrator installs it with its node agent and a default BackupStorageLocation.'

/** Kinds of an instance's children in Velero's namespace. */
export const BACKUP_CHILDREN = [veleroSchedule, veleroDeleteBackupRequest, configMap]

/** Backups inherit labels and annotations from their Schedule, so they wake the instance as its children do. */
export function backupObservers({ resource }: AnyKind): Observed[] {
  const withPolicy = (_: KubeObject, records: Workspace) =>
    records
      .cache<KubeObject & { spec: { backupPolicy?: object } }>(resource)
      .list()
      .filter(({ spec }) => spec.backupPolicy !== undefined)
      .map(keyOf)
  return [
    ...BACKUP_CHILDREN,
    veleroBackup,
    { resource: veleroBackupStorageLocation, keysOf: withPolicy, relevant: relevantOfLocation },
    { resource: volumeSnapshotClass, keysOf: withPolicy },
  ]
}

/** Velero updates a location every minute; only its verdict matters. */
function relevantOfLocation(object: KubeObject): unknown {
  const { spec, status } = object as BackupLocation
  return [spec, status?.phase]
}

/** Keeps the Schedule as the policy says. Existing backups stay until they expire, whatever happens to the policy. */
export function keepBackups({ backupNamespace: velero }: ContainerOptions): InstanceStep {
  return async function keepBackups(pass: InstancePass): Promise<Outcome> {
    const { object, workloads, state, children } = pass
    const policy = object.spec.backupPolicy
    if (policy === undefined) {
      pass.report({ lastBackup: undefined })
      return removeBackups(pass)
    }
    if (!workloads.isServed(veleroSchedule)) {
      state.backup = stalled('EngineMissing', INSTALL_VELERO)
      return done()
    }
    const target = selectBackupLocation(
      workloads.cache<BackupLocation>(veleroBackupStorageLocation).list({ namespace: velero }),
    )
    const obstacle = policy.enabled ? obstacleOf(pass, policy, target) : undefined
    if (obstacle !== undefined) state.backup = stalled('ConfigurationInvalid', obstacle)
    if (obstacle === undefined && target !== undefined) {
      const input = { instance: object, policy, velero, target }
      await children.ensure(volumePolicy(input), { resource: configMap })
      await children.ensure(backupSchedule(input), { resource: veleroSchedule })
    } else if (!policy.enabled) {
      await children.prune(veleroSchedule, [])
    }
    await observeBackups(pass, policy, velero)
    return done()
  }
}

function obstacleOf(
  { object, workloads }: InstancePass,
  policy: BackupPolicySpec,
  target: BackupLocation | undefined,
): string | undefined {
  const classes = {
    storage: workloads.cache<StorageClass>(storageClass).list(),
    snapshot: workloads.cache<SnapshotClass>(volumeSnapshotClass).list(),
  }
  return backupLocationObstacle(target) ?? snapshotObstacle(object.spec.volumes, policy, classes)?.message
}

type Schedule = KubeObject & { status?: { phase?: string } }

async function observeBackups(pass: InstancePass, { keepLast }: BackupPolicySpec, velero: string): Promise<void> {
  const { object, state, children } = pass
  const backups = children.owned<Backup>(veleroBackup)
  for (const { metadata } of listSurplusBackups(backups, keepLast))
    await children.ensure(backupDeletion({ instance: object, velero }, metadata.name), {
      resource: veleroDeleteBackupRequest,
    })
  const last = findLastEndedBackup(backups)
  pass.report({
    lastBackup: last && {
      name: last.metadata.name,
      phase: phaseOf(last),
      startedAt: backupStartOf(last),
      completedAt: last.status?.completionTimestamp,
    },
  })
  const schedule = await children.get<Schedule>(veleroSchedule, velero, backupScheduleName(object))
  if (schedule?.status?.phase === 'FailedValidation')
    state.backup ??= stalled('EngineRefused', 'Velero refused the schedule of the backup policy.')
  const failure = last && failureOf(last)
  if (failure !== undefined) state.backup ??= degraded('BackupFailing', `The last backup failed. ${failure}`)
}

/** Stops further backups. */
export async function removeBackups(pass: InstancePass): Promise<Outcome> {
  if (pass.workloads.isServed(veleroSchedule)) await pass.children.prune(veleroSchedule, [])
  await pass.children.prune(configMap, [])
  return done()
}
