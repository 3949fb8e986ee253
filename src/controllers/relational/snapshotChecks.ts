import { skipsArchiving } from '../../contracts/platformbackups/archives.ts'
import { ageOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import type { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { barmanObjectStore, postgresqlBackup } from '../../kube/postgresql.ts'
import type { Step } from '../engine/controller.ts'
import { clusterOf, placeOf, type SnapshotPass, siblingsOf } from './snapshotPass.ts'
import {
  type EngineCluster,
  INSTALL_ENGINE,
  INSTALL_PLUGIN,
  type RelationalOptions,
  type StoredCluster,
  type StoredSnapshot,
} from './types.ts'
import { engineOf, namedClassOf, volumeObstacle } from './volumeSnapshots.ts'

/** Checks what a Backup requires. Skipped for a completed snapshot. */
export function checkSnapshot({
  backupTarget,
}: Pick<RelationalOptions, 'backupTarget'>): Step<typeof RelationalSnapshot> {
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
