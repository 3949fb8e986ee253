import { optionalResource } from './builtin.ts'
import type { Resource } from './object.ts'

export const veleroSchedule = optionalResource('velero.io', 'Schedule')
export const veleroBackup = optionalResource('velero.io', 'Backup')
export const veleroDeleteBackupRequest = optionalResource('velero.io', 'DeleteBackupRequest')
export const veleroBackupStorageLocation = optionalResource('velero.io', 'BackupStorageLocation')
export const veleroRestore = optionalResource('velero.io', 'Restore')

export const VELERO_RESOURCES: readonly Resource[] = [
  veleroSchedule,
  veleroBackup,
  veleroDeleteBackupRequest,
  veleroBackupStorageLocation,
  veleroRestore,
]

export const volumeSnapshotClass = optionalResource('snapshot.storage.k8s.io', 'VolumeSnapshotClass', {
  namespaced: false,
})
export const volumeSnapshot = optionalResource('snapshot.storage.k8s.io', 'VolumeSnapshot')
