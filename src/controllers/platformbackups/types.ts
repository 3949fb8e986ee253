import type { BackupTargets } from '../../adapters/backuptarget/port.ts'
import type { Backup } from '../../contracts/backups.ts'
import { isPlatformBackup } from '../../contracts/platformbackups/backups.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { veleroBackup } from '../../kube/velero.ts'
import type { Pass } from '../engine/controller.ts'

export type PlatformBackupOptions = {
  /** Velero's namespace. */
  velero: string
  targets: BackupTargets
}

/** The first problem that a step found; the last step reports it. */
export type SettingsState = { problem?: Outcome | undefined }

export type SettingsPass = Pass<typeof PlatformBackupSettings, SettingsState>

export function platformBackupsOf({ workloads }: Pick<SettingsPass, 'workloads'>): Backup[] {
  return workloads.cache<Backup>(veleroBackup).list().filter(isPlatformBackup)
}
