import { archiveServerName, relationalNames } from '../../contracts/relational.ts'
import { timestamp } from '../../core/clock.ts'
import { uuidV5 } from '../../core/ids.ts'
import { type KubeObject, refOf } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { pluralize } from '../../core/pluralize.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { HIBERNATION_ANNOTATION } from '../../desired/relational/index.ts'
import { networkPolicy, persistentVolumeClaim, pod, secret, service } from '../../kube/builtin.ts'
import { ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import {
  barmanObjectStore,
  postgresqlCluster,
  postgresqlDatabase,
  postgresqlPooler,
  postgresqlScheduledBackup,
} from '../../kube/postgresql.ts'
import { related } from '../engine/lookups.ts'
import { findUnwatched } from '../engine/unwatched.ts'
import { awaitUnseenParts } from '../parts.ts'
import { isNamespaceTerminating, refOfPass } from '../workload/pass.ts'
import { ignoreMissingRights, removeRecordSecret } from '../workload/secrets.ts'
import {
  type EngineCluster,
  observedEngine,
  type RelationalPass,
  type StoredCluster,
  type StoredSnapshot,
} from './types.ts'
import { compactTimestamp } from './workload.ts'

function finalSnapshotId(pass: RelationalPass): string {
  return uuidV5(`final-snapshot/${pass.incarnation}`)
}

/**
 * Selects the snapshots deleted with the database: not those of an earlier database of this name, and never the final
 * one.
 */
function isDeletedWithCluster(pass: RelationalPass): (snapshot: StoredSnapshot) => boolean {
  if (pass.object.spec.onDelete === 'Retain') return () => false
  const { namespace, name } = refOfPass(pass)
  if (isNamespaceTerminating(pass.records, namespace)) return () => false
  const last = finalSnapshotId(pass)
  const server = archiveServerName(relationalNames(name).cluster, pass.incarnation)
  return ({ metadata, spec, status }) =>
    spec.clusterName === name && metadata.name !== last && (status?.serverName ?? server) === server
}

/** Points connections redirected here back to the databases they are named after; nothing would do so later. */
export async function releaseConnections(pass: RelationalPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  for (const other of related(pass.records.cache<StoredCluster>(pass.kind.resource), 'connectedTo', namespace, name)) {
    const { uid, deletionTimestamp } = other.metadata
    if (deletionTimestamp !== undefined) continue
    await pass.records.client.mergePatch(pass.kind.resource, refOf(other), { spec: { connectTo: null } }, { uid })
  }
  return done()
}

const DELETE_HINT = 'To delete it without one, set finalSnapshotOnDelete to false and onDelete to Delete.'
/** Milliseconds until a final snapshot is taken again after somebody deleted an incomplete one. */
const SNAPSHOT_RETRY_MS = 10 * 60_000

/**
 * Takes a final snapshot if requested, by `finalSnapshotOnDelete` or by retaining the data, which happens in snapshots.
 * A stopped database is started for it. A database that never ran has nothing to retain, and the deletion of a
 * namespace is not held up.
 */
export async function takeFinalSnapshot(pass: RelationalPass): Promise<Outcome> {
  const { spec, status } = pass.object
  if (!spec.finalSnapshotOnDelete && spec.onDelete !== 'Retain') return done()
  const { namespace, name } = refOfPass(pass)
  const { cluster } = relationalNames(name)
  const engine =
    observedEngine(pass) ??
    (await findUnwatched<EngineCluster>(pass.workloads, postgresqlCluster, { namespace, name: cluster }))
  if (isNamespaceTerminating(pass.records, namespace) || engine === undefined || status?.firstReadyAt === undefined)
    return done()
  // The engine is only deleted once the snapshot was complete, whatever happened to it since.
  if (engine.metadata.deletionTimestamp !== undefined) return done()
  const found = pass.records.cache(RelationalSnapshot).get(namespace, finalSnapshotId(pass))
  if (found?.status?.completedAt !== undefined) return done()
  const obstacle =
    status.backupEnabled !== true
      ? 'the database is not backed up'
      : spec.archivingSuspended
        ? 'its archive is suspended'
        : undefined
  if (obstacle !== undefined)
    return waiting('TearingDown', `A final snapshot is requested, but ${obstacle}. ${DELETE_HINT}`)
  if (found !== undefined) {
    pass.report({ finalSnapshotAt: status.finalSnapshotAt ?? found.metadata.creationTimestamp })
    const detail = found.status?.statusMessage ?? 'It has begun.'
    return waiting('BackingUp', `The last snapshot is being taken: ${detail} ${DELETE_HINT}`)
  }
  return (await wakeEngine(pass, engine)) ?? beginFinalSnapshot(pass)
}

/** Starts a stopped database for its snapshot; undefined once an instance is ready. */
async function wakeEngine(pass: RelationalPass, engine: EngineCluster): Promise<Outcome | undefined> {
  const { annotations, uid } = engine.metadata
  if (annotations?.[HIBERNATION_ANNOTATION] === 'on') {
    const patch = { metadata: { annotations: { [HIBERNATION_ANNOTATION]: 'off' } } }
    await pass.workloads.client.mergePatch(postgresqlCluster, refOf(engine), patch, { uid })
  } else if ((engine.status?.readyInstances ?? 0) > 0) return undefined
  return waiting('BackingUp', `The last snapshot is taken once an instance is ready. ${DELETE_HINT}`)
}

async function beginFinalSnapshot(pass: RelationalPass): Promise<Outcome> {
  const { status, metadata } = pass.object
  const { namespace, name } = refOfPass(pass)
  const retryAt = status?.finalSnapshotAt === undefined ? 0 : Date.parse(status.finalSnapshotAt) + SNAPSHOT_RETRY_MS
  const remainingMs = retryAt - pass.clock.now()
  if (remainingMs > 0) {
    const message = `The last snapshot was deleted before it was complete; another is taken at ${timestamp(retryAt)}. ${DELETE_HINT}`
    return waiting('BackingUp', message, remainingMs)
  }
  const snapshot: KubeObject = {
    apiVersion: RelationalSnapshot.apiVersion,
    kind: RelationalSnapshot.kind,
    metadata: { name: finalSnapshotId(pass), namespace },
    spec: { clusterName: name, name: `final-${compactTimestamp(metadata.deletionTimestamp ?? '')}`, kind: 'Final' },
  }
  await pass.records.client.create(RelationalSnapshot.resource, snapshot).catch(ignoreKubeAlreadyExists)
  pass.report({ finalSnapshotAt: pass.now })
  return waiting('BackingUp', `The last snapshot is being taken: It has begun. ${DELETE_HINT}`)
}

/** Deletes the snapshots that are not retained. */
export async function removeSnapshots(pass: RelationalPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  const isGoing = isDeletedWithCluster(pass)
  const listSnapshots = () => related(pass.records.cache(RelationalSnapshot), 'parent', namespace, name).filter(isGoing)
  for (const snapshot of listSnapshots()) {
    if (snapshot.metadata.deletionTimestamp !== undefined) continue
    const { uid } = snapshot.metadata
    await pass.records.client.remove(RelationalSnapshot.resource, refOf(snapshot), { uid })
  }
  const remaining = listSnapshots().length
  return remaining === 0 ? done() : waiting('TearingDown', `Deleting ${pluralize(remaining, 'snapshot')}.`)
}

/** Waits for snapshots created just before the deletion, which would stay for ever. */
export function awaitUnseenSnapshots(pass: RelationalPass): Promise<Outcome> {
  const isGoing = isDeletedWithCluster(pass)
  return awaitUnseenParts(pass, (part) => !isGoing(part as StoredSnapshot))
}

/** Deletes what writes to the database, and then the Cluster: the engine deletes its instances and volumes. */
export async function removeEngine(pass: RelationalPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  for (const resource of [postgresqlScheduledBackup, postgresqlPooler, postgresqlDatabase]) {
    await pass.children.prune(resource, [])
  }
  const names = relationalNames(name)
  const isGone = await pass.children.remove(postgresqlCluster, namespace, names.cluster)
  if (isNamespaceTerminating(pass.records, refOfPass(pass).namespace)) return done()
  if (!isGone) return waiting('TearingDown', 'The instances are being deleted.')
  const remaining = [pod, persistentVolumeClaim].flatMap((resource) =>
    related(pass.workloads.cache(resource), 'engine', namespace, names.cluster),
  )
  const list = remaining.map(({ metadata }) => metadata.name).sort()
  return list.length === 0 ? done() : waiting('TearingDown', `Still there: ${list.join(', ')}.`)
}

/** Deletes the other children now, because the garbage collector would leave names and passwords for a while. */
export async function removeAuxiliaryChildren(pass: RelationalPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  for (const resource of [barmanObjectStore, service, networkPolicy]) await pass.children.prune(resource, [])
  const names = relationalNames(name)
  for (const each of [names.owner, names.reader, names.writer, names.target]) {
    await ignoreMissingRights(() => pass.children.remove(secret, namespace, each))
  }
  return done()
}

/** Deletes the editor's history, which a later database of this name must not show. */
export const removeHistory = removeRecordSecret((name) => relationalNames(name).history)
