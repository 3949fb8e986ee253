import { ownerLabelSelector } from '../../contracts/workloads.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { siteApp } from '../../desired/staticwebapps.ts'
import { deployment, namespace } from '../../kube/builtin.ts'
import { chooseDeployment, keepDeployments } from '../apps/deployments.ts'
import { numberRevision, reportServing, trafficOf } from '../apps/release.ts'
import { type AppState, asAppStep, instancePass, newAppState, viewOfApp } from '../apps/types.ts'
import { haltInstance, judgeHealth, observeInstance, reportStatus } from '../containers/health.ts'
import { CHILDREN, containerObservers } from '../containers/observers.ts'
import { resolveComponents } from '../containers/resolve.ts'
import { removeAuxiliaryChildren, removeWorkload, unlessNamespaceTerminating } from '../containers/teardown.ts'
import type { ContainerOptions } from '../containers/types.ts'
import { applyWorkload } from '../containers/workload.ts'
import { endBuilds } from '../deployments/builds.ts'
import { deploymentObserver } from '../deployments/owners.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { CLAIM_RIGHTS } from '../nameClaims.ts'
import { releaseQuota, releaseSurplusQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { findCluster } from '../workload/cluster.ts'
import { claimHosts, releaseHosts, releaseUnserved } from '../workload/hosts.ts'
import { childRights } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { REVISION_RIGHTS, removeRevisions } from '../workload/revisions.ts'
import { checkWorkloadQuota } from '../workload/workloadQuota.ts'
import { buildSite } from './deployments.ts'
import { asSiteStep, instanceStepAsSiteStep, type SitePass, type SiteStep, sitePass } from './types.ts'

type Options = Pick<ContainerOptions, 'registryHost' | 'disk'>
type Stored = StaticWebApp & { [key: string]: unknown }

/** Reconciles static web apps, mostly with the steps of apps: docs/areas/staticwebapps.md. */
export const siteController = controllerWith<typeof StaticWebApp, Options, AppState>(
  StaticWebApp,
  {
    observes: [
      ...CHILDREN,
      deploymentObserver(StaticWebApp),
      ...containerObservers<Stored>(StaticWebApp, (site) => viewOfApp(siteApp(site) as never)),
    ],
    reads: [namespace, { resource: DeploymentSource.resource, in: 'records' }],
    writes: [
      ...childRights(CHILDREN),
      { resource: DeploymentRecord.resource, verbs: ['create', 'delete'] },
      ...[REVISION_RIGHTS, LEDGER_RIGHTS, CLAIM_RIGHTS],
    ],
  },
  (options) => ({
    state: newAppState,
    collectsOrphans: CHILDREN,
    reconcile: steps(
      instanceStepAsSiteStep(observeInstance),
      reportSelector,
      instanceStepAsSiteStep(releaseUnserved),
      asSiteStep(keepDeployments),
      buildSite,
      instanceStepAsSiteStep(findCluster),
      instanceStepAsSiteStep(resolvePlan({ hasVolumes: false })),
      instanceStepAsSiteStep(resolveComponents),
      instanceStepAsSiteStep(checkWorkloadQuota(deployment)),
      instanceStepAsSiteStep(claimHosts),
      asSiteStep(chooseDeployment),
      asSiteStep(numberRevision),
      serve(options),
      instanceStepAsSiteStep(releaseHosts),
      asSiteStep(reportServing),
      instanceStepAsSiteStep(reportStatus),
      instanceStepAsSiteStep(judgeHealth),
    ),
    halt: (pass) => haltInstance(instancePass(sitePass(pass))),
    afterSteps: releaseSurplusQuota,
    finalize: steps(
      endBuilds('staticwebapps'),
      instanceStepAsSiteStep(unlessNamespaceTerminating(removeWorkload)),
      instanceStepAsSiteStep(removeAuxiliaryChildren),
      asSiteStep(removeRevisions),
      instanceStepAsSiteStep(releaseHosts),
      instanceStepAsSiteStep(releaseQuota),
    ),
    finalizeRevoked: steps(
      endBuilds('staticwebapps'),
      asSiteStep(removeRevisions),
      instanceStepAsSiteStep(releaseHosts),
      instanceStepAsSiteStep(releaseQuota),
    ),
  }),
)

/** Reports the selector for the scale subresource. */
function reportSelector(pass: SitePass): Outcome {
  const { object } = pass
  pass.report({ selector: ownerLabelSelector(object.kind, object.metadata.name) })
  return done()
}

function serve(options: Options): SiteStep {
  return asSiteStep(function serve(pass) {
    return asAppStep(applyWorkload(options, () => trafficOf(pass)))(pass)
  })
}
