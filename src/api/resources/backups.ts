import {
  type Backup,
  type BackupLocation,
  newestFirst,
  type SnapshotClass,
  type StorageClass,
  targetOf,
} from '../../contracts/backups.ts'
import { OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, type Resource, resourceId } from '../../core/object.ts'
import { customResourceDefinition, storageClass } from '../../kube/builtin.ts'
import type { CacheSet } from '../../kube/caches.ts'
import { veleroBackup, veleroLocation, volumeSnapshotClass } from '../../kube/velero.ts'

/** What is known of backups of volumes. Without Velero there are none, and no place for them. */
export interface Backups {
  target(): BackupLocation | undefined
  classes(): { storage: readonly StorageClass[]; snapshot: readonly SnapshotClass[] }
  /** Of one life of a resource, the newest first: a namesake has none of them. */
  of(incarnation: string): Backup[]
}

declare module '../http/context.ts' {
  interface Services {
    readonly backups: Backups
  }
}

const BY_INCARNATION = 'incarnation-of-owner'

/** The caches that this looks into. Called once, before the caches are started. */
export function declareBackupCaches(caches: CacheSet): void {
  const incarnationOf = ({ metadata }: KubeObject) => metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? []
  caches.addOptional(veleroBackup, { indexes: { [BY_INCARNATION]: (object) => [incarnationOf(object)].flat() } })
  caches.addOptional(veleroLocation)
  caches.addOptional(volumeSnapshotClass)
}

/** What the facade may do for it. Of a type that may be missing its one definition tells whether it is there. */
export function backupReads(): { resource: Resource; verbs: readonly string[]; resourceNames?: readonly string[] }[] {
  const verbs = ['get', 'list', 'watch']
  return [veleroBackup, veleroLocation, volumeSnapshotClass].flatMap((resource) => [
    { resource, verbs },
    { resource: customResourceDefinition, verbs, resourceNames: [resourceId(resource)] },
  ])
}

type Caches = Pick<CacheSet, 'optional' | 'has' | 'get'>

/** @param velero the namespace that it is in */
export function createBackups(caches: Caches, velero: string): Backups {
  const all = <T extends KubeObject>(resource: Resource, namespace?: string) =>
    caches.optional<T>(resource)?.list({ namespace }) ?? []
  return {
    target: () => targetOf(all<BackupLocation>(veleroLocation, velero)),
    classes: () => ({
      storage: caches.has(storageClass) ? caches.get<StorageClass>(storageClass).list() : [],
      snapshot: all<SnapshotClass>(volumeSnapshotClass),
    }),
    of: (incarnation) =>
      newestFirst(
        (caches.optional<Backup>(veleroBackup)?.byIndex(BY_INCARNATION, incarnation) ?? []).filter(
          ({ metadata }) => metadata.namespace === velero,
        ),
      ),
  }
}
