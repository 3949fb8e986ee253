import { skipsArchiving } from '../../contracts/platformbackups/archives.ts'
import { isBeingRestored, isLastBaseBackup, relationalNames, snapshotBackupName } from '../../contracts/relational.ts'
import { DAY_MS, timestamp } from '../../core/clock.ts'
import { BACKUP_ANNOTATION } from '../../core/labels.ts'
import { ageOf, type KubeObject, keyOf, objectKey, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { snapshotBackup } from '../../desired/relational/index.ts'
import { persistentVolumeClaim, storageClass } from '../../kube/builtin.ts'
import { barmanObjectStore, postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'
import { volumeSnapshotClass } from '../../kube/velero.ts'
import {
  type ControllerDeclaration,
  controllerWith,
  type Pass,
  type Step,
  steps,
  type Workspace,
} from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { findUnwatched } from '../engine/unwatched.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { childRights } from '../workload/observers.ts'
import {
  type EngineBackup,
  type EngineCluster,
  INSTALL_ENGINE,
  INSTALL_PLUGIN,
  type RelationalOptions,
  type StoredCluster,
  type StoredSnapshot,
} from './types.ts'
import {
  awaitedVolumeSnapshots,
  engineOf,
  namedClassOf,
  VOLUME_SNAPSHOT_RIGHTS,
  volumeFieldsOf,
  volumeObstacle,
} from './volumeSnapshots.ts'
import { scheduledSnapshotId } from './workload.ts'

const RIGHTS: Omit<ControllerDeclaration, 'kind'> = {
  observes: [
    {
      resource: postgresqlBackup,
      keysOf: (backup) => [
        objectKey(backup.metadata.namespace, scheduledSnapshotId(backup)),
        objectKey(backup.metadata.namespace, backup.metadata.name.replace(/^rsnap-/, '')),
      ],
    },
    {
      resource: postgresqlCluster,
      keysOf: ({ metadata: { namespace, name } }, records) =>
        related(records.cache(RelationalCluster), 'engine', namespace, name).flatMap((database) =>
          siblingsOf(records, namespace, database.metadata.name)
            .filter(({ status }) => status?.completedAt === undefined)
            .map(keyOf),
        ),
      relevant: (object) => [skipsArchiving(object), namedClassOf(object as EngineCluster)],
    },
    { resource: volumeSnapshotClass, keysOf: (_, records) => awaitedVolumeSnapshots(records).map(keyOf) },
    // A deleted snapshot may wait for another base; of two with the same name, the later waits for the earlier.
    {
      resource: RelationalSnapshot.resource,
      keysOf: (object, records) => {
        const { metadata, spec } = object as StoredSnapshot
        return siblingsOf(records, metadata.namespace, spec.clusterName)
          .filter((one) => one.metadata.deletionTimestamp !== undefined || one.status?.phase === 'NameOccupied')
          .map(keyOf)
      },
    },
    // A new snapshot depends on its database; a deleted one also on databases being restored from it.
    {
      resource: RelationalCluster.resource,
      keysOf: (object, records) => {
        const { metadata, spec } = object as StoredCluster
        const snapshots = records.cache(RelationalSnapshot)
        const unsettled = related(snapshots, 'parent', metadata.namespace, metadata.name).filter(
          ({ status, metadata: { deletionTimestamp } }) =>
            status?.completedAt === undefined || deletionTimestamp !== undefined,
        )
        const origin = spec.restoreFrom?.snapshotId
        const read = origin === undefined ? [] : related(snapshots, 'name', origin)
        return [...unsettled, ...read].map(keyOf)
      },
    },
  ],
  reads: [barmanObjectStore, persistentVolumeClaim, storageClass],
  writes: [
    ...childRights([postgresqlBackup]),
    VOLUME_SNAPSHOT_RIGHTS,
    { resource: RelationalSnapshot.resource, verbs: ['get', 'patch', 'delete'] },
  ],
}

/** Takes snapshots, mirrors scheduled Backups, and deletes expired snapshots. */
export const relationalSnapshotController = controllerWith(
  RelationalSnapshot,
  RIGHTS,
  (options: Pick<RelationalOptions, 'backupTarget'>) => ({
    clusterOf: clusterOfBackup,
    reconcile: steps(expire, checkSnapshot(options), takeBackup),
    finalize: steps(keepLastBase, waitForRestores, removeBackup),
  }),
)

/** Deletes the snapshot when its retention is over. */
async function expire(pass: SnapshotPass): Promise<Outcome> {
  const { spec, status, metadata } = pass.object
  if (spec.retentionDays === undefined || status?.completedAt === undefined) return done()
  const expiresAt = Date.parse(status.completedAt) + spec.retentionDays * DAY_MS
  if (Number.isNaN(expiresAt)) {
    const message = `status.completedAt is "${status.completedAt}", which is not a time; set it to the time when the backup ended.`
    return stalled('ConfigurationInvalid', message)
  }
  pass.report({ expiresAt: timestamp(expiresAt) })
  const remainingMs = expiresAt - pass.clock.now()
  if (remainingMs > 0) return done({ after: remainingMs })
  await pass.records.client.remove(pass.kind.resource, refOf(pass.object), { uid: metadata.uid })
  return waiting('TearingDown', `Its retention of ${spec.retentionDays} days has ended.`)
}

/**
 * Returns the cluster of the Backup: the database's before the request, the recorded one afterwards, when the database
 * may be gone. A complete snapshot without a scheduled Backup needs no cluster until it is deleted.
 */
function clusterOfBackup({ metadata, spec, status }: SnapshotPass['object'], records: Workspace): string | undefined {
  const isAtRest = metadata.annotations?.[BACKUP_ANNOTATION] === undefined && status?.completedAt !== undefined
  if (isAtRest && metadata.deletionTimestamp === undefined) return undefined
  if (status?.backupName !== undefined) return otherClusterOf({ spec: { clusterId: status.clusterId } }, records)
  const database = records.cache(RelationalCluster).get(metadata.namespace, spec.clusterName)
  return database && otherClusterOf(database, records)
}

/** Requests the Backup, or finds the scheduled one, and reports its progress. */
async function takeBackup(pass: SnapshotPass): Promise<Outcome> {
  const { object } = pass
  if (object.status?.completedAt !== undefined) return followBackup(pass)
  const backup = await ensureBackup(pass)
  if (backup === undefined) return stalled('ReferenceMissing', 'The Backup of the schedule is gone.')
  const { phase = 'pending', startedAt, stoppedAt, backupId, error } = backup.status ?? {}
  const cluster = clusterOf(pass)
  const other = isOtherArchive(object, cluster)
  if (other && !isBefore(stoppedAt, cluster?.metadata.creationTimestamp)) {
    const message = `Database "${object.spec.clusterName}" was deleted before its backup was complete, and made anew: delete this snapshot.`
    return stalled('ReferenceMissing', message)
  }
  pass.report({ backupName: backup.metadata.name, startedAt, ...(other ? {} : databaseFieldsOf(pass, cluster)) })
  if (phase === 'failed')
    return stalled('EngineRefused', error ?? 'The engine could not take the backup.', await retryRefused(pass, backup))
  if (phase !== 'completed') return waiting('BackingUp', `The backup is ${phase}.`)
  // Do not trust the engine's time: an invalid one would fail every later pass.
  const completedAt = stoppedAt !== undefined && !Number.isNaN(Date.parse(stoppedAt)) ? stoppedAt : pass.now
  const { retentionDays, method } = object.spec
  const volumes = method === 'Volume' ? await volumeFieldsOf(placeOf(pass), backup, storageOf(pass)) : {}
  if (volumes === undefined) return stalled('EngineRefused', 'The engine names no VolumeSnapshot of the backup.')
  pass.report({
    backupId,
    completedAt,
    ...volumes,
    ...(retentionDays === undefined ? {} : { expiresAt: timestamp(Date.parse(completedAt) + retentionDays * DAY_MS) }),
  })
  const message = 'It can be restored from.'
  if (retentionDays === undefined) return done({ message })
  const remainingMs = Date.parse(completedAt) + retentionDays * DAY_MS - pass.clock.now()
  return done({ message, after: Math.max(remainingMs, 1) })
}

/** Milliseconds until a Backup of volumes is requested again that the engine refused before it began. */
const REFUSED_RETRY_MS = 30_000

/**
 * The engine may not have seen yet that the Cluster names a class, and then refuses the Backup for good. Returns in how
 * many milliseconds it is requested again; undefined for one that had begun, whose failure the engine's message explains.
 */
async function retryRefused({ object, clock, children }: SnapshotPass, { metadata, status }: EngineBackup) {
  if (object.spec.method !== 'Volume' || status?.startedAt !== undefined) return undefined
  const remainingMs = Date.parse(metadata.creationTimestamp ?? '') + REFUSED_RETRY_MS - clock.now()
  if (remainingMs > 0) return remainingMs
  await children.remove(postgresqlBackup, metadata.namespace, metadata.name)
  // Its deletion wakes this snapshot, which requests the next one.
  return REFUSED_RETRY_MS
}

/** Properties of the database, recorded while it exists. */
function databaseFieldsOf(pass: SnapshotPass, cluster: StoredCluster | undefined) {
  const { spec, status } = cluster ?? {}
  return {
    clusterId: clusterOfBackup(pass.object, pass.records),
    serverName: status?.serverName,
    destinationPath: status?.destinationPath,
    engineVersion: status?.engineVersion,
    databaseName: status?.origin?.databaseName ?? spec?.databaseName,
    ownerName: status?.origin?.ownerName ?? spec?.ownerName,
    storageSize: storageOf(pass),
  }
}

/** Whether the present database has another archive than the one the backup was requested for. */
function isOtherArchive({ status }: SnapshotPass['object'], cluster: StoredCluster | undefined): boolean {
  const [recorded, present] = [status?.serverName, cluster?.status?.serverName]
  return recorded !== undefined && present !== undefined && recorded !== present
}

function isBefore(time: string | undefined, other: string | undefined): boolean {
  return time !== undefined && other !== undefined && Date.parse(time) <= Date.parse(other)
}

/**
 * A scheduled snapshot lives as long as its Backup, which the store's retention deletes. A Backup that is gone before
 * its time was lost with its cluster, such as in a restore of the platform; the target may still hold the data.
 */
async function followBackup(pass: SnapshotPass): Promise<Outcome> {
  const { metadata } = pass.object
  const scheduled = metadata.annotations?.[BACKUP_ANNOTATION]
  if (
    scheduled === undefined ||
    backupNamed(pass, scheduled) !== undefined ||
    !pass.workloads.isServed(postgresqlBackup)
  )
    return done({ message: 'It can be restored from.' })
  const retainedUntil = retentionEnd(pass)
  if (retainedUntil === undefined || retainedUntil > pass.clock.now())
    return done({
      message: 'Its Backup is gone from the cluster. It can be restored from while the backup target has its data.',
      after: retainedUntil && retainedUntil - pass.clock.now(),
    })
  await pass.records.client.remove(pass.kind.resource, refOf(pass.object), { uid: metadata.uid })
  return waiting('TearingDown', 'Its retention in the backup target has ended.')
}

/** Returns until when the store retains the backup at least; undefined if that is not known. */
function retentionEnd(pass: SnapshotPass): number | undefined {
  const days = clusterOf(pass)?.spec.backupRetentionDays
  const completedAt = Date.parse(pass.object.status?.completedAt ?? '')
  return days === undefined || Number.isNaN(completedAt) ? undefined : completedAt + days * DAY_MS
}

function backupNamed(pass: SnapshotPass, name: string): EngineBackup | undefined {
  return pass.workloads.cache<EngineBackup>(postgresqlBackup).get(pass.object.metadata.namespace, name)
}

async function ensureBackup(pass: SnapshotPass): Promise<EngineBackup | undefined> {
  const scheduled = pass.object.metadata.annotations?.[BACKUP_ANNOTATION]
  if (scheduled !== undefined) return backupNamed(pass, scheduled)
  const { object } = await pass.children.ensure(snapshotBackup(pass.object) as KubeObject, {
    resource: postgresqlBackup,
  })
  return object as EngineBackup
}

/** Returns the minimum storage of a database restored from it. */
function storageOf(pass: SnapshotPass): string | undefined {
  const { cluster } = relationalNames(pass.object.spec.clusterName)
  const engine = pass.workloads.cache<EngineCluster>(postgresqlCluster).get(pass.object.metadata.namespace, cluster)
  return engine?.spec.storage?.size
}

/** Returns databases that are restored from it and do not have their data yet. */
function restoringFrom(records: Workspace, snapshot: SnapshotPass['object']): StoredCluster[] {
  const databases = related(records.cache(RelationalCluster), 'restoredFrom', snapshot.metadata.name)
  return databases.filter((database) => isBeingRestored(database, snapshot))
}

/** Keeps the last base of a living database, which restores need, unless it has expired or lost its Backup. */
function keepLastBase(pass: SnapshotPass): Outcome {
  const { spec, status, metadata } = pass.object
  const cluster = clusterOf(pass)
  if (spec.forceDelete || cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return done()
  const hasExpired = status?.expiresAt !== undefined && Date.parse(status.expiresAt) <= pass.clock.now()
  const scheduled = metadata.annotations?.[BACKUP_ANNOTATION]
  if (hasExpired || (scheduled !== undefined && backupNamed(pass, scheduled) === undefined)) return done()
  const siblings = siblingsOf(pass.records, metadata.namespace, spec.clusterName)
  if (!isLastBaseBackup(pass.object, siblings, cluster.status?.serverName)) return done()
  const message = `It is the last base of the recovery window of relationalclusters/${spec.clusterName}: take another snapshot first, or set forceDelete.`
  const remainingMs = Date.parse(status?.expiresAt ?? '') - pass.clock.now()
  return waiting('DeletionBlocked', message, Number.isNaN(remainingMs) ? undefined : remainingMs)
}

function waitForRestores(pass: SnapshotPass): Outcome {
  const users = restoringFrom(pass.records, pass.object)
  if (users.length === 0) return done()
  const visible = users.filter(({ metadata }) => metadata.namespace === pass.object.metadata.namespace)
  // The reader may not be allowed to know what exists in other groups.
  const visibleNames = visible.map(({ metadata }) => `relationalclusters/${metadata.name}`)
  const names = [...visibleNames, ...(visible.length < users.length ? ['a database of another group'] : [])].join(', ')
  return waiting('DeletionBlocked', `A restore from it is running: ${names}; the deletion continues after that.`)
}

/** Deletes the Backup; its data is deleted from the target by the store's retention. */
async function removeBackup(pass: SnapshotPass): Promise<Outcome> {
  const { namespace, name, annotations } = pass.object.metadata
  const scheduled = annotations?.[BACKUP_ANNOTATION]
  if (scheduled === undefined) {
    await pass.children.remove(postgresqlBackup, namespace, snapshotBackupName(name))
    return done()
  }
  const backup =
    backupNamed(pass, scheduled) ??
    (await findUnwatched<EngineBackup>(pass.workloads, postgresqlBackup, { namespace, name: scheduled }))
  if (backup !== undefined && backup.metadata.deletionTimestamp === undefined) {
    const { uid, resourceVersion } = backup.metadata
    await pass.workloads.client.remove(postgresqlBackup, refOf(backup), { uid, resourceVersion })
  }
  return done()
}

/** Checks what a Backup requires. Skipped for a completed snapshot. */
function checkSnapshot({ backupTarget }: Pick<RelationalOptions, 'backupTarget'>): Step<typeof RelationalSnapshot> {
  return function checkSnapshot(pass: SnapshotPass): Outcome {
    const { object } = pass
    const { spec, status } = object
    if (status?.completedAt !== undefined) return done()
    const namesake = siblingsOf(pass.records, object.metadata.namespace, spec.clusterName).find(
      isEarlierNamesake(object),
    )
    if (namesake !== undefined) {
      return stalled('NameOccupied', `Snapshot "${spec.name}" of "${spec.clusterName}" already exists: delete one.`)
    }
    if (!pass.workloads.isServed(postgresqlBackup)) return stalled('EngineMissing', INSTALL_ENGINE)
    if (!pass.workloads.isServed(barmanObjectStore)) return stalled('EngineMissing', INSTALL_PLUGIN)
    const cluster = clusterOf(pass)
    if (cluster === undefined) {
      return stalled('ReferenceMissing', `There is no database "${spec.clusterName}" in this group.`)
    }
    if (backupTarget === undefined || cluster.status?.backupEnabled === false) {
      return stalled('ConfigurationInvalid', `Database "${spec.clusterName}" is not backed up: it has no target.`)
    }
    return judgeDatabase(cluster, engineOf(placeOf(pass))) ?? (spec.method === 'Volume' ? checkVolumes(pass) : done())
  }
}

/** Returns what a Backup of the database waits for; undefined if it can be taken now. */
function judgeDatabase(
  { metadata, spec, status }: StoredCluster,
  engine: EngineCluster | undefined,
): Outcome | undefined {
  const wait = (message: string) => waiting('WaitingForDependency', message)
  const { serverName, destinationPath, firstReadyAt } = status ?? {}
  if (serverName === undefined || destinationPath === undefined || firstReadyAt === undefined)
    return wait(`Database "${metadata.name}" is not ready yet.`)
  // A database that is being deleted was started for its final snapshot.
  if (!spec.running && metadata.deletionTimestamp === undefined) return wait(`Database "${metadata.name}" is stopped.`)
  return spec.archivingSuspended || (engine !== undefined && skipsArchiving(engine))
    ? wait(`The archive of database "${metadata.name}" is suspended, and nothing can be restored without its log.`)
    : undefined
}

/** The engine fails a Backup of volumes at once unless the Cluster names a class for it. */
function checkVolumes(pass: SnapshotPass): Outcome {
  const place = placeOf(pass)
  const obstacle = volumeObstacle(place)
  if (obstacle !== undefined) return stalled('ConfigurationInvalid', obstacle)
  if (namedClassOf(engineOf(place)) !== undefined) return done()
  return waiting('WaitingForDependency', `Database "${place.name}" is being prepared for snapshots of its volumes.`)
}

/** Whether an older snapshot has the same name. */
function isEarlierNamesake(object: SnapshotPass['object']) {
  return (other: StoredSnapshot) => other.spec.name === object.spec.name && ageOf(other) < ageOf(object)
}

type SnapshotPass = Pass<typeof RelationalSnapshot>

/** Returns the database; undefined if it is gone. */
function clusterOf({ records, object }: SnapshotPass): StoredCluster | undefined {
  const clusters = records.cache(RelationalCluster)
  return clusters.get(object.metadata.namespace, object.spec.clusterName)
}

/** Returns all snapshots of a database. */
function siblingsOf(records: Workspace, namespace: string | undefined, clusterName: string): StoredSnapshot[] {
  return [...related(records.cache(RelationalSnapshot), 'parent', namespace, clusterName)]
}

/** Returns the database's place, on the cluster where the Backup is. */
function placeOf({ object, workloads }: SnapshotPass) {
  return { namespace: object.metadata.namespace, name: object.spec.clusterName, workloads }
}
