import { ContainerInstance, completeInstance } from '../../crds/containerinstances.ts'
import { deployment, namespace, persistentVolumeClaim, secret } from '../../kube/builtin.ts'
import { keepAccessKeys, withdrawAccessKeys } from '../containers/accessKeys.ts'
import { keepBackups, policyObservers } from '../containers/backup.ts'
import { haltInstance, judgeHealth, observeInstance, reportStatus } from '../containers/health.ts'
import { CHILDREN, containerObservers, WRITES } from '../containers/observers.ts'
import { resolveComponents, resolveParameters } from '../containers/resolve.ts'
import { removeAuxiliaryChildren, removeWorkload, unlessNamespaceTerminating } from '../containers/teardown.ts'
import {
  asStoredInstanceStep,
  type CachedInstance,
  type ContainerOptions,
  type InstanceState,
  newInstanceState,
  withInstanceDefaults,
} from '../containers/types.ts'
import { keepValues, withdrawPullSecret } from '../containers/values.ts'
import { keepVolumes, removeVolumes } from '../containers/volumes.ts'
import { applyWorkload, keepRevisions } from '../containers/workload.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { releaseQuota, releaseSurplusQuota } from '../quota.ts'
import { findCluster } from '../workload/cluster.ts'
import { claimHosts, releaseHosts, releaseUnserved } from '../workload/hosts.ts'
import { keepIdentity, withdrawIdentity } from '../workload/identity.ts'
import { volumeObserver } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { removeRevisions } from '../workload/revisions.ts'
import { removeBackups } from '../workload/volumeBackups.ts'
import { checkWorkloadQuota } from '../workload/workloadQuota.ts'

/** Reconciles container instances: docs/areas/containerinstances.md. */
export const containerController = controllerWith<typeof ContainerInstance, ContainerOptions, InstanceState>(
  ContainerInstance,
  {
    observes: [
      ...CHILDREN,
      persistentVolumeClaim,
      secret,
      volumeObserver(ContainerInstance),
      ...policyObservers(ContainerInstance),
      ...containerObservers<CachedInstance>(ContainerInstance, completeInstance),
    ],
    reads: [namespace],
    writes: WRITES,
  },
  (options) => ({
    state: newInstanceState,
    collectsOrphans: CHILDREN,
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
      ].map(asStoredInstanceStep),
    ),
    halt: (pass) => haltInstance(withInstanceDefaults(pass)),
    afterSteps: releaseSurplusQuota,
    finalize: steps(
      ...[
        unlessNamespaceTerminating(removeWorkload),
        unlessNamespaceTerminating(removeVolumes),
        removeAuxiliaryChildren,
        removeBackups,
        removeRevisions,
        releaseHosts,
        releaseQuota,
      ].map(asStoredInstanceStep),
    ),
    finalizeRevoked: steps(...[removeRevisions, releaseHosts, releaseQuota].map(asStoredInstanceStep)),
  }),
)
