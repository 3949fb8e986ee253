import type {
  BuildRequest,
  BuildSource,
  BuildTarget,
  GitCredentials,
  RegistryAccount,
} from '../../contracts/builds/request.ts'
import { formatRepository } from '../../contracts/registry/names.ts'
import type { PlatformApp } from '../../crds/apps.ts'

/** The fields of a kind whose code is built. Fields that sites lack are optional. */
export type BuildableCode = Pick<PlatformApp['spec'], 'repositoryUrl' | 'branch' | 'pipeline'> &
  Partial<Pick<PlatformApp['spec'], 'dockerfilePath' | 'runtime' | 'runtimeVersion' | 'startCommand' | 'port'>>

export type BuildRequestInput = {
  readonly owner: BuildRequest['owner']
  readonly deploymentId: string
  readonly code: BuildableCode
  /** From the deployment: the pushed commit, another branch, or an uploaded archive. */
  readonly commit?: string | undefined
  readonly branch?: string | undefined
  readonly archive?: string | undefined
  /** Files written over the source. */
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

/** Returns the build request for a deployment of a resource; undefined if there is nothing to build. */
export function buildRequestOf(input: BuildRequestInput): BuildRequest | undefined {
  const { owner, deploymentId, code, purpose, site, files } = input
  const source = sourceOf(input)
  if (source === undefined) return undefined
  const { pipeline, dockerfilePath, runtime, runtimeVersion, startCommand, port = SITE_PORT } = code
  const { rootPath, buildCommand, builderImage, buildEnv, buildTimeoutMinutes } = pipeline
  const branch = input.branch ?? code.branch
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
    target: targetOf(input, branch),
  }
}

/** Ignores the default `dist` without a build command: plain files have no such folder. */
function outputOf({ pipeline: { outputPath, buildCommand } }: BuildableCode): string | undefined {
  return outputPath === 'dist' && buildCommand === undefined ? undefined : outputPath
}

function sourceOf({
  code,
  commit,
  branch = code.branch,
  archive,
  credentials,
  hostAddresses,
}: BuildRequestInput): BuildSource | undefined {
  if (archive !== undefined) return { kind: 'Archive', reference: archive }
  if (code.repositoryUrl === undefined) return undefined
  return { kind: 'Git', url: code.repositoryUrl, branch, commit, credentials, hostAddresses }
}

function targetOf({ owner, deploymentId, registry, pull, push }: BuildRequestInput, branch: string): BuildTarget {
  return { registry, repository: formatRepository(owner), tag: deploymentId, cache: branch, pull, push }
}
