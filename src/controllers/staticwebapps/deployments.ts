import { done, type Outcome } from '../../core/outcome.ts'
import { codeOf, deployCode, deployWhenAsked } from '../apps/deployments.ts'
import { type SitePass, sitePass } from './types.ts'

/**
 * What the spec asks to be built becomes a deployment: code that is elsewhere or built in another way than before, and what
 * `deploy` asks for.
 */
export async function buildSite(pass: SitePass): Promise<Outcome> {
  const { repositoryUrl, branch, pipeline, deploymentSourceId } = pass.object.spec
  if (repositoryUrl === undefined) {
    pass.report({ deployedCode: undefined })
    return done()
  }
  const app = sitePass(pass)
  const code = codeOf(app, { repositoryUrl, branch, deploymentSourceId })
  await deployCode(app, [repositoryUrl, branch, pipeline, deploymentSourceId], code)
  await deployWhenAsked(app, code)
  return done()
}
