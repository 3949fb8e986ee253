import type { SnapshotClass, StorageClass, VolumeClasses } from '../../contracts/backups.ts'
import { storageClass } from '../../kube/builtin.ts'
import { volumeSnapshotClass } from '../../kube/velero.ts'
import type { Workspace } from '../engine/controller.ts'

/** Returns the classes of volumes, and of snapshots of volumes, of a cluster. */
export function volumeClasses(workloads: Workspace): VolumeClasses {
  return {
    storage: workloads.cache<StorageClass>(storageClass).list(),
    snapshot: workloads.cache<SnapshotClass>(volumeSnapshotClass).list(),
  }
}
