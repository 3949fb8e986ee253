import { OutgoingError } from '../../adapters/outgoing/port.ts'
import { SourceError } from '../../adapters/sources/port.ts'
import type { BuildRequest, RegistryAccount, SiteOptions } from '../../contracts/builds/request.ts'
import { imageOwnerOf } from '../../contracts/deployments.ts'
import { formatRepository, PLATFORM_ACTOR } from '../../contracts/registry/names.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { ServerlessFunction } from '../../crds/functions.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { type BuildableCode, buildRequestOf } from '../../desired/builds/index.ts'
import { BuildNotStartedError } from './buildNotStarted.ts'
import { checkoutCredentials } from './checkout.ts'
import { prepareFunctionCode } from './functionCode.ts'
import { ownerOf, type RecordPass } from './owners.ts'
import type { BuildOptions } from './types.ts'

type BuiltSpec = Partial<BuildableCode> & Partial<SiteOptions> & { deploymentSourceId?: string | undefined }
type Found = Pick<Parameters<typeof buildRequestOf>[0], 'code' | 'archive' | 'files' | 'credentials' | 'hostAddresses'>

/** Placeholder registry for simulated builds. */
const NO_REGISTRY = 'builds.freehold.invalid'

export const registryHostOf = ({ registry }: Pick<BuildOptions, 'registry'>) => registry?.host ?? NO_REGISTRY

/** Returns the build request of a deployment, with newly issued credentials. @throws BuildNotStartedError */
export async function prepareBuildRequest(pass: RecordPass, options: BuildOptions): Promise<BuildRequest> {
  const { object, scope } = pass
  const { ownerCollection, commitSha, branch } = object.spec
  const { boundaryId = '', resourceGroup = '' } = scope
  const owner = { boundaryId, resourceGroup, ...imageOwnerOf(object.spec) }
  const spec = specOf(pass)
  if (options.settings === undefined)
    throw new BuildNotStartedError(
      'This platform builds nothing: an administrator must set buildImage and registryUrl.',
    )
  if (options.registry === undefined && !options.isSimulated)
    throw new BuildNotStartedError(
      'This platform has no registry for built images: an administrator must set registryUrl.',
    )
  const found = await codeOf(pass, formatRepository(owner), options)
  const seconds = found.code.pipeline.buildTimeoutMinutes * 60
  const request = buildRequestOf({
    ...{ owner, deploymentId: object.metadata.name, commit: commitSha, branch },
    ...(ownerCollection === 'staticwebapps' ? { purpose: 'Site', site: siteOf(spec) } : { purpose: 'Service' }),
    registry: registryHostOf(options),
    ...(await registryAccounts(pass, formatRepository(owner), seconds, options)),
    ...found,
  })
  if (request === undefined) throw noSourceError()
  return request
}

const specOf = (pass: RecordPass) => (ownerOf(pass)?.spec ?? {}) as BuiltSpec
const noSourceError = () =>
  new BuildNotStartedError('There is nothing to build: set repositoryUrl, or upload a source.')

/** Returns what to build and the credentials for it. @throws BuildNotStartedError */
async function codeOf(pass: RecordPass, repository: string, options: BuildOptions): Promise<Found> {
  const { ownerCollection, archive } = pass.object.spec
  if (ownerCollection === 'functions')
    return prepareFunctionCode(pass, ownerOf(pass) as unknown as ServerlessFunction | undefined, repository, options)
  const spec = specOf(pass)
  if (spec.pipeline === undefined || (spec.repositoryUrl === undefined && archive === undefined)) throw noSourceError()
  if (archive !== undefined && !archive.startsWith(`${repository}@`))
    throw new BuildNotStartedError('The uploaded source does not belong to this resource.')
  return { code: spec as BuildableCode, archive, ...(archive === undefined && (await gitAccess(pass, spec, options))) }
}

function siteOf({ isSinglePage, notFoundPage, cacheControl, headers, proxyUrl }: BuiltSpec): SiteOptions {
  return {
    isSinglePage: isSinglePage ?? true,
    notFoundPage: notFoundPage ?? '404.html',
    cacheControl: cacheControl ?? 'public, max-age=300',
    headers: headers ?? {},
    proxyUrl,
  }
}

/** Returns the addresses of the Git host and the credentials for the repository. */
async function gitAccess(
  pass: RecordPass,
  { repositoryUrl = '', deploymentSourceId }: BuiltSpec,
  options: BuildOptions,
) {
  try {
    // A simulated build fetches nothing.
    const hostAddresses = options.isSimulated ? [] : await options.addressesOf(repositoryUrl)
    if (deploymentSourceId === undefined) return { hostAddresses }
    const repository = { repositoryUrl, deploymentSourceId }
    return { hostAddresses, credentials: await checkoutCredentials(pass, repository, options) }
  } catch (error) {
    if (!(error instanceof SourceError || error instanceof OutgoingError)) throw error
    throw new BuildNotStartedError(error.message, error.reason !== 'Unreachable')
  }
}

/** Seconds for which credentials outlive the build's timeout, because a build may wait for a node. */
const CREDENTIAL_SLACK_SECONDS = 1_800

/** Issues accounts for this repository only: read access next to the source's commands, write access for the push. */
async function registryAccounts(
  { records, scope, clock }: RecordPass,
  repositories: string,
  seconds: number,
  { registry }: BuildOptions,
): Promise<{ pull?: RegistryAccount; push?: RegistryAccount }> {
  if (registry === undefined) return {}
  const { boundaryId = '', resourceGroup = '' } = scope
  const incarnationOf = (found: { metadata: { annotations?: Record<string, string> } } | undefined) =>
    found?.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
  const incarnations = {
    [boundaryId]: incarnationOf(records.cache(Boundary).get(undefined, boundaryId)),
    [`${boundaryId}/${resourceGroup}`]: incarnationOf(
      records.cache(ResourceGroup).get(boundaryNamespace(boundaryId), resourceGroup),
    ),
  }
  const expiresAt = clock.now() + (seconds + CREDENTIAL_SLACK_SECONDS) * 1000
  const account = async (...actions: string[]): Promise<RegistryAccount> => ({
    username: 'build',
    password: await registry.keys.issue({
      ...{ kind: 'Build', principalId: PLATFORM_ACTOR, principalType: 'Platform' },
      ...{ limit: { repositories, actions }, lives: incarnations, expiresAt },
    }),
  })
  return { pull: await account('pull'), push: await account('pull', 'push') }
}
