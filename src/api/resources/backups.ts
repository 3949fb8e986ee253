import {
  type Backup,
  type BackupLocation,
  type BackupMeans,
  type SnapshotClass,
  type StorageClass,
  selectBackupLocation,
  sortBackupsNewestFirst,
  type VolumeClasses,
} from '../../contracts/backups.ts'
import { OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, type Resource, resourceId } from '../../core/object.ts'
import { customResourceDefinition, storageClass } from '../../kube/builtin.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { veleroBackup, veleroBackupStorageLocation, volumeSnapshotClass } from '../../kube/velero.ts'
import { refuseFollowedList } from './refuseFollowedList.ts'

/**
 * The backups of volumes, in the platform's own cluster or the named one. Without Velero there are no backups and no
 * target.
 *
 * @throws KubeError if the other cluster does not answer
 */
export interface Backups {
  target(clusterId?: string): Promise<BackupLocation | undefined>
  classes(clusterId?: string): Promise<VolumeClasses>
  /** As `target` and `classes` of the platform's own cluster, from caches. */
  ownMeans(): BackupMeans
  /** Returns the backups of one incarnation of a resource, newest first: a later one of that name has none of them. */
  of(incarnation: string, clusterId?: string): Promise<Backup[]>
}

declare module '../http/context.ts' {
  interface Services {
    readonly backups: Backups
  }
}

const INCARNATION_LABEL = 'incarnation-of-owner'

/** Declares the caches that `Backups` reads. Called once, before the caches are started. */
export function declareBackupCaches(caches: CacheSet): void {
  const incarnationOf = ({ metadata }: KubeObject) => metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? []
  caches.addOptional(veleroBackup, { indexes: { [INCARNATION_LABEL]: (object) => [incarnationOf(object)].flat() } })
  caches.addOptional(veleroBackupStorageLocation)
  caches.addOptional(volumeSnapshotClass)
}

/** The rights that the facade needs for this. The definition of an optional type tells whether the type exists. */
export function backupReads(): { resource: Resource; verbs: readonly string[]; resourceNames?: readonly string[] }[] {
  const verbs = ['get', 'list', 'watch']
  return [veleroBackup, veleroBackupStorageLocation, volumeSnapshotClass].flatMap((resource) => [
    { resource, verbs },
    { resource: customResourceDefinition, verbs, resourceNames: [resourceId(resource)] },
  ])
}

type Caches = Pick<CacheSet, 'optional' | 'has' | 'get'>

type Lister = Pick<KubeClient, 'list'>

/**
 * @param velero the namespace of Velero
 * @param clientOf returns the client for the API server of another cluster
 */
export function createBackups(caches: Caches, velero: string, clientOf: (clusterId: string) => Lister): Backups {
  const held = <T extends KubeObject>(resource: Resource, namespace?: string) =>
    resource.optional === true
      ? (caches.optional<T>(resource)?.list({ namespace }) ?? [])
      : caches.has(resource)
        ? caches.get<T>(resource).list({ namespace })
        : []
  const all = async <T extends KubeObject>(resource: Resource, clusterId?: string, namespace?: string) =>
    clusterId === undefined ? held<T>(resource, namespace) : listAll<T>(clientOf(clusterId), resource, namespace)
  return {
    target: async (clusterId) =>
      selectBackupLocation(await all<BackupLocation>(veleroBackupStorageLocation, clusterId, velero)),
    classes: async (clusterId) => ({
      storage: await all<StorageClass>(storageClass, clusterId),
      snapshot: await all<SnapshotClass>(volumeSnapshotClass, clusterId),
    }),
    ownMeans: () => ({
      target: selectBackupLocation(held<BackupLocation>(veleroBackupStorageLocation, velero)),
      classes: { storage: held<StorageClass>(storageClass), snapshot: held<SnapshotClass>(volumeSnapshotClass) },
    }),
    async of(incarnation, clusterId) {
      if (clusterId !== undefined) refuseFollowedList('Backups')
      const found =
        clusterId === undefined
          ? (caches.optional<Backup>(veleroBackup)?.byIndex(INCARNATION_LABEL, incarnation) ?? [])
          : (await all<Backup>(veleroBackup, clusterId, velero)).filter(
              ({ metadata }) => metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === incarnation,
            )
      return sortBackupsNewestFirst(found.filter(({ metadata }) => metadata.namespace === velero))
    },
  }
}

async function listAll<T extends KubeObject>(client: Lister, resource: Resource, namespace?: string): Promise<T[]> {
  try {
    return (await client.list<T>(resource, { namespace })).items
  } catch (error) {
    // The cluster does not have the type.
    if (isKubeError(error, 'NotServed')) return []
    throw error
  }
}
