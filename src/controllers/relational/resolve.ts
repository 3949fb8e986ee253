import { findStorageClass } from '../../contracts/backups.ts'
import { recoveryWindowObstacle } from '../../contracts/relational.ts'
import { timestamp } from '../../core/clock.ts'
import { RESTORE_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import { objectKey } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import type { Origin } from '../../desired/relational/index.ts'
import { postgresqlCluster, postgresqlDatabase, postgresqlPooler } from '../../kube/postgresql.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { planOf } from '../workload/pass.ts'
import { volumeClasses } from '../workload/volumeClasses.ts'
import {
  INSTALL_ENGINE,
  type RelationalOptions,
  type RelationalPass,
  type RelationalStep,
  type StoredSnapshot,
} from './types.ts'
import { findVolumeSnapshot } from './volumeSnapshots.ts'

/** Requires the engine's types. A watch of their CRDs wakes us when they are installed. */
export function checkEngine({ workloads, object }: RelationalPass): Outcome {
  const { enablePooler, extensions } = object.spec
  const needed = [
    postgresqlCluster,
    ...(enablePooler ? [postgresqlPooler] : []),
    ...(extensions.length > 0 ? [postgresqlDatabase] : []),
  ]
  return needed.every((resource) => workloads.isServed(resource)) ? done() : stalled('EngineMissing', INSTALL_ENGINE)
}

/** Takes the connection limit from the plan; without one, the engine's default applies. */
export function limitConnections({ records, state }: RelationalPass): Outcome {
  const plan = records.cache(ComputePlan).get(undefined, state.planName)
  const connections = Number(plan?.spec.extras.maxConnections)
  state.maxConnections = Number.isSafeInteger(connections) && connections > 0 ? connections : undefined
  return done()
}

/** The databases in `connectTo` and `takesOver` must be on the same cluster. */
export function checkReferences({ object, records }: RelationalPass): Outcome {
  const { connectTo, takesOver } = object.spec
  const databases = records.cache(RelationalCluster)
  const ownCluster = otherClusterOf(object, records)
  for (const [field, name] of Object.entries({ connectTo, takesOver })) {
    const found = name === undefined ? undefined : databases.get(object.metadata.namespace, name)
    if (found === undefined || otherClusterOf(found, records) === ownCluster) continue
    const message = `${field} names the database "${name}" of another cluster, which the Services of this cluster cannot reach.`
    return stalled('ConfigurationInvalid', message)
  }
  return connectTo === undefined || databases.get(object.metadata.namespace, connectTo) !== undefined
    ? done()
    : stalled('ReferenceMissing', `connectTo names the database "${connectTo}", which is not in this group.`)
}

/**
 * Looks up what a database is restored from, once, and stores it in the status: the engine reads it only at the start,
 * so the snapshot may be deleted afterwards.
 */
export function resolveOrigin(options: Pick<RelationalOptions, 'backupTarget'>): RelationalStep {
  return async function resolveOrigin(pass: RelationalPass): Promise<Outcome> {
    const { object, state } = pass
    const { restoreFrom } = object.spec
    if (restoreFrom === undefined) return done()
    state.origin = object.status?.origin
    if (state.origin !== undefined) return followOriginClass(pass, state.origin)
    if (options.backupTarget === undefined) {
      return stalled('ConfigurationInvalid', 'This platform has no backup target, so nothing can be restored from it.')
    }
    const originNamespace = originNamespaceOf(pass, restoreFrom)
    if (originNamespace === undefined) {
      const message =
        'A database of another group is restored through the REST interface, which checks the rights on both.'
      return stalled('ReferenceMissing', message)
    }
    const snapshots = pass.records.cache(RelationalSnapshot)
    const snapshot = snapshots.get(originNamespace, restoreFrom.snapshotId)
    if (snapshot?.spec.clusterName !== restoreFrom.clusterName) {
      const subject = `snapshot "${restoreFrom.snapshotId}" of database "${restoreFrom.clusterName}"`
      return stalled('ReferenceMissing', `There is no ${subject}.`)
    }
    const origin = originOf(snapshot, restoreFrom)
    if (origin === undefined) {
      return waiting('WaitingForDependency', `Snapshot "${snapshot.spec.name}" is not completed yet.`)
    }
    const unfit = judgeRestore(pass, snapshot, origin) ?? (await judgeVolumeSnapshots(pass, snapshot, origin))
    if (unfit !== undefined) return unfit
    state.origin = origin
    pass.report({ origin: state.origin })
    return followOriginClass(pass, origin)
  }
}

/** A volume can be made from a snapshot only by the driver that took it. */
function followOriginClass(pass: RelationalPass, { storageClass }: Origin): Outcome {
  if (storageClass !== undefined && pass.object.spec.storageClass === undefined)
    pass.state.plan = { ...planOf(pass), storageClass }
  return done()
}

/** Returns why the database cannot be made from the snapshot as it is specified; undefined if it can. */
function judgeRestore(pass: RelationalPass, snapshot: StoredSnapshot, origin: Origin): Outcome | undefined {
  const { engineVersion } = snapshot.status ?? {}
  const { engineVersion: wanted } = pass.object.spec
  if (engineVersion !== undefined && engineVersion !== wanted) {
    const message = `The snapshot is of version ${engineVersion}, which the engine restores to no other: set engineVersion to it, and upgrade afterwards.`
    return stalled('ConfigurationInvalid', message)
  }
  const obstacle = windowObstacle(pass, snapshot, origin)
  return obstacle === undefined ? undefined : stalled('ConfigurationInvalid', obstacle)
}

function isLess(size: string | undefined, other: string | undefined): boolean {
  return size !== undefined && other !== undefined && compareQuantities(size, other) < 0
}

/** The same for a snapshot of volumes, which are made on its cluster and by its driver. REST refuses other groups. */
async function judgeVolumeSnapshots(
  pass: RelationalPass,
  { metadata: { namespace }, status }: StoredSnapshot,
  { volumeSnapshots: names, storageClass: heldClass }: Origin,
): Promise<Outcome | undefined> {
  if (names === undefined) return undefined
  const { object, records, workloads } = pass
  const invalid = (message: string) => stalled('ConfigurationInvalid', message)
  if (otherClusterOf(object, records) !== status?.clusterId)
    return invalid('The snapshot is one of volumes of another cluster: set clusterId to that of the snapshot.')
  const size = planOf(pass).storageSize
  if (isLess(size, status?.storageSize))
    return stalled(
      'StorageCannotShrink',
      `The snapshot needs a storageSize of at least ${status?.storageSize}; ${size} is less.`,
    )
  const { walStorageSize, storageClass } = object.spec
  if ((walStorageSize === undefined) !== (names.walStorage === undefined))
    return invalid(
      names.walStorage === undefined
        ? 'The snapshot has no volume of the log: leave walStorageSize out until the database is restored.'
        : `The snapshot has a volume of the log: set walStorageSize to at least ${status?.walStorageSize}.`,
    )
  if (isLess(walStorageSize, status?.walStorageSize))
    return stalled('StorageCannotShrink', `The snapshot needs a walStorageSize of at least ${status?.walStorageSize}.`)
  const driverOf = (name: string | undefined) => findStorageClass(name, volumeClasses(workloads))?.provisioner
  if (storageClass !== undefined && driverOf(storageClass) !== driverOf(heldClass))
    return invalid(`Storage class "${storageClass}" has another driver than the snapshot: leave storageClass out.`)
  for (const name of [names.storage, names.walStorage])
    if (name !== undefined && (await findVolumeSnapshot(workloads, namespace, name)) === undefined)
      return stalled('ReferenceMissing', `VolumeSnapshot "${name}" of the snapshot is gone: restore from another one.`)
  return undefined
}

type RestoreFrom = NonNullable<RelationalPass['object']['spec']['restoreFrom']>

/** Returns the snapshot's namespace; undefined for another group's without checked rights. */
export function originNamespaceOf({ object, scope }: RelationalPass, restoreFrom: RestoreFrom): string | undefined {
  const { namespace = '', annotations } = object.metadata
  if (restoreFrom.resourceGroup === undefined) return namespace
  const originNamespace = groupNamespace(scope.boundaryId ?? '', restoreFrom.resourceGroup)
  const isApproved = annotations?.[RESTORE_ANNOTATION] === objectKey(originNamespace, restoreFrom.snapshotId)
  return originNamespace === namespace || isApproved ? originNamespace : undefined
}

/** Allowed clock skew between facade and controllers in milliseconds. */
const MAX_CLOCK_SKEW_MS = 60_000

/** Returns why the engine could not restore to that time; undefined if it can. */
function windowObstacle(
  { records, clock }: RelationalPass,
  snapshot: StoredSnapshot,
  origin: Origin,
): string | undefined {
  if (origin.targetTime === undefined) return undefined
  const clusters = records.cache(RelationalCluster)
  const source = clusters.get(snapshot.metadata.namespace, origin.clusterName)
  const archive = source?.status?.serverName === origin.serverName ? source.status : undefined
  const now = timestamp(clock.now() + MAX_CLOCK_SKEW_MS)
  return recoveryWindowObstacle(origin.targetTime, snapshot.status?.completedAt ?? '', archive, now)?.message
}

/** Returns undefined until the snapshot is complete. */
function originOf(
  { status }: StoredSnapshot,
  { clusterName, snapshotId, targetTime }: RestoreFrom,
): Origin | undefined {
  const { completedAt, destinationPath, serverName, backupId } = status ?? {}
  if (completedAt === undefined || destinationPath === undefined || serverName === undefined) return undefined
  return {
    clusterName,
    snapshotId,
    ...(targetTime === undefined ? {} : { targetTime }),
    destinationPath,
    serverName,
    ...(backupId === undefined ? {} : { backupId }),
    ...(status?.volumeSnapshots !== undefined && {
      volumeSnapshots: status.volumeSnapshots,
      storageClass: status.storageClass,
    }),
    databaseName: status?.databaseName ?? 'app',
    ownerName: status?.ownerName ?? 'app',
  }
}
