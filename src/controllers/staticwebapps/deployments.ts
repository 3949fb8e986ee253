import { newestDeployment } from '../../contracts/deployments.ts'
import { sha256 } from '../../core/names.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { deploy, idFor, ownDeployments } from '../apps/deployments.ts'
import { type SitePass, sitePass } from './types.ts'

/**
 * What the spec asks to be built becomes a deployment: code that is elsewhere or built in another way than before, and what
 * `deploy` asks for.
 */
export async function buildSite(pass: SitePass): Promise<Outcome> {
  const { object } = pass
  const { repositoryUrl, branch, pipeline, deploymentSourceId, deploy: asked } = object.spec
  if (repositoryUrl === undefined) {
    pass.report({ deployedCode: undefined })
    return done()
  }
  const app = sitePass(pass)
  const code = { strategy: 'Build', branch, repositoryName: repositoryNameOf(repositoryUrl), provider: 'Git' } as const
  const hash = sha256(JSON.stringify([repositoryUrl, branch, pipeline, deploymentSourceId])).slice(0, 16)
  if (object.status?.deployedCode !== hash) {
    // Of this generation: who goes back to code from before has it built anew.
    const cause = ['code', hash, String(object.metadata.generation ?? 1)]
    await deploy(app, cause, code)
    // Not one of a former site of this name, which is on its way out: when it is gone, this pass comes again.
    if (ownDeployments(app).some(({ metadata }) => metadata.name === idFor(app, cause)))
      pass.report({ deployedCode: hash })
  }
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

function repositoryNameOf(url: string): string {
  return new URL(url).pathname.replace(/^\/+|(\.git)?\/*$/g, '').slice(0, 255)
}
