import type {
  BuildRequest,
  BuildSource,
  BuildTarget,
  GitCredentials,
  RegistryAccount,
} from '../../contracts/builds/request.ts'
import { repositoryText } from '../../contracts/registry/names.ts'
import type { PlatformApp } from '../../crds/apps.ts'

/** The fields of a kind whose code is built; those that a site has not are absent. */
export type Code = Pick<PlatformApp['spec'], 'repositoryUrl' | 'branch' | 'pipeline'> &
  Partial<Pick<PlatformApp['spec'], 'dockerfilePath' | 'runtime' | 'runtimeVersion' | 'startCommand' | 'port'>>

export type Asked = {
  readonly owner: BuildRequest['owner']
  readonly deploymentId: string
  readonly code: Code
  /** Of the deployment: the commit that was pushed, another branch, an uploaded archive. */
  readonly commit?: string | undefined
  readonly branch?: string | undefined
  readonly archive?: string | undefined
  /** Laid over the source. */
  readonly files?: BuildRequest['recipe']['files']
  readonly purpose: BuildRequest['recipe']['purpose']
  readonly site?: BuildRequest['recipe']['site']
  readonly registry: string
  readonly pull?: RegistryAccount | undefined
  readonly push?: RegistryAccount | undefined
  readonly credentials?: GitCredentials | undefined
  readonly hostAddresses?: readonly string[] | undefined
}

const SITE_PORT = 8080

/** What a build is asked for, of what a resource and one of its deployments say. Undefined if there is nothing to build. */
export function buildRequestOf(asked: Asked): BuildRequest | undefined {
  const { owner, deploymentId, code, purpose, site, files } = asked
  const source = sourceOf(asked)
  if (source === undefined) return undefined
  const { pipeline, dockerfilePath, runtime, runtimeVersion, startCommand, port = SITE_PORT } = code
  const { rootPath, buildCommand, builderImage, buildEnv, buildTimeoutMinutes } = pipeline
  const branch = asked.branch ?? code.branch
  return {
    owner,
    deploymentId,
    source,
    recipe: {
      ...{ purpose, runtime, runtimeVersion, builderImage, buildCommand, startCommand, dockerfilePath, rootPath, port },
      ...(files !== undefined && { files }),
      ...(purpose === 'Site' && { outputPath: outputOf(code), site }),
      environment: buildEnv.map(({ name, value = '' }) => ({ name, value })),
      timeoutSeconds: buildTimeoutMinutes * 60,
    },
    target: targetOf(asked, branch),
  }
}

/** The field has a default, which means the usual place and not that there is such a folder: files as they are have none. */
function outputOf({ pipeline: { outputPath, buildCommand } }: Code): string | undefined {
  return outputPath === 'dist' && buildCommand === undefined ? undefined : outputPath
}

function sourceOf({
  code,
  commit,
  branch = code.branch,
  archive,
  credentials,
  hostAddresses,
}: Asked): BuildSource | undefined {
  if (archive !== undefined) return { kind: 'Archive', reference: archive }
  if (code.repositoryUrl === undefined) return undefined
  return { kind: 'Git', url: code.repositoryUrl, branch, commit, credentials, hostAddresses }
}

function targetOf({ owner, deploymentId, registry, pull, push }: Asked, branch: string): BuildTarget {
  return { registry, repository: repositoryText(owner), tag: deploymentId, cache: branch, pull, push }
}
