import { isOfBuild, keyOfBuild } from '../../contracts/builds/labels.ts'
import { BUILD_NAMESPACE, type BuiltDeployment, buildName } from '../../contracts/builds/progress.ts'
import { type DeployedCollection, imageOwnerOf, isBuildingPhase, isFinalPhase } from '../../contracts/deployments.ts'
import { formatRepository } from '../../contracts/registry/names.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import {
  type BuildJob,
  type BuildPod,
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
import { type CachedRecord, deploymentsOf, ownerOf, type RecordPass } from './owners.ts'
import { prepareBuildRequest, registryHostOf } from './request.ts'
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
