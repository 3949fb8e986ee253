import { databaseVolumesObstacle, type SnapshotClass, selectSnapshotClass } from '../../contracts/backups.ts'
import { relationalNames } from '../../contracts/relational.ts'
import { type KubeObject, objectKey } from '../../core/object.ts'
import { formatBytes, parseForeignQuantity } from '../../core/quantity.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { persistentVolumeClaim } from '../../kube/builtin.ts'
import { absent } from '../../kube/errors.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'
import { volumeSnapshot, volumeSnapshotClass } from '../../kube/velero.ts'
import type { Rights, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { volumeClasses } from '../workload/volumeClasses.ts'
import type { EngineBackup, EngineCluster, StoredSnapshot } from './types.ts'

/** Of a database: its namespace and name, and where it runs. */
type Place = { namespace: string | undefined; name: string; workloads: Workspace }
type Claim = KubeObject & { spec?: { storageClassName?: string } }

/** The engine makes them, and the garbage collector deletes them with their Backup. */
export const VOLUME_SNAPSHOT_RIGHTS: Rights = { resource: volumeSnapshot, verbs: ['get'] }

/** Returns the snapshots of volumes that are not complete. */
export function awaitedVolumeSnapshots(records: Workspace): StoredSnapshot[] {
  return (records.cache(RelationalSnapshot).list() as readonly StoredSnapshot[]).filter(isAwaitingVolumes)
}

function isAwaitingVolumes({ spec, status }: StoredSnapshot): boolean {
  return spec.method === 'Volume' && status?.completedAt === undefined
}

/** Returns the VolumeSnapshotClass that a Cluster names: without one, the engine fails a Backup of volumes at once. */
export function namedClassOf(engine: EngineCluster | undefined): string | undefined {
  return engine?.spec.backup?.volumeSnapshot?.className
}

/** Returns the databases whose volumes are to be snapshotted. */
export function databasesAwaitingSnapshots(records: Workspace): string[] {
  return awaitedVolumeSnapshots(records).map(({ metadata, spec }) => objectKey(metadata.namespace, spec.clusterName))
}

/** Returns the storage class of the volumes as they are; undefined for the default one, and before there are any. */
function storageClassOf({ namespace, name, workloads }: Place): string | undefined {
  const { cluster } = relationalNames(name)
  const [claim] = related(workloads.cache<Claim>(persistentVolumeClaim), 'engine', namespace, cluster)
  return claim?.spec?.storageClassName ?? engineOf({ namespace, name, workloads })?.spec.storage?.storageClass
}

/** Returns what takes snapshots of the volumes of a database. */
export function snapshotClassOf(place: Place): SnapshotClass | undefined {
  return selectSnapshotClass(storageClassOf(place), volumeClasses(place.workloads))
}

/** Returns why the volumes of a database cannot be snapshotted, and what to do; undefined if they can. */
export function volumeObstacle(place: Place): string | undefined {
  return databaseVolumesObstacle(place.name, storageClassOf(place), volumeClasses(place.workloads))
}

type VolumeSnapshot = KubeObject & { status?: { restoreSize?: string } }

/**
 * Returns what a restore from the VolumeSnapshots of a Backup needs; undefined if the engine names none. A volume made
 * from one must be as large as its driver says, which may be more than was asked for.
 */
export async function volumeFieldsOf(place: Place, { status }: EngineBackup, storageSize: string | undefined) {
  const { elements = [] } = status?.snapshotBackupStatus ?? {}
  const nameOf = (role: string) => elements.find(({ type }) => type === role)?.name
  const [storage, walStorage] = [nameOf('PG_DATA'), nameOf('PG_WAL')]
  if (storage === undefined) return undefined
  const [bytes, walBytes] = [await restoreSizeOf(place, storage), await restoreSizeOf(place, walStorage)]
  const sizeBytes = Number((bytes + walBytes) / 1000n)
  return {
    volumeSnapshots: { storage, ...(walStorage !== undefined && { walStorage }) },
    storageClass: storageClassOf(place),
    storageSize: atLeast(bytes, storageSize),
    ...(walStorage !== undefined && { walStorageSize: atLeast(walBytes, engineOf(place)?.spec.walStorage?.size) }),
    // Another cluster may report anything.
    ...(sizeBytes > 0 && Number.isSafeInteger(sizeBytes) && { sizeBytes }),
  }
}

export function engineOf({ namespace, name, workloads }: Place): EngineCluster | undefined {
  return workloads.cache<EngineCluster>(postgresqlCluster).get(namespace, relationalNames(name).cluster)
}

function atLeast(size: bigint, other: string | undefined): string | undefined {
  return parseForeignQuantity(other) >= size ? other : formatBytes(size)
}

/** In thousandths of a byte; 0 if nothing says it. */
async function restoreSizeOf({ namespace, workloads }: Place, name: string | undefined): Promise<bigint> {
  const found = name === undefined ? undefined : await findVolumeSnapshot(workloads, namespace, name)
  return parseForeignQuantity(found?.status?.restoreSize)
}

/** Read when a snapshot ends or is restored from: a watch would cost more than these two. */
export async function findVolumeSnapshot(
  workloads: Workspace,
  namespace: string | undefined,
  name: string,
): Promise<VolumeSnapshot | undefined> {
  // The classes are watched, and both types come and go together.
  if (!workloads.isDefined(volumeSnapshotClass)) return undefined
  return workloads.client.get<VolumeSnapshot>(volumeSnapshot, { namespace, name }).catch(absent)
}
