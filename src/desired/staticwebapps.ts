import { SITE_PORT, SITE_VARIABLE, siteConfiguration } from '../contracts/staticwebapps/configuration.ts'
import type { StaticWebApp } from '../crds/staticwebapps.ts'
import type { HostedApp } from './apps/instance.ts'

/**
 * A static web app as an app of one process: whatever is done for apps is done for it in the same way. How its files are served
 * is given to the web server where it runs, so that a change of it needs no build.
 */
export function siteApp(site: StaticWebApp): HostedApp {
  const { spec } = site
  const { clusterId, repositoryUrl, branch, pipeline, deployOnPush, previewBranches, deploymentSourceId } = spec
  const { image, computePlan, replicas, running, customDomains, deploy, rollback, restartedAt, tags } = spec
  return {
    ...site,
    spec: {
      ...{ clusterId, repositoryUrl, branch, pipeline, deployOnPush, previewBranches, deploymentSourceId },
      ...{ image, computePlan, replicas, running, customDomains, deploy, rollback, restartedAt, tags },
      sourceKind: image === undefined ? 'Repository' : 'Image',
      isPublic: spec.enableIngress,
      ingressHost: spec.ingressHost,
      port: SITE_PORT,
      // A web server that listens is ready, whichever of its paths has a file.
      healthPath: '',
      env: [{ name: SITE_VARIABLE, value: siteConfiguration(spec) }],
      volumes: [],
      managedIdentity: false,
      targetCpuPercent: 70,
      httpsOnly: true,
      sessionAffinity: false,
      requestTimeoutSeconds: 60,
      onDelete: 'Delete',
    },
  }
}
