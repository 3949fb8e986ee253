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
  const isLater = Date.parse(requestedAt) > createdAt(newestDeployment(ownDeployments(app)))
  if (isLater) await deploy(app, ['deploy', requestedAt], wanted)
  return done()
}

function createdAt(record: { metadata: { creationTimestamp?: string | undefined } } | undefined): number {
  return Date.parse(record?.metadata.creationTimestamp ?? '') || 0
}
