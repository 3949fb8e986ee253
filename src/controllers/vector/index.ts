import { vectorNames } from '../../contracts/vector.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { configMap, ingress, networkPolicy, podDisruptionBudget, service, statefulSet } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { controllerWith, type Observed, steps } from '../engine/controller.ts'
import { CLAIM_RIGHTS } from '../nameClaims.ts'
import { releaseQuota, releaseSurplusQuota } from '../quota.ts'
import { haltStateful } from '../stateful/halt.ts'
import { observeWorkload } from '../stateful/pass.ts'
import { statefulRights } from '../stateful/rights.ts'
import { removeAuxiliaryChildren, removeVolumes, removeWorkload } from '../stateful/teardown.ts'
import { adoptVolumes, checkStorage, growVolumes, keepStorageClass } from '../stateful/volumes.ts'
import { findCluster } from '../workload/cluster.ts'
import { hostObserver, releaseHosts } from '../workload/hosts.ts'
import { podObserver, workloadObservers } from '../workload/observers.ts'
import { checkImage, fillReplicas, resolvePlan } from '../workload/resolve.ts'
import { checkWorkloadQuota } from '../workload/workloadQuota.ts'
import { drainBeforeShrinking } from './drain.ts'
import { judgeHealth, judgeStopped, reportStatus } from './health.ts'
import { claimHost, releaseUnservedHost, wantedHost } from './hosts.ts'
import { alwaysUpdatingKeys, ensureKeys, trackRotation } from './keys.ts'
import { keepSnapshots } from './snapshots.ts'
import { newVectorState, type VectorOptions, type VectorState } from './types.ts'
import { applyWorkload, runningEngine, wantedEngine } from './workload.ts'

type Cached = VectorCluster & { [key: string]: unknown }

/** Wakes vector databases, besides their own changes and those of their children. */
const OTHERS: readonly Observed[] = [
  podObserver(VectorCluster),
  hostObserver<Cached>(VectorCluster, (each, domain) => [wantedHost(each, domain)]),
  ...workloadObservers(VectorCluster),
]

const OWN = statefulRights(VectorCluster, [
  statefulSet,
  service,
  configMap,
  ingress,
  httpRoute,
  networkPolicy,
  podDisruptionBudget,
])

/** Without the pod proxy, to which RoleBindings in each namespace give access. */
const RIGHTS = { ...OWN, observes: [...OWN.observes, ...OTHERS], writes: [...OWN.writes, CLAIM_RIGHTS] }

/** Reconciles vector databases: docs/areas/vector.md. */
export const vectorController = controllerWith<typeof VectorCluster, VectorOptions, VectorState>(
  VectorCluster,
  RIGHTS,
  (options) => ({
    state: newVectorState,
    fillSpec: fillReplicas(VectorCluster, 0),
    reconcile: alwaysUpdatingKeys(
      options,
      steps(
        observeWorkload,
        releaseUnservedHost,
        findCluster,
        checkImage(options),
        resolvePlan({ minReplicas: 0 }),
        checkWorkloadQuota(statefulSet),
        claimHost,
        adoptVolumes(wantedEngine),
        keepStorageClass,
        checkStorage,
        ensureKeys(options),
        drainBeforeShrinking(options),
        growVolumes,
        applyWorkload,
        releaseHosts,
        reportStatus,
        trackRotation,
        keepSnapshots(options),
        judgeHealth,
      ),
    ),
    halt: haltStateful(judgeStopped),
    afterSteps: releaseSurplusQuota,
    finalize: steps<typeof VectorCluster, VectorState>(
      removeWorkload,
      removeVolumes(runningEngine),
      removeAuxiliaryChildren({
        resources: [service, podDisruptionBudget, networkPolicy, configMap],
        secretsOf: (name) => [vectorNames(name).keys],
      }),
      releaseHosts,
      releaseQuota,
    ),
    finalizeRevoked: steps(releaseHosts, releaseQuota),
  }),
)
