import { ASK_FOR_SNAPSHOTS } from '../../contracts/backups.ts'
import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { sqlShared } from '../../desired/sql/types.ts'
import type { Observed } from '../engine/controller.ts'
import { planOf } from '../workload/pass.ts'
import { backupObservers, keepVolumeBackups } from '../workload/volumeBackups.ts'
import type { SqlOptions, SqlPass, SqlStep } from './types.ts'

export const SQL_BACKUP_OBSERVERS: readonly Observed[] = backupObservers<SqlPass['object']['spec']>(
  SqlInstance,
  ({ backupEnabled }) => backupEnabled !== false,
)

/**
 * Keeps the Schedule by which Velero takes snapshots of the volume. An engine recovers from one as after a power
 * failure, because data and log are on one volume. Copies of the files of a running engine would be of no use.
 */
export function keepBackups({ backupNamespace: velero }: Pick<SqlOptions, 'backupNamespace'>): SqlStep {
  return async function keepBackups(pass: SqlPass): Promise<Outcome> {
    const { object, state } = pass
    const { backupEnabled, backupSchedule: schedule, backupRetentionDays: retentionDays } = object.spec
    const shared = sqlShared(object)
    const volume = { name: STORAGE_VOLUME, storageClass: planOf(pass).storageClass || undefined }
    const kept = await keepVolumeBackups(
      pass,
      velero,
      backupEnabled === false
        ? undefined
        : {
            policy: { enabled: true, schedule, retentionDays, method: 'Snapshot' },
            shared,
            claims: [shared.selector],
            hooks: [],
            volumes: [volume],
            withoutSnapshots: ASK_FOR_SNAPSHOTS,
          },
    )
    // Whoever did not ask for backups does without while there is no target, but not once there were some.
    const isMissed = backupEnabled === true || kept.isScheduled
    state.backup = (isMissed ? kept.obstacle : undefined) ?? kept.failure
    pass.report({ backupEnabled: kept.isScheduled, lastBackup: kept.lastBackup })
    return done()
  }
}
