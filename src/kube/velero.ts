import { optional } from './builtin.ts'
import type { Resource } from './object.ts'

export const veleroSchedule = optional('velero.io', 'Schedule')
export const veleroBackup = optional('velero.io', 'Backup')
export const veleroDeletion = optional('velero.io', 'DeleteBackupRequest')
export const veleroLocation = optional('velero.io', 'BackupStorageLocation')
export const veleroRestore = optional('velero.io', 'Restore')

export const VELERO: readonly Resource[] = [veleroSchedule, veleroBackup, veleroDeletion, veleroLocation, veleroRestore]

export const volumeSnapshotClass = optional('snapshot.storage.k8s.io', 'VolumeSnapshotClass', {
  namespaced: false,
})
