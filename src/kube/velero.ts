import { optional } from './builtin.ts'
import type { Resource } from './object.ts'

/** The kinds of Velero that the platform writes or reads; a cluster may lack them. */
export const veleroSchedule = optional('velero.io', 'Schedule')
export const veleroBackup = optional('velero.io', 'Backup')
export const veleroDeletion = optional('velero.io', 'DeleteBackupRequest')
export const veleroLocation = optional('velero.io', 'BackupStorageLocation')
export const veleroRestore = optional('velero.io', 'Restore')

export const VELERO: readonly Resource[] = [veleroSchedule, veleroBackup, veleroDeletion, veleroLocation, veleroRestore]

/** The class of volume snapshots (CSI); a cluster may lack it. */
export const volumeSnapshotClass = optional('snapshot.storage.k8s.io', 'VolumeSnapshotClass', {
  namespaced: false,
})
