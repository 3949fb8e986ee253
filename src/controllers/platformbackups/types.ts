import type { BackupTargets } from '../../adapters/backuptarget/port.ts'
import type { Backup } from '../../contracts/backups.ts'
import { isOfPlatform } from '../../contracts/platformbackups/backups.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { veleroBackup } from '../../kube/velero.ts'
import type { Pass } from '../engine/controller.ts'

export type PlatformBackupOptions = {
  /** The namespace that Velero is in. */
  velero: string
  targets: BackupTargets
}

/** What the first step that found something amiss says; the last step tells it. */
export type SettingsState = { problem: Outcome | undefined }

export type SettingsPass = Pass<typeof PlatformBackupSettings, SettingsState>

export function platformBackupsOf({ workloads }: Pick<SettingsPass, 'workloads'>): Backup[] {
  return workloads.cache<Backup>(veleroBackup).list().filter(isOfPlatform)
}
