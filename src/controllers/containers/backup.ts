import { selectBackedUpVolumes, USE_FILES } from '../../contracts/backups.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import { instanceBackups } from '../../desired/containers/backup.ts'
import type { Observed } from '../engine/controller.ts'
import { backupObservers, keepVolumeBackups } from '../workload/volumeBackups.ts'
import type { ContainerOptions, InstancePass, InstanceStep } from './types.ts'

/** What wakes a kind with a backup policy, besides itself and its other children. */
export function policyObservers(kind: AnyKind): Observed[] {
  return backupObservers<{ backupPolicy?: object }>(kind, ({ backupPolicy }) => backupPolicy !== undefined)
}

/** Keeps the Schedule as the policy says. */
export function keepBackups({ backupNamespace: velero }: Pick<ContainerOptions, 'backupNamespace'>): InstanceStep {
  return async function keepBackups(pass: InstancePass): Promise<Outcome> {
    const { object, state } = pass
    const policy = object.spec.backupPolicy
    const volumes = policy === undefined ? [] : selectBackedUpVolumes(object.spec.volumes, policy)
    const wanted = policy && { ...instanceBackups(object, policy), policy, volumes, withoutSnapshots: USE_FILES }
    const { obstacle, failure, lastBackup } = await keepVolumeBackups(pass, velero, wanted)
    state.backup = obstacle ?? failure
    pass.report({ lastBackup })
    return done()
  }
}
