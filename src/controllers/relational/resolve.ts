import { outsideRecoveryWindow } from '../../contracts/relational.ts'
import { timestamp } from '../../core/clock.ts'
import { RESTORE_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import { objectKey } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import type { Origin } from '../../desired/relational/index.ts'
import { postgresqlCluster, postgresqlDatabase, postgresqlPooler } from '../../kube/postgresql.ts'
import { otherClusterOf } from '../engine/whereabouts.ts'
import {
  INSTALL_ENGINE,
  type RelationalOptions,
  type RelationalPass,
  type RelationalStep,
  type StoredSnapshot,
} from './types.ts'

/** Without the engine's types nothing can be written. A watch of their definitions wakes us when they come. */
export function checkEngine({ workloads, object }: RelationalPass): Outcome {
  const { enablePooler, extensions } = object.spec
  const needed = [
    postgresqlCluster,
    ...(enablePooler ? [postgresqlPooler] : []),
    ...(extensions.length > 0 ? [postgresqlDatabase] : []),
  ]
  return needed.every((resource) => workloads.isServed(resource)) ? done() : stalled('EngineMissing', INSTALL_ENGINE)
}

/** How many connections the plan allows; the engine's own default where it does not say. */
export function limitConnections({ records, state }: RelationalPass): Outcome {
  const plan = records.cache(ComputePlan).get(undefined, state.planName)
  const connections = Number(plan?.spec.extras.maxConnections)
  state.maxConnections = Number.isSafeInteger(connections) && connections > 0 ? connections : undefined
  return done()
}

/** The database that the connection Services are to point to, and the one whose name is taken over, are on one cluster with it. */
export function checkReferences({ object, records }: RelationalPass): Outcome {
  const { connectTo, takesOver } = object.spec
  const databases = records.cache(RelationalCluster)
  const here = otherClusterOf(object, records)
  for (const [field, name] of Object.entries({ connectTo, takesOver })) {
    const found = name === undefined ? undefined : databases.get(object.metadata.namespace, name)
    if (found === undefined || otherClusterOf(found, records) === here) continue
    const message = `${field} names the database "${name}" of another cluster, which the Services of this cluster cannot reach.`
    return stalled('ConfigurationInvalid', message)
  }
  return connectTo === undefined || databases.get(object.metadata.namespace, connectTo) !== undefined
    ? done()
    : stalled('ReferenceMissing', `connectTo names the database "${connectTo}", which is not in this group.`)
}

/**
 * What a restored database is made from. It is looked up once and kept in the status: the engine reads it at the start
 * only, so that the snapshot may go afterwards.
 */
export function resolveOrigin(options: Pick<RelationalOptions, 'backupTarget'>): RelationalStep {
  return function resolveOrigin(pass: RelationalPass): Outcome {
    const { object, state } = pass
    const { restoreFrom } = object.spec
    if (restoreFrom === undefined) return done()
    state.origin = object.status?.origin
    if (state.origin !== undefined) return done()
    if (options.backupTarget === undefined) {
      return stalled('ConfigurationInvalid', 'This platform has no backup target, so nothing can be restored from it.')
    }
    const home = homeOfOrigin(pass, restoreFrom)
    if (home === undefined) {
      const message =
        'A database of another group is restored through the REST interface, which checks the rights on both.'
      return stalled('ReferenceMissing', message)
    }
    const snapshots = pass.records.cache(RelationalSnapshot)
    const snapshot = snapshots.get(home, restoreFrom.snapshotId)
    if (snapshot?.spec.clusterName !== restoreFrom.clusterName) {
      const what = `snapshot "${restoreFrom.snapshotId}" of database "${restoreFrom.clusterName}"`
      return stalled('ReferenceMissing', `There is no ${what}.`)
    }
    const origin = originOf(snapshot, restoreFrom)
    if (origin === undefined) {
      return waiting('WaitingForDependency', `Snapshot "${snapshot.spec.name}" is not completed yet.`)
    }
    const outside = outsideOf(pass, snapshot, origin)
    if (outside !== undefined) return stalled('ConfigurationInvalid', outside)
    state.origin = origin
    pass.report({ origin: state.origin })
    return done()
  }
}

type RestoreFrom = NonNullable<RelationalPass['object']['spec']['restoreFrom']>

/** The namespace of the snapshot; undefined if it is another group's and nobody checked the rights on it. */
export function homeOfOrigin({ object, place }: RelationalPass, restoreFrom: RestoreFrom): string | undefined {
  const { namespace = '', annotations } = object.metadata
  if (restoreFrom.resourceGroup === undefined) return namespace
  const home = groupNamespace(place.boundaryId ?? '', restoreFrom.resourceGroup)
  const isApproved = annotations?.[RESTORE_ANNOTATION] === objectKey(home, restoreFrom.snapshotId)
  return home === namespace || isApproved ? home : undefined
}

/** The clocks of facade and controllers may differ so much; in milliseconds. */
const CLOCK_SKEW = 60_000

/** Why the engine could not restore to that moment, told before it is asked; undefined if it can. */
function outsideOf({ records, clock }: RelationalPass, snapshot: StoredSnapshot, origin: Origin): string | undefined {
  if (origin.targetTime === undefined) return undefined
  const clusters = records.cache(RelationalCluster)
  const source = clusters.get(snapshot.metadata.namespace, origin.clusterName)
  const archive = source?.status?.serverName === origin.serverName ? source.status : undefined
  const now = timestamp(clock.now() + CLOCK_SKEW)
  return outsideRecoveryWindow(origin.targetTime, snapshot.status?.completedAt ?? '', archive, now)?.message
}

/** Undefined until the snapshot is completed. */
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
    databaseName: status?.databaseName ?? 'app',
    ownerName: status?.ownerName ?? 'app',
  }
}
