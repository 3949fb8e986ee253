import {
  failureBefore,
  isBuildingPhase,
  newestDeployment,
  type ReleaseProgress,
  wantedDeployment,
} from '../../contracts/deployments.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { DeploymentRecord, deploymentPhaseOf } from '../../crds/deployments.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import { wantedCopies } from '../../desired/functions.ts'
import { isDeployed, isRolloutFailed, rolloutFailureOf } from '../../desired/workload/podProblems.ts'
import { type CachedRecord, ownDeployments } from '../deployments/owners.ts'
import type { Rights } from '../engine/controller.ts'
import { refOfPass } from '../workload/pass.ts'
import type { FunctionPass } from './types.ts'
import { refuseWithheldSecrets } from './withheldSecrets.ts'

export const DEPLOYMENT_RIGHTS: Rights = { resource: DeploymentRecord.resource, verbs: ['get', 'create'] }

/** Creates one deployment per upload, with the id that the upload chose. */
export async function keepDeployments(pass: FunctionPass): Promise<Outcome> {
  const { source, functionName } = pass.object.spec
  const { namespace, name: ownerName } = refOfPass(pass)
  const own = ownDeployments(pass)
  if (source === undefined) return done()
  const { deployedSource, lastDeploymentId } = pass.object.status ?? {}
  const known = [deployedSource, lastDeploymentId, ...own.map(({ metadata }) => metadata.name)]
  if (known.includes(source.deploymentId)) {
    pass.report({ deployedSource: source.deploymentId })
    return done()
  }
  await pass.recordChildren.create(
    {
      apiVersion: DeploymentRecord.apiVersion,
      kind: DeploymentRecord.kind,
      metadata: { name: source.deploymentId, namespace },
      spec: {
        ownerCollection: ServerlessFunction.segment,
        ownerName,
        strategy: 'Build',
        provider: 'Upload',
        source: `functions/${functionName}`,
      },
    },
    { resource: DeploymentRecord.resource },
  )
  pass.report({ deployedSource: source.deploymentId, lastDeploymentId: source.deploymentId })
  return done()
}

/** Chooses the image to serve: the spec's, otherwise that of the newest deployment with an image. */
export async function chooseImage(pass: FunctionPass): Promise<Outcome> {
  const { spec } = pass.object
  const own = ownDeployments(pass)
  const newest = newestDeployment(own)
  const wanted = wantedDeployment(own)
  if (spec.image !== undefined) pass.state.servedImage = { image: spec.image }
  else if (wanted?.status?.image !== undefined)
    pass.state.servedImage = {
      image: wanted.status.image,
      deploymentId: wanted.metadata.name,
      commit: wanted.status.commitSha ?? wanted.spec.commitSha,
    }
  pass.report({
    buildStatus: buildStatusOf(newest, spec.source !== undefined),
    lastDeploymentId: newest?.metadata.name ?? pass.object.status?.lastDeploymentId,
  })
  const isReported = spec.image === undefined && wanted?.spec.strategy === 'Reported'
  return isReported ? refuseWithheldSecrets(pass, 'Its image', wanted.spec.namespaceSecrets) : done()
}

function buildStatusOf(newest: CachedRecord | undefined, hasSource: boolean) {
  if (newest === undefined) return hasSource ? 'Queued' : 'NoSource'
  const stage = deploymentPhaseOf(newest)
  if (isBuildingPhase(stage)) return 'Building'
  if (stage === 'Queued') return 'Queued'
  return stage === 'Deploying' || stage === 'Succeeded' || newest.status?.image !== undefined ? 'Succeeded' : 'Failed'
}

/** Reports the release. A function scaled to zero counts as serving: its next copy runs the image. */
export function reportRelease(pass: FunctionPass): Outcome {
  const { object, state } = pass
  const { image, deploymentId, commit } = state.servedImage ?? {}
  if (image === undefined) return done()
  if (deploymentId === undefined) {
    pass.report({ release: undefined, servingDeployment: undefined, servingImage: image, commit: undefined })
    return done()
  }
  const isServing = wantedCopies(object, state.functionNamespace) === 0 || isDeployed(state.deployment)
  const failedBefore = failureBefore(object.status?.release, deploymentId, rolloutFailureOf(state.deployment))
  const release: ReleaseProgress = isRolloutFailed(state.deployment, failedBefore)
    ? { deploymentId, state: 'Failed', message: 'No copy of it became ready.', failedBefore }
    : { deploymentId, state: isServing ? 'Serving' : 'RollingOut', failedBefore }
  pass.report({ release, ...(isServing && { servingDeployment: deploymentId, servingImage: image, commit }) })
  return done()
}
