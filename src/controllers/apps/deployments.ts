import { deploymentIdFor, newestDeployment, wantedDeployment } from '../../contracts/deployments.ts'
import { originOf } from '../../contracts/sources/repositories.ts'
import { sha256 } from '../../core/names.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { sourceWithId } from '../deployments/checkout.ts'
import { type CachedRecord, ownDeployments } from '../deployments/owners.ts'
import { refOfPass } from '../workload/pass.ts'
import type { AppPass } from './types.ts'

/** Returns a deterministic id, or the next if another owner's deployment has it: users can choose ids for those. */
function freeDeploymentId({ kind, object, records }: AppPass, cause: readonly string[]): string {
  const { namespace = '', name } = object.metadata
  const cache = records.cache(DeploymentRecord)
  for (let attempt = 0; ; attempt += 1) {
    const id = deploymentIdFor(
      `${namespace}/${kind.segment}/${name}`,
      ...cause,
      ...(attempt === 0 ? [] : [`${attempt}`]),
    )
    const spec = cache.get(namespace, id)?.spec
    if (spec === undefined || (spec.ownerCollection === kind.segment && spec.ownerName === name)) return id
  }
}

/** Creates a deployment, once per cause. */
export async function deploy(
  pass: AppPass,
  cause: readonly string[],
  spec: Partial<DeploymentRecord['spec']>,
): Promise<void> {
  const { namespace, name: ownerName } = refOfPass(pass)
  await pass.recordChildren.create(
    {
      apiVersion: DeploymentRecord.apiVersion,
      kind: DeploymentRecord.kind,
      metadata: { name: freeDeploymentId(pass, cause), namespace },
      spec: { ownerCollection: pass.kind.segment, ownerName, ...spec },
    },
    { resource: DeploymentRecord.resource },
  )
}

/** Creates a deployment for what the spec asks to serve: a new image, or a rollback. */
export async function keepDeployments(pass: AppPass): Promise<Outcome> {
  const { spec } = pass.object
  const own = ownDeployments(pass)
  const newest = newestDeployment(own)
  if (spec.image !== undefined && newest?.spec.image !== spec.image) {
    const cause = ['image', newest?.metadata.name ?? '', spec.image]
    await deploy(pass, cause, { strategy: 'Image', image: spec.image, provider: 'Registry', source: 'image' })
  }
  return spec.rollback === undefined ? done() : rollBack(pass, own, spec.rollback)
}

/** Deploys anew if the code's location or the way to build it changed. */
export async function buildApp(pass: AppPass): Promise<Outcome> {
  const { spec } = pass.object
  if (spec.sourceKind !== 'Repository') return done()
  const { repositoryUrl = '', branch, pipeline, deploymentSourceId, dockerfilePath, runtime, runtimeVersion } = spec
  const code = [repositoryUrl, branch, pipeline, deploymentSourceId, dockerfilePath, runtime, runtimeVersion]
  const request = codeOf(pass, { repositoryUrl, branch, deploymentSourceId })
  await deployCode(pass, code, request)
  await deployWhenAsked(pass, request)
  return done()
}

type Code = { repositoryUrl: string; branch: string | undefined; deploymentSourceId: string | undefined }

/** Returns the deployment fields that describe code from a repository. */
export function codeOf(pass: AppPass, { repositoryUrl, branch, deploymentSourceId }: Code) {
  const origin = originOf(repositoryUrl, sourceWithId(pass, deploymentSourceId)?.spec)
  return { strategy: 'Build', branch, ...origin } as const
}

/** @param code its location and build settings: deployed once for each combination */
export async function deployCode(pass: AppPass, code: readonly unknown[], spec: Partial<DeploymentRecord['spec']>) {
  const { status, metadata } = pass.object
  const hash = sha256(JSON.stringify(code)).slice(0, 16)
  if (status?.deployedCode === hash) return
  // Include the generation, so that going back to earlier code builds it again.
  const cause = ['code', hash, String(metadata.generation ?? 1)]
  await deploy(pass, cause, spec)
  // Not if the record still belongs to a deleted owner of the same name: its removal triggers another pass.
  const isOurs = ownDeployments(pass).some((record) => record.metadata.name === freeDeploymentId(pass, cause))
  if (isOurs) pass.report({ deployedCode: hash })
}

/**
 * Deploys for `deploy` of the spec, once per later time.
 *
 * @param code what is deployed unless `deploy` says otherwise
 */
export async function deployWhenAsked(pass: AppPass, code: ReturnType<typeof codeOf>): Promise<void> {
  const { spec, status } = pass.object
  if (spec.deploy === undefined) return
  const { requestedAt, commit, branch = code.branch } = spec.deploy
  const before = status?.deployRequestedAt
  if (before !== undefined && Date.parse(requestedAt) <= Date.parse(before)) return
  // The first request may have come with the app, or from before requests were recorded: then a newer deployment
  // exists. Creation times have whole seconds; within the same second, the request counts as later.
  const isOld = before === undefined && Date.parse(requestedAt) < createdAt(newestDeployment(ownDeployments(pass)))
  const wanted = { ...code, branch, ...(commit !== undefined && { commitSha: commit }) }
  if (!isOld) await deploy(pass, ['deploy', requestedAt], wanted)
  pass.report({ deployRequestedAt: requestedAt })
}

function createdAt(record: { metadata: { creationTimestamp?: string | undefined } } | undefined): number {
  return Date.parse(record?.metadata.creationTimestamp ?? '') || 0
}

async function rollBack(
  pass: AppPass,
  own: readonly CachedRecord[],
  { deploymentId, requestedAt }: NonNullable<AppPass['object']['spec']['rollback']>,
): Promise<Outcome> {
  const cause = ['rollback', requestedAt, deploymentId]
  const id = freeDeploymentId(pass, cause)
  if (own.some(({ metadata }) => metadata.name === id)) return done()
  const target = own.find(({ metadata }) => metadata.name === deploymentId)
  // A target that is no longer kept was already rolled back to, or cannot be any more.
  if (target?.status?.image === undefined) return done()
  const { branch, commitSha = target.status.commitSha, provider, repositoryName, source } = target.spec
  const code = { branch, commitSha, provider, repositoryName, source }
  const known = Object.fromEntries(Object.entries(code).filter(([, value]) => value !== undefined))
  await deploy(pass, cause, { strategy: 'Image', image: target.status.image, ...known })
  return done()
}

/** Chooses the deployment to serve. Without one there is nothing to run. */
export function chooseDeployment(pass: AppPass): Outcome {
  const own = ownDeployments(pass)
  const wanted = wantedDeployment(own)
  const newest = newestDeployment(own)
  // Otherwise the new configuration would be rolled out with the old image.
  if (isUnreleased(pass.object.spec, newest))
    return waiting('RollingOut', 'A deployment of another image is on its way.')
  if (wanted?.status?.image !== undefined) {
    const commit = wanted.status.commitSha ?? wanted.spec.commitSha
    pass.state.deployed = { image: wanted.status.image, deploymentId: wanted.metadata.name, ...(commit && { commit }) }
    return done()
  }
  if (newest === undefined && pass.object.spec.sourceKind !== 'Image')
    return waiting('WaitingForDependency', 'Nothing has been deployed yet.')
  if (newest?.status?.stage === 'Failed')
    return stalled('BuildFailed', `Deployment ${newest.status.number ?? ''} failed: ${newest.status.lastMessage ?? ''}`)
  if (newest?.status?.stage === 'Cancelled')
    return waiting(
      'WaitingForDependency',
      `Nothing is deployed: deployment ${newest.status.number ?? ''} was cancelled.`,
    )
  return waiting('Building', 'The first deployment is on its way.')
}

/** Whether the image in the spec has not been released yet. */
function isUnreleased({ image }: AppPass['object']['spec'], newest: CachedRecord | undefined): boolean {
  if (newest === undefined) return image !== undefined
  const isQueued = newest.spec.strategy === 'Image' && newest.status?.image === undefined
  return isQueued || (image !== undefined && newest.spec.image !== image)
}
