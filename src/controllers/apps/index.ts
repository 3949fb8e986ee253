import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import {
  deployment,
  horizontalPodAutoscaler,
  job,
  namespace,
  persistentVolumeClaim,
  secret,
} from '../../kube/builtin.ts'
import { keepAccessKeys, withdrawAccessKeys } from '../containers/accessKeys.ts'
import { keepBackups, policyObservers } from '../containers/backup.ts'
import { haltInstance, judgeHealth, observeInstance, reportStatus } from '../containers/health.ts'
import { CHILDREN, containerObservers, WRITES } from '../containers/observers.ts'
import { resolveComponents } from '../containers/resolve.ts'
import { removeAuxiliaryChildren, removeWorkload, unlessNamespaceTerminating } from '../containers/teardown.ts'
import type { ContainerOptions, InstancePass } from '../containers/types.ts'
import { keepValues, withdrawPullSecret } from '../containers/values.ts'
import { keepVolumes, removeVolumes } from '../containers/volumes.ts'
import { applyWorkload } from '../containers/workload.ts'
import { endBuilds } from '../deployments/builds.ts'
import { deploymentObserver } from '../deployments/owners.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { releaseQuota, releaseSurplusQuota } from '../quota.ts'
import { findCluster } from '../workload/cluster.ts'
import { claimHosts, releaseHosts, releaseUnserved } from '../workload/hosts.ts'
import { keepIdentity, withdrawIdentity } from '../workload/identity.ts'
import { childRights, volumeObserver } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { removeRevisions } from '../workload/revisions.ts'
import { removeBackups } from '../workload/volumeBackups.ts'
import { checkWorkloadQuota } from '../workload/workloadQuota.ts'
import { buildApp, chooseDeployment, keepDeployments } from './deployments.ts'
import {
  keepAutoscaler,
  numberRevision,
  removeReleases,
  reportServing,
  runReleaseCommand,
  trafficOf,
} from './release.ts'
import {
  type AppPass,
  type AppState,
  asAppStep,
  type CachedApp,
  instancePass,
  newAppState,
  viewOfApp,
} from './types.ts'

const OWN_CHILDREN = [horizontalPodAutoscaler, job]

/** Reconciles apps, mostly with the steps of container instances: docs/areas/apps.md. */
export const appController = controllerWith<typeof PlatformApp, ContainerOptions, AppState>(
  PlatformApp,
  {
    observes: [
      ...CHILDREN,
      ...OWN_CHILDREN,
      persistentVolumeClaim,
      secret,
      deploymentObserver(PlatformApp),
      volumeObserver(PlatformApp),
      ...policyObservers(PlatformApp),
      ...containerObservers<CachedApp>(PlatformApp, viewOfApp),
    ],
    reads: [namespace, { resource: DeploymentSource.resource, in: 'records' }],
    writes: [
      ...WRITES,
      ...childRights(OWN_CHILDREN),
      { resource: DeploymentRecord.resource, verbs: ['create', 'delete'] },
    ],
  },
  (options) => ({
    state: newAppState,
    collectsOrphans: [...CHILDREN, ...OWN_CHILDREN],
    reconcile: steps(
      asAppStep(observeInstance),
      asAppStep(withdrawIdentity),
      asAppStep(withdrawAccessKeys),
      asAppStep(withdrawPullSecret),
      asAppStep(releaseUnserved),
      keepDeployments,
      buildApp,
      asAppStep(findCluster),
      asAppStep(resolvePlan({ hasVolumes: false })),
      asAppStep(resolveComponents),
      asAppStep(checkWorkloadQuota(deployment, horizontalPodAutoscaler, persistentVolumeClaim)),
      asAppStep(claimHosts),
      chooseDeployment,
      asAppStep(keepVolumes),
      asAppStep(keepIdentity),
      asAppStep(keepAccessKeys),
      asAppStep(keepValues(options)),
      numberRevision,
      runReleaseCommand(options),
      runWorkload(options),
      keepAutoscaler,
      asAppStep(releaseHosts),
      asAppStep(keepBackups(options)),
      reportServing,
      asAppStep(reportStatus),
      asAppStep(judgeHealth),
    ),
    halt: (pass) => haltInstance(instancePass(pass)),
    afterSteps: releaseSurplusQuota,
    finalize: steps(
      endBuilds('apps'),
      removeReleases,
      asAppStep(unlessNamespaceTerminating(removeWorkload)),
      asAppStep(unlessNamespaceTerminating(removeVolumes)),
      asAppStep(removeAuxiliaryChildren),
      asAppStep(removeBackups),
      asAppStep(removeRevisions),
      asAppStep(releaseHosts),
      asAppStep(releaseQuota),
    ),
    finalizeRevoked: steps(
      endBuilds('apps'),
      asAppStep(removeRevisions),
      asAppStep(releaseHosts),
      asAppStep(releaseQuota),
    ),
  }),
)

function runWorkload(options: ContainerOptions) {
  return function runWorkload(pass: AppPass) {
    return asAppStep((view: InstancePass) => applyWorkload(options, () => trafficOf(pass))(view))(pass)
  }
}
