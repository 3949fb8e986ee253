import { ENGINE_CLUSTER_LABEL } from '../../contracts/relational.ts'
import { type KubeObject, keyOf, objectKey } from '../../core/object.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { namespace, networkPolicy, persistentVolumeClaim, pod, secret, service } from '../../kube/builtin.ts'
import {
  barmanObjectStore,
  postgresqlBackup,
  postgresqlCluster,
  postgresqlDatabase,
  postgresqlPooler,
  postgresqlScheduledBackup,
} from '../../kube/postgresql.ts'
import { volumeSnapshotClass } from '../../kube/velero.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { releaseQuota, releaseSurplusQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { cannotStart } from '../stateful/health.ts'
import { findCluster } from '../workload/cluster.ts'
import { childRights, volumeObserver, workloadObservers } from '../workload/observers.ts'
import { newWorkloadState } from '../workload/pass.ts'
import { checkImage, fillReplicas, resolvePlan } from '../workload/resolve.ts'
import { checkWorkloadQuota } from '../workload/workloadQuota.ts'
import { BACKUP_SECRET, ensureSecrets, refreshTargetCredentials, resolveBackup, restoreLoginSecrets } from './backup.ts'
import { grantEditorAccess } from './editor.ts'
import { haltEngine } from './halt.ts'
import { judgeHealth, observeEngine, reportEngine, reportStatus } from './health.ts'
import { checkEngine, checkReferences, limitConnections, resolveOrigin } from './resolve.ts'
import { relationalSnapshotController } from './snapshots.ts'
import {
  awaitUnseenSnapshots,
  releaseConnections,
  removeAuxiliaryChildren,
  removeEngine,
  removeHistory,
  removeSnapshots,
  takeFinalSnapshot,
} from './teardown.ts'
import type { EngineBackup, RelationalOptions, RelationalState, StoredSnapshot } from './types.ts'
import { databasesAwaitingSnapshots, VOLUME_SNAPSHOT_RIGHTS } from './volumeSnapshots.ts'
import { checkStorage } from './volumes.ts'
import { completeWal } from './wal.ts'
import { applyChildren, mirrorBackups } from './workload.ts'

const keys = (objects: readonly KubeObject[]) => objects.map(keyOf)

/** Finds the database of a Cluster. Long names are cut, so the name cannot be derived from the Cluster's. */
function keysOfEngine(records: Workspace, namespace: string | undefined, cluster: string | undefined): string[] {
  return keys(related(records.cache(RelationalCluster), 'engine', namespace, cluster))
}

const byEngineLabel = ({ metadata }: KubeObject, records: Workspace) => {
  const cluster = metadata.labels?.[ENGINE_CLUSTER_LABEL]
  return cluster === undefined ? [] : keysOfEngine(records, metadata.namespace, cluster)
}

/** Wakes relational databases, besides their own changes and those of their children. */
const OTHERS: readonly Observed[] = [
  { resource: persistentVolumeClaim, keysOf: byEngineLabel },
  // Only terminating pods matter here, and pods that cannot start; the engine reports on all others.
  {
    resource: pod,
    keysOf: (object, records) =>
      object.metadata.deletionTimestamp === undefined && !cannotStart(object) ? [] : byEngineLabel(object, records),
  },
  {
    resource: postgresqlBackup,
    keysOf: (object, records) =>
      keysOfEngine(records, object.metadata.namespace, (object as EngineBackup).spec.cluster?.name),
  },
  {
    resource: RelationalSnapshot.resource,
    keysOf: (object, records) => {
      const { clusterName } = (object as StoredSnapshot).spec
      const restoring = related(records.cache(RelationalCluster), 'restoredFrom', object.metadata.name)
      return [objectKey(object.metadata.namespace, clusterName), ...keys(restoring)]
    },
  },
  // Databases whose connection Services point to it.
  {
    resource: RelationalCluster.resource,
    keysOf: ({ metadata: { namespace, name } }, records) =>
      keys(related(records.cache(RelationalCluster), 'connectedTo', namespace, name)),
  },
  volumeObserver(RelationalCluster),
  { resource: volumeSnapshotClass, keysOf: (_, records) => databasesAwaitingSnapshots(records) },
  ...workloadObservers(RelationalCluster),
]

const CHILDREN = [
  postgresqlCluster,
  postgresqlDatabase,
  postgresqlPooler,
  postgresqlScheduledBackup,
  barmanObjectStore,
  service,
  networkPolicy,
] as const

/** Without the Secrets of groups, to which RoleBindings in each namespace give access. */
const WRITES: readonly Rights[] = [
  ...childRights(CHILDREN),
  VOLUME_SNAPSHOT_RIGHTS,
  { resource: RelationalCluster.resource, verbs: ['get', 'patch'] },
  LEDGER_RIGHTS,
  { resource: RelationalSnapshot.resource, verbs: ['create', 'delete'] },
  { resource: secret, verbs: ['get'], resourceNames: [BACKUP_SECRET], in: 'system' },
]

const RIGHTS = { observes: [...CHILDREN, secret, ...OTHERS], reads: [namespace], writes: WRITES }

/** Reconciles relational databases: docs/areas/relational.md. */
const relationalController = controllerWith<typeof RelationalCluster, RelationalOptions, RelationalState>(
  RelationalCluster,
  RIGHTS,
  (options) => ({
    state: newWorkloadState,
    fillSpec: fillReplicas(RelationalCluster, 1),
    reconcile: steps(
      observeEngine,
      findCluster,
      checkEngine,
      // These run even if the database cannot be brought to its spec.
      mirrorBackups,
      restoreLoginSecrets(options),
      refreshTargetCredentials(options),
      resolveBackup(options),
      reportEngine,
      checkImage(options),
      resolvePlan({ minReplicas: 1 }),
      limitConnections,
      checkWorkloadQuota(postgresqlCluster),
      checkReferences,
      resolveOrigin(options),
      checkStorage,
      ensureSecrets(options),
      completeWal(options),
      applyChildren(options),
      reportStatus,
      grantEditorAccess(options),
      judgeHealth,
    ),
    halt: haltEngine,
    afterSteps: releaseSurplusQuota,
    finalize: steps(
      releaseConnections,
      takeFinalSnapshot,
      removeSnapshots,
      removeEngine,
      awaitUnseenSnapshots,
      removeAuxiliaryChildren,
      removeHistory,
      releaseQuota,
    ),
    finalizeRevoked: steps(releaseConnections, removeSnapshots, awaitUnseenSnapshots, removeHistory, releaseQuota),
  }),
)

export const RELATIONAL_CONTROLLERS = [relationalController, relationalSnapshotController]
