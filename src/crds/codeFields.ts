import { z } from 'zod'
import { EnvironmentVariableField, ImageReference } from './containerFields.ts'
import type { AdmissionRule, Rule } from './define.ts'
import { CancelledDeployment } from './deployments.ts'
import { ProcessText } from './environment.ts'
import { DateTime, integerBetween, listMapOf, listSetOf, matching, On, RelativePath, Uuid } from './fields.ts'
import { BranchName, BranchPattern, CommitSha } from './gitFields.ts'
import { celUnchanged } from './referenceAdmission.ts'
import { SourceUrl } from './sources.ts'

/** Fields of kinds whose code the platform builds: where it is, and how it becomes an image. */

const Folder = matching(
  255,
  /^\/([A-Za-z0-9_@+-][A-Za-z0-9._@+-]*(\/[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*)*)?$/,
  'must be a folder, such as / or /web',
)

export const Command = ProcessText.min(1).max(4096)

export const Pipeline = z.strictObject({
  rootPath: Folder.default('/').describe('Folder of the repository that is built'),
  buildCommand: Command.optional().describe('Build command; detected if absent'),
  builderImage: ImageReference.optional().describe('Image to build in; that of the runtime if absent'),
  outputPath: RelativePath.default('dist').describe('Folder with the files of a built site, below rootPath'),
  buildEnv: listMapOf('name', EnvironmentVariableField.omit({ secret: true, output: true }), 50)
    .default([])
    .describe('Variables of the build; they are not in the image'),
  buildTimeoutMinutes: integerBetween(1, 60).default(15).describe('Minutes after which a build fails'),
})

export const codeFields = {
  repositoryUrl: SourceUrl.optional().describe('Repository of the code, https or ssh'),
  branch: BranchName.default('main').describe('Branch that is deployed'),
  pipeline: Pipeline.prefault({}).describe('How the code becomes an image'),
  deploymentSourceId: Uuid.optional().describe(
    'Id of the DeploymentSource with the credentials of the repository; a public one if absent',
  ),
  deployOnPush: On.describe('Whether a push to the branch deploys it'),
  previewBranches: listSetOf(BranchPattern, 20)
    .default([])
    .describe('Branches that get a preview of their own, with * and ? for any characters; never those of forks'),
}

const requestedAt = DateTime.describe('Time of the request; a later time is a new request')

/** Requests to the deployments of such kinds; REST has a route for each. */
export const deploymentRequests = {
  deploy: z
    .strictObject({
      requestedAt,
      branch: BranchName.optional().describe('Branch to use instead of the one in the spec'),
      commit: CommitSha.optional().describe('Commit of the branch; the newest if absent'),
    })
    .optional()
    .describe('Builds and serves the code as it is now'),
  rollback: z
    .strictObject({ deploymentId: Uuid.describe('Deployment whose image to serve again'), requestedAt })
    .optional()
    .describe('Serves an earlier image again, without a build, until something newer is deployed'),
  cancelledDeployment: CancelledDeployment,
}

export const deployRule: Rule<{ repositoryUrl?: string | undefined; deploy?: object | undefined }> = {
  cel: '!has(self.deploy) || has(self.repositoryUrl)',
  message: 'deploy needs repositoryUrl: it builds what is in a repository',
  field: 'deploy',
  test: ({ deploy, repositoryUrl }) => deploy === undefined || repositoryUrl !== undefined,
}

/** Credentials are useless without the repository that they open. */
export const sourceRule: Rule<{ repositoryUrl?: string | undefined; deploymentSourceId?: string | undefined }> = {
  cel: '!has(self.deploymentSourceId) || has(self.repositoryUrl)',
  message: 'deploymentSourceId needs repositoryUrl',
  field: 'deploymentSourceId',
  test: ({ repositoryUrl, deploymentSourceId }) => deploymentSourceId === undefined || repositoryUrl !== undefined,
}

/** Returns CEL for whether the caller may use the credentials of a deployment source; of all sources without a name. */
export const celMayUseSource = (namespace: string, name?: string) =>
  `authorizer.group('delivery.freehold.dev').resource('deploymentsources').namespace(${namespace})${name === undefined ? '' : `.name(${name})`}.check('use').allowed()`
export const sourceForbiddenMessage = (field: string) =>
  `${field} names a deployment source whose credentials you may not use: that needs kernel/deployments/token at the boundary`

/** Whoever builds with the credentials of a source can see what they give access to. */
export const sourceAdmission: AdmissionRule = {
  on: 'WRITE',
  cel: `variables.isExempt || !has(object.spec.deploymentSourceId) || ${celUnchanged('deploymentSourceId', 'repositoryUrl')} || ${celMayUseSource("'boundary-' + namespaceObject.metadata.labels['freehold.dev/boundary']", 'object.spec.deploymentSourceId')}`,
  message: sourceForbiddenMessage('deploymentSourceId'),
}
