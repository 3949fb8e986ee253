import type { Wanted } from '../../contracts/revisions.ts'
import { APP_COMPONENT, type PlatformApp } from '../../crds/apps.ts'

/** What a revision of an app is about beside its image, and what a rollback brings back. */
export const REVISED = [
  'computePlan',
  'port',
  'healthPath',
  'env',
  'volumes',
  'startCommand',
  'releaseCommand',
  'registryCredential',
  'managedIdentity',
  'isPublic',
  'customDomains',
] as const satisfies readonly (keyof PlatformApp['spec'])[]

/** What is deployed: an image, where it came from, and the deployment that brought it. */
export type Deployed = { image: string; commit?: string | undefined; deploymentId: string }
export type AppContent = Deployed & Partial<Pick<PlatformApp['spec'], (typeof REVISED)[number]>>

export function wantedRevision({ spec }: PlatformApp, deployed: Deployed): Wanted<AppContent> {
  const fields = REVISED.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]] as const]))
  const { image, commit, deploymentId } = deployed
  return {
    content: { image, ...(commit !== undefined && { commit }), deploymentId, ...Object.fromEntries(fields) },
    redeployedAt: {},
    parts: partsOf,
    essence: ({ volumes: _volumes, deploymentId: _deployment, commit: _commit, ...rest }) => rest,
  }
}

/** What of the content makes the copies anew. */
function partsOf(content: AppContent): Record<string, unknown> {
  const { image, computePlan, port, healthPath, env, volumes = [], startCommand, managedIdentity } = content
  const mounted = volumes.map(({ size: _, ...volume }) => volume)
  return {
    [APP_COMPONENT]: { image, computePlan, port, healthPath, env, volumes: mounted, startCommand, managedIdentity },
  }
}
