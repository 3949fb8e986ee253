import { OutgoingError } from '../../adapters/outgoing/port.ts'
import { SourceError } from '../../adapters/sources/port.ts'
import { isOfBuild, keyOfBuild } from '../../contracts/builds/labels.ts'
import { BUILD_NAMESPACE, type BuiltDeployment, buildName } from '../../contracts/builds/progress.ts'
import type { BuildRequest, RegistryAccount, SiteOptions } from '../../contracts/builds/request.ts'
import { type DeployedCollection, imageOwnerOf, isBuildingPhase, isFinalPhase } from '../../contracts/deployments.ts'
import { formatRepository, PLATFORM_ACTOR } from '../../contracts/registry/names.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { ServerlessFunction } from '../../crds/functions.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import {
  type BuildableCode,
  type BuildJob,
  type BuildPod,
  buildRequestOf,
  isHalfStarted,
  isOver,
  observeBuild,
  simulatedBuild,
} from '../../desired/builds/index.ts'
import { deploymentBuild } from '../../desired/deployments.ts'
import { job, pod } from '../../kube/builtin.ts'
import { absent } from '../../kube/errors.ts'
import { cancelBuild, jobRefOf, startBuild } from '../builds.ts'
import type { Observed, Pass } from '../engine/controller.ts'
import { withSecretRights } from '../workload/secrets.ts'
import { BuildNotStartedError } from './buildNotStarted.ts'
import { checkoutCredentials } from './checkout.ts'
import { prepareFunctionCode } from './functionCode.ts'
import { type CachedRecord, deploymentsOf, ownerOf, type RecordPass } from './owners.ts'
import type { BuildOptions, RecordState, RecordStep } from './types.ts'

type BuildPass = RecordPass<RecordState>

/** A build's Job and pods wake the build's deployment. */
export const BUILD_OBSERVERS: readonly Observed[] = [job, pod].map((resource) => ({
  resource,
  keysOf: ({ metadata }) => keyOfBuild(metadata),
}))

const deploymentOf = ({ metadata: { namespace = '', name } }: CachedRecord): BuiltDeployment => ({ namespace, name })

/** A Job missing from the cache may be new: only the API server knows whether it is gone. */
async function findJob(pass: BuildPass): Promise<BuildJob | undefined> {
  const { namespace, name } = jobRefOf(deploymentOf(pass.object))
  const held = pass.workloads.cache<BuildJob>(job).get(namespace, name)
  if (held !== undefined || !isBuildingPhase(pass.object.status?.stage)) return held
  return pass.workloads.client.get<BuildJob>(job, { namespace, name }).catch(absent)
}

/** Observes the build. A started build whose Job is gone has failed: somebody deleted it. */
export function followBuild(options: BuildOptions): RecordStep {
  return async function followBuild(pass) {
    const { object, state, workloads, scope } = pass
    if (object.spec.strategy !== 'Build') return done()
    const found = await findJob(pass)
    if (found === undefined || isHalfStarted(found)) return done()
    const pods = workloads
      .cache<BuildPod>(pod)
      .list({ namespace: BUILD_NAMESPACE })
      .filter(({ metadata }) => isOfBuild(metadata, deploymentOf(object)))
    const { boundaryId = '', resourceGroup = '' } = scope
    const repository = formatRepository({ boundaryId, resourceGroup, ...imageOwnerOf(object.spec) })
    const observed = observeBuild(found, pods)
    const progress = options.isSimulated ? simulatedBuild(found, observed, object.metadata.name) : observed
    const seen = deploymentBuild(progress, `${registryHostOf(options)}/${repository}`)
    state.build = { job: found, pods, seen, isOver: isOver(found) || observed.outcome !== undefined }
    return done()
  }
}

/** Milliseconds for which a Git provider or name server may be unreachable, and between two attempts. */
const START_TIMEOUT_MS = 600_000
const START_RETRY_MS = 15_000

/** Starts the build if it is its turn, or reports why it cannot start. */
export function beginBuild(options: BuildOptions): RecordStep {
  return async function beginBuild(pass) {
    const { object, state, clock, now, workloads } = pass
    if (state.decision?.starts !== true || ownerOf(pass)?.metadata.deletionTimestamp !== undefined) return done()
    const { settings } = options
    return withSecretRights(async () => {
      try {
        const request = await prepareBuildRequest(pass, options)
        if (settings !== undefined) await startBuild(workloads.client, request, settings)
      } catch (error) {
        if (!(error instanceof BuildNotStartedError)) throw error
        // Count from the first attempt, not from creation: the deployment may have waited for an earlier build.
        const since = object.status?.triedSince ?? now
        pass.report({ triedSince: since })
        const isOver = error.isFinal || clock.now() - Date.parse(since) >= START_TIMEOUT_MS
        state.decision = { stage: isOver ? 'Failed' : 'Queued', message: error.message }
        if (!isOver) return done({ after: START_RETRY_MS })
      }
      return done()
    })
  }
}

/** Cancels a build that is no longer wanted, and deletes a finished one once its log and outcome are stored. */
export async function endBuild(pass: BuildPass): Promise<Outcome> {
  const { object, state, workloads } = pass
  const { stage, logLines } = object.status ?? {}
  const deployment = deploymentOf(object)
  const held = workloads.cache<BuildJob>(job).get(BUILD_NAMESPACE, buildName(deployment))
  if (held === undefined || held.metadata.deletionTimestamp !== undefined) return done()
  const isStored = (isFinalPhase(stage) || stage === 'Deploying') && state.decision?.stage !== undefined
  const isKept = logLines !== undefined || isHalfStarted(held)
  if (isStored && isKept) await cancelBuild(workloads.client, deployment)
  return done()
}

/** Cancels the builds of a deleted owner: its deployments are deleted with it, and would not cancel them. */
export function endBuilds(collection: DeployedCollection) {
  return async function endBuilds({ object, records }: Pick<Pass, 'object' | 'records'>) {
    const { namespace, name } = object.metadata
    for (const record of deploymentsOf(records, { namespace, collection, name })) {
      const { spec, status } = record
      // Builds run on the platform's own cluster, wherever the result runs.
      if (spec.strategy === 'Build' && !isFinalPhase(status?.stage))
        await cancelBuild(records.client, deploymentOf(record))
    }
    return done()
  }
}

type BuiltSpec = Partial<BuildableCode> & Partial<SiteOptions> & { deploymentSourceId?: string | undefined }
type Found = Pick<Parameters<typeof buildRequestOf>[0], 'code' | 'archive' | 'files' | 'credentials' | 'hostAddresses'>

/** Placeholder registry for simulated builds. */
const NO_REGISTRY = 'builds.freehold.invalid'

const registryHostOf = ({ registry }: Pick<BuildOptions, 'registry'>) => registry?.host ?? NO_REGISTRY

/** Returns the build request of a deployment, with newly issued credentials. @throws BuildNotStartedError */
async function prepareBuildRequest(pass: RecordPass, options: BuildOptions): Promise<BuildRequest> {
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
