import { deploymentIdFor, isEnd, newestDeployment, wantedDeployment } from '../../contracts/deployments.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { type CachedRecord, deploymentsOf } from '../deployments/owners.ts'
import { placeOfPass } from '../workload/pass.ts'
import type { AppPass } from './types.ts'

function ownDeployments({ object, records }: AppPass): CachedRecord[] {
  const { namespace, name } = object.metadata
  return deploymentsOf(records, { namespace, collection: PlatformApp.segment, name })
}

/** Makes a deployment, once for each cause. */
async function deploy(pass: AppPass, cause: readonly string[], spec: Partial<DeploymentRecord['spec']>): Promise<void> {
  const { namespace, name: ownerName } = placeOfPass(pass)
  await pass.children.create(
    {
      apiVersion: DeploymentRecord.apiVersion,
      kind: DeploymentRecord.kind,
      metadata: { name: deploymentIdFor(pass.object.metadata.uid ?? '', ...cause), namespace },
      spec: { ownerCollection: PlatformApp.segment, ownerName, ...spec },
    },
    { resource: DeploymentRecord.resource },
  )
}

/** What the spec asks to be served becomes a deployment: a new image, or an earlier one again. */
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

async function rollBack(
  pass: AppPass,
  own: readonly CachedRecord[],
  { deploymentId, requestedAt }: NonNullable<AppPass['object']['spec']['rollback']>,
): Promise<Outcome> {
  const cause = ['rollback', requestedAt, deploymentId]
  const id = deploymentIdFor(pass.object.metadata.uid ?? '', ...cause)
  if (own.some(({ metadata }) => metadata.name === id)) return done()
  const target = own.find(({ metadata }) => metadata.name === deploymentId)
  // One that is no longer kept was rolled back to, or can no longer be.
  if (target?.status?.image === undefined) return done()
  const { branch, commitSha = target.status.commitSha, provider, repositoryName } = target.spec
  const code = { branch, commitSha, provider, repositoryName }
  const known = Object.fromEntries(Object.entries(code).filter(([, value]) => value !== undefined))
  await deploy(pass, cause, { strategy: 'Image', image: target.status.image, source: 'rollback', ...known })
  return done()
}

/** Which deployment is to be served. Without one there is nothing to run. */
export function chooseDeployment(pass: AppPass): Outcome {
  const own = ownDeployments(pass)
  const wanted = wantedDeployment(own)
  if (wanted?.status?.image !== undefined) {
    const commit = wanted.status.commitSha ?? wanted.spec.commitSha
    pass.state.deployed = { image: wanted.status.image, deploymentId: wanted.metadata.name, ...(commit && { commit }) }
    return done()
  }
  const newest = newestDeployment(own)
  if (newest === undefined && pass.object.spec.sourceKind !== 'Image')
    return waiting('WaitingForDependency', 'Nothing has been deployed yet.')
  if (newest?.status?.stage === 'Failed' && isEnd(newest.status.stage))
    return stalled('BuildFailed', `Deployment ${newest.status.number ?? ''} failed: ${newest.status.lastMessage ?? ''}`)
  return waiting('Building', 'The first deployment is on its way.')
}
