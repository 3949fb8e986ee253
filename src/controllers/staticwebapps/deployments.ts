import { done, type Outcome } from '../../core/outcome.ts'
import { codeOf, deployCode, deployWhenAsked } from '../apps/deployments.ts'
import { type SitePass, sitePass } from './types.ts'

/** Creates deployments for builds: if the code's location or build settings changed, and for `deploy` of the spec. */
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
