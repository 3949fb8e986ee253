import type { WantedRevision } from '../../contracts/revisions.ts'
import { type AppContent, type DeployedImage, REVISED } from '../../crds/appRevisions.ts'
import { APP_COMPONENT, type PlatformApp } from '../../crds/apps.ts'

export function wantedRevision({ spec }: PlatformApp, deployed: DeployedImage): WantedRevision<AppContent> {
  const fields = REVISED.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]] as const]))
  const { image, commit, deploymentId } = deployed
  return {
    content: { image, ...(commit !== undefined && { commit }), deploymentId, ...Object.fromEntries(fields) },
    redeployedAt: {},
    parts: partsOf,
    restorable: ({ volumes: _volumes, deploymentId: _deployment, commit: _commit, ...rest }) => rest,
  }
}

/** Returns the part of the content whose change rolls out new copies. */
function partsOf(content: AppContent): Record<string, unknown> {
  const { image, computePlan, port, healthPath, env, volumes = [], startCommand, managedIdentity } = content
  const mounted = volumes.map(({ size: _, ...volume }) => volume)
  return {
    [APP_COMPONENT]: { image, computePlan, port, healthPath, env, volumes: mounted, startCommand, managedIdentity },
  }
}
