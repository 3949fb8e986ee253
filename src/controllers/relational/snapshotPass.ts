import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import type { Pass, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import type { StoredCluster, StoredSnapshot } from './types.ts'

export type SnapshotPass = Pass<typeof RelationalSnapshot>

/** Returns the database; undefined if it is gone. */
export function clusterOf({ records, object }: SnapshotPass): StoredCluster | undefined {
  const clusters = records.cache(RelationalCluster)
  return clusters.get(object.metadata.namespace, object.spec.clusterName)
}

/** Returns all snapshots of a database. */
export function siblingsOf(records: Workspace, namespace: string | undefined, clusterName: string): StoredSnapshot[] {
  return [...related(records.cache(RelationalSnapshot), 'parent', namespace, clusterName)]
}

/** Returns the database's place, on the cluster where the Backup is. */
export function placeOf({ object, workloads }: SnapshotPass) {
  return { namespace: object.metadata.namespace, name: object.spec.clusterName, workloads }
}
