import { newestDeployment } from '../../contracts/deployments.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { codeOf, deploy, deployCode } from '../apps/deployments.ts'
import { ownDeployments } from '../deployments/owners.ts'
import { type SitePass, sitePass } from './types.ts'

/**
 * What the spec asks to be built becomes a deployment: code that is elsewhere or built in another way than before, and what
 * `deploy` asks for.
 */
export async function buildSite(pass: SitePass): Promise<Outcome> {
  const { repositoryUrl, branch, pipeline, deploymentSourceId, deploy: asked } = pass.object.spec
  if (repositoryUrl === undefined) {
    pass.report({ deployedCode: undefined })
    return done()
  }
  const app = sitePass(pass)
  const code = codeOf(app, { repositoryUrl, branch, deploymentSourceId })
  await deployCode(app, [repositoryUrl, branch, pipeline, deploymentSourceId], code)
  if (asked === undefined) return done()
  const { requestedAt, commit } = asked
  const wanted = { ...code, branch: asked.branch ?? branch, ...(commit !== undefined && { commitSha: commit }) }
  const before = pass.object.status?.deployRequestedAt
  if (before !== undefined && Date.parse(requestedAt) <= Date.parse(before)) return done()
  // The first one may have come with the site, or from before requests were noted: then there is a deployment that is newer.
  // Creation times are in whole seconds: of one of the very second the request is later.
  const isOld = before === undefined && Date.parse(requestedAt) < createdAt(newestDeployment(ownDeployments(app)))
  if (!isOld) await deploy(app, ['deploy', requestedAt], wanted)
  pass.report({ deployRequestedAt: requestedAt })
  return done()
}

function createdAt(record: { metadata: { creationTimestamp?: string | undefined } } | undefined): number {
  return Date.parse(record?.metadata.creationTimestamp ?? '') || 0
}
