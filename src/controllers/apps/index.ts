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
import { backupObservers, keepBackups, removeBackups } from '../containers/backup.ts'
import { haltInstance, judgeHealth, observeInstance, reportStatus } from '../containers/health.ts'
import { CHILDREN, containerObservers, WRITES } from '../containers/observers.ts'
import { resolveComponents } from '../containers/resolve.ts'
import { removeSurroundings, removeWorkload, unlessNamespaceGoes } from '../containers/teardown.ts'
import type { ContainerOptions, InstancePass } from '../containers/types.ts'
import { keepValues, withdrawPullSecret } from '../containers/values.ts'
import { keepVolumes, removeVolumes } from '../containers/volumes.ts'
import { applyWorkload } from '../containers/workload.ts'
import { endBuilds } from '../deployments/builds.ts'
import { deploymentObserver } from '../deployments/owners.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { giveBackQuota, releaseQuota } from '../quota.ts'
import { findCluster } from '../workload/home.ts'
import { claimHosts, releaseHosts, releaseUnserved } from '../workload/hosts.ts'
import { keepIdentity, withdrawIdentity } from '../workload/identity.ts'
import { childRights, volumeObserver } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { removeRevisions } from '../workload/revisions.ts'
import { checkWorkloadQuota } from '../workload/running.ts'
import { buildApp, chooseDeployment, keepDeployments } from './deployments.ts'
import {
  keepAutoscaler,
  numberRevision,
  removeReleases,
  reportServing,
  runReleaseCommand,
  trafficOf,
} from './release.ts'
import { type AppPass, type AppState, type CachedApp, instancePass, newAppState, overApp, viewOfApp } from './types.ts'

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
      ...backupObservers(PlatformApp),
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
    collects: [...CHILDREN, ...OWN_CHILDREN],
    reconcile: steps(
      overApp(observeInstance),
      overApp(withdrawIdentity),
      overApp(withdrawAccessKeys),
      overApp(withdrawPullSecret),
      overApp(releaseUnserved),
      keepDeployments,
      buildApp,
      overApp(findCluster),
      overApp(resolvePlan({ hasVolumes: false })),
      overApp(resolveComponents),
      overApp(checkWorkloadQuota(deployment, horizontalPodAutoscaler, persistentVolumeClaim)),
      overApp(claimHosts),
      chooseDeployment,
      overApp(keepVolumes),
      overApp(keepIdentity),
      overApp(keepAccessKeys),
      overApp(keepValues(options)),
      numberRevision,
      runReleaseCommand(options),
      runWorkload(options),
      keepAutoscaler,
      overApp(releaseHosts),
      overApp(keepBackups(options)),
      reportServing,
      overApp(reportStatus),
      overApp(judgeHealth),
    ),
    halt: (pass) => haltInstance(instancePass(pass)),
    carriedOut: giveBackQuota,
    finalize: steps(
      endBuilds('apps'),
      removeReleases,
      overApp(unlessNamespaceGoes(removeWorkload)),
      overApp(unlessNamespaceGoes(removeVolumes)),
      overApp(removeSurroundings),
      overApp(removeBackups),
      overApp(removeRevisions),
      overApp(releaseHosts),
      overApp(releaseQuota),
    ),
    abandon: steps(endBuilds('apps'), overApp(removeRevisions), overApp(releaseHosts), overApp(releaseQuota)),
  }),
)

function runWorkload(options: ContainerOptions) {
  return function runWorkload(pass: AppPass) {
    return overApp((view: InstancePass) => applyWorkload(options, () => trafficOf(pass))(view))(pass)
  }
}
