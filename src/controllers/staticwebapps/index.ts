import { ownerLabelSelector } from '../../contracts/workloads.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { siteApp } from '../../desired/staticwebapps.ts'
import { deployment, namespace } from '../../kube/builtin.ts'
import { chooseDeployment, keepDeployments } from '../apps/deployments.ts'
import { numberRevision, reportServing, trafficOf } from '../apps/release.ts'
import { type AppState, instancePass, newAppState, overApp, viewOfApp } from '../apps/types.ts'
import { haltInstance, judgeHealth, observeInstance, reportStatus } from '../containers/health.ts'
import { CHILDREN, containerObservers } from '../containers/observers.ts'
import { resolveComponents } from '../containers/resolve.ts'
import { removeSurroundings, removeWorkload, unlessNamespaceGoes } from '../containers/teardown.ts'
import type { ContainerOptions } from '../containers/types.ts'
import { applyWorkload } from '../containers/workload.ts'
import { endBuilds } from '../deployments/builds.ts'
import { deploymentObserver } from '../deployments/owners.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { CLAIM_RIGHTS } from '../nameClaims.ts'
import { giveBackQuota, releaseQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { findCluster } from '../workload/home.ts'
import { claimHosts, releaseHosts, releaseUnserved } from '../workload/hosts.ts'
import { childRights } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { REVISION_RIGHTS, removeRevisions } from '../workload/revisions.ts'
import { checkWorkloadQuota } from '../workload/running.ts'
import { buildSite } from './deployments.ts'
import { overComponents, overSite, type SitePass, type SiteStep, sitePass } from './types.ts'

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
    collects: CHILDREN,
    reconcile: steps(
      overComponents(observeInstance),
      reportSelector,
      overComponents(releaseUnserved),
      overSite(keepDeployments),
      buildSite,
      overComponents(findCluster),
      overComponents(resolvePlan({ hasVolumes: false })),
      overComponents(resolveComponents),
      overComponents(checkWorkloadQuota(deployment)),
      overComponents(claimHosts),
      overSite(chooseDeployment),
      overSite(numberRevision),
      serve(options),
      overComponents(releaseHosts),
      overSite(reportServing),
      overComponents(reportStatus),
      overComponents(judgeHealth),
    ),
    halt: (pass) => haltInstance(instancePass(sitePass(pass))),
    carriedOut: giveBackQuota,
    finalize: steps(
      endBuilds('staticwebapps'),
      overComponents(unlessNamespaceGoes(removeWorkload)),
      overComponents(removeSurroundings),
      overSite(removeRevisions),
      overComponents(releaseHosts),
      overComponents(releaseQuota),
    ),
    abandon: steps(
      endBuilds('staticwebapps'),
      overSite(removeRevisions),
      overComponents(releaseHosts),
      overComponents(releaseQuota),
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
  return overSite(function serve(pass) {
    return overApp(applyWorkload(options, () => trafficOf(pass)))(pass)
  })
}
