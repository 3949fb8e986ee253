import { SITE_PORT, SITE_VARIABLE, siteConfiguration } from '../contracts/staticwebapps/configuration.ts'
import type { StaticWebApp } from '../crds/staticwebapps.ts'
import type { HostedApp } from './apps/instance.ts'

/**
 * Presents a static web app as an app, so that both share the same code. The web server gets its configuration at run
 * time, so that changing it needs no build.
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
      // Probe the port instead of a path: none of the site's paths is guaranteed to exist.
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
