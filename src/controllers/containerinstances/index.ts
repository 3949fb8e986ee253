import { ContainerInstance, completeInstance } from '../../crds/containerinstances.ts'
import { deployment, namespace, persistentVolumeClaim, secret } from '../../kube/builtin.ts'
import { keepAccessKeys, withdrawAccessKeys } from '../containers/accessKeys.ts'
import { backupObservers, keepBackups, removeBackups } from '../containers/backup.ts'
import { haltInstance, judgeHealth, observeInstance, reportStatus } from '../containers/health.ts'
import { CHILDREN, containerObservers, WRITES } from '../containers/observers.ts'
import { resolveComponents, resolveParameters } from '../containers/resolve.ts'
import { removeSurroundings, removeWorkload, unlessNamespaceGoes } from '../containers/teardown.ts'
import {
  type CachedInstance,
  type ContainerOptions,
  type InstanceState,
  newInstanceState,
  overWhole,
  wholePass,
} from '../containers/types.ts'
import { keepValues, withdrawPullSecret } from '../containers/values.ts'
import { keepVolumes, removeVolumes } from '../containers/volumes.ts'
import { applyWorkload, keepRevisions } from '../containers/workload.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { giveBackQuota, releaseQuota } from '../quota.ts'
import { findCluster } from '../workload/home.ts'
import { claimHosts, releaseHosts, releaseUnserved } from '../workload/hosts.ts'
import { keepIdentity, withdrawIdentity } from '../workload/identity.ts'
import { volumeObserver } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { removeRevisions } from '../workload/revisions.ts'
import { checkWorkloadQuota } from '../workload/running.ts'

/** Reconciles container instances: docs/areas/containerinstances.md. */
export const containerController = controllerWith<typeof ContainerInstance, ContainerOptions, InstanceState>(
  ContainerInstance,
  {
    observes: [
      ...CHILDREN,
      persistentVolumeClaim,
      secret,
      volumeObserver(ContainerInstance),
      ...backupObservers(ContainerInstance),
      ...containerObservers<CachedInstance>(ContainerInstance, completeInstance),
    ],
    reads: [namespace],
    writes: WRITES,
  },
  (options) => ({
    state: newInstanceState,
    collects: CHILDREN,
    reconcile: steps(
      ...[
        observeInstance,
        withdrawIdentity,
        withdrawAccessKeys,
        withdrawPullSecret,
        releaseUnserved,
        findCluster,
        resolvePlan({ hasVolumes: false }),
        resolveComponents,
        resolveParameters,
        checkWorkloadQuota(deployment, persistentVolumeClaim),
        claimHosts,
        keepVolumes,
        keepIdentity,
        keepAccessKeys,
        keepValues(options),
        keepRevisions,
        applyWorkload(options),
        releaseHosts,
        keepBackups(options),
        reportStatus,
        judgeHealth,
      ].map(overWhole),
    ),
    halt: (pass) => haltInstance(wholePass(pass)),
    carriedOut: giveBackQuota,
    finalize: steps(
      ...[
        unlessNamespaceGoes(removeWorkload),
        unlessNamespaceGoes(removeVolumes),
        removeSurroundings,
        removeBackups,
        removeRevisions,
        releaseHosts,
        releaseQuota,
      ].map(overWhole),
    ),
    abandon: steps(...[removeRevisions, releaseHosts, releaseQuota].map(overWhole)),
  }),
)
