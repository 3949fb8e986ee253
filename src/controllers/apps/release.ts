import {
  COMPONENT_LABEL,
  containerNamesOf,
  RELEASE_COMPONENT,
  RELEASED_FOR_ANNOTATION,
  REVISION_LABEL,
} from '../../contracts/containerinstances.ts'
import { failureBefore } from '../../contracts/deployments.ts'
import type { Revision, WantedRevision } from '../../contracts/revisions.ts'
import { sha256 } from '../../core/names.ts'
import { byCreation, type KubeObject } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import type { AppContent } from '../../crds/appRevisions.ts'
import { APP_COMPONENT } from '../../crds/apps.ts'
import { releaseJob, releaseOutcome } from '../../desired/apps/releaseJob.ts'
import { wantedRevision } from '../../desired/apps/revisions.ts'
import { autoscaler, copiesOf } from '../../desired/apps/scaling.ts'
import {
  findWorkloadProblem,
  isDeployed,
  isRolloutFailed,
  type LiveDeployment,
  type LivePod,
  rolloutFailureOf,
} from '../../desired/workload/podProblems.ts'
import { deployment, horizontalPodAutoscaler, job, pod } from '../../kube/builtin.ts'
import type { ContainerOptions } from '../containers/types.ts'
import { instanceInputOf } from '../containers/workload.ts'
import { related } from '../engine/lookups.ts'
import { scaleTo } from '../workload/halt.ts'
import { keepRevision } from '../workload/revisions.ts'
import { type AppPass, type AppStep, instancePass } from './types.ts'

const MAX_SHOWN_REVISIONS = 20

/** Numbers the revision to serve, if it is new. */
export async function numberRevision(pass: AppPass): Promise<Outcome> {
  const { object, state, kind } = pass
  if (state.deployed === undefined) return done()
  const shown = 'revisions' in kind.status.shape ? shownRevisions : undefined
  const wanted = wantedRevision(object, state.deployed)
  const { since, newest } = await keepRevision(pass, containerNamesOf(object).revision, wanted, shown)
  state.revisions = since
  state.revision = newest?.number ?? object.status?.revision ?? 0
  if ('probation' in kind.status.shape) keepProbation(pass, wanted)
  return done()
}

/** Decides the probation once per pod template: it is part of the template, and changing it would roll the copies. */
function keepProbation(pass: AppPass, wanted: WantedRevision<AppContent>): void {
  const { object, state } = pass
  const copies = wanted.parts(wanted.content)[APP_COMPONENT]
  state.running = sha256(JSON.stringify(copies)).slice(0, 16)
  const revision = state.revisions[APP_COMPONENT] ?? 0
  const { servingRevision, served = [], probation } = object.status ?? {}
  const isProven = servingRevision === undefined || servingRevision === state.revision || served.includes(state.running)
  const kept = probation?.revision === revision ? probation : { revision, seconds: isProven ? 0 : PROBATION_SECONDS }
  state.probation = kept.seconds
  pass.report({ probation: kept })
}

function shownRevisions(known: readonly Revision<AppContent>[]) {
  const revisions = known.slice(0, MAX_SHOWN_REVISIONS).map(({ number, createdAt, createdBy, reason, content }) => ({
    ...{ number, createdAt, reason, image: content.image, deploymentId: content.deploymentId },
    ...(createdBy !== undefined && { createdBy }),
    ...(content.commit !== undefined && { commit: content.commit }),
  }))
  return { revisions }
}

/**
 * Seconds a new copy must survive before it receives requests. Zero if nothing has served yet, because then nothing is
 * at risk, and for copies that have served before.
 */
const PROBATION_SECONDS = 10

/** Number of pod templates remembered as having served. */
const MAX_SERVED_TEMPLATES = 20

export function trafficOf({ object }: AppPass) {
  const { httpsOnly, sessionAffinity, requestTimeoutSeconds } = object.spec
  return { traffic: { httpsOnly, sessionAffinity, requestTimeoutSeconds } }
}

/**
 * Runs the release command of a new revision before any of its copies starts, and never twice. A failed command runs
 * again if the app is restarted or redeployed, or if the command or the registry credential changes.
 */
export function runReleaseCommand(options: ContainerOptions): AppStep {
  return async function runReleaseCommand(pass) {
    const { object, state, children } = pass
    const { spec, status } = object
    const revision = state.revisions[APP_COMPONENT] ?? 0
    if (spec.releaseCommand === undefined || revision <= (status?.releasedRevision ?? 0)) {
      await children.prune(job, [])
      if (spec.releaseCommand === undefined) pass.report({ releasedRevision: revision })
      return done()
    }
    const input = instanceInputOf(instancePass(pass), options)
    const { releaseCommand: command, registryCredential, restartedAt } = spec
    const causes = [state.deployed?.deploymentId, command, registryCredential, restartedAt]
    const cause = sha256(JSON.stringify(causes)).slice(0, 16)
    const wanted = releaseJob(input, { command, revision, cause })
    await children.prune(job, [wanted.metadata.name])
    // Never update a Job that runs once: another revision gets its own Job.
    const made = (await findReleaseJob(pass, wanted)) ?? (await children.create(wanted, { resource: job }))
    const pods = releasePods(pass, revision)
    const outcome = releaseOutcome(made, pods[0])
    if (outcome?.ok !== true) await keepCopies(pass)
    if (outcome === undefined) {
      reportRelease(pass, 'RollingOut')
      const running = waiting('RollingOut', `The release command of revision ${state.revision} is running.`)
      return findStartProblem(pass, pods) ?? running
    }
    if (outcome.ok) {
      pass.report({ releasedRevision: revision })
      return done()
    }
    reportRelease(pass, 'Failed', outcome.message)
    return stalled('JobFailed', outcome.message)
  }
}

/** Returns the existing Job, unless it failed for another cause: then it is deleted. */
async function findReleaseJob({ children }: AppPass, { metadata }: KubeObject): Promise<KubeObject | undefined> {
  const { namespace, name, annotations } = metadata
  const held = await children.get(job, namespace, name)
  const before = held?.metadata.annotations?.[RELEASED_FOR_ANNOTATION]
  const isSame = before === undefined || before === annotations?.[RELEASED_FOR_ANNOTATION]
  if (isSame || releaseOutcome(held)?.ok !== false) return held
  return (await children.remove(job, namespace, name)) ? undefined : held
}

/** Keeps the previous revision at the wanted number of copies while the new one cannot serve yet. */
async function keepCopies(pass: AppPass): Promise<void> {
  const { spec } = pass.object
  const made = pass.children.owned<LiveDeployment>(deployment)
  if (made.length === 0 || !spec.running) return
  for (const each of made) await scaleTo(pass, deployment, each, copiesOf(spec, each.spec.replicas))
  await keepAutoscaler(pass)
}

/** Newest first: when a command ran again, pods of earlier runs may still be terminating. */
function releasePods({ object, workloads }: AppPass, revision: number): LivePod[] {
  const { namespace, name } = object.metadata
  const ofRelease = ({ labels }: LivePod['metadata']) =>
    labels?.[COMPONENT_LABEL] === RELEASE_COMPONENT && labels[REVISION_LABEL] === String(revision)
  return related(workloads.cache<LivePod>(pod), 'owner', namespace, object.kind, name)
    .filter(({ metadata }) => ofRelease(metadata))
    .sort((one, other) => byCreation(other, one))
}

/** Returns why the command does not start: no node has room, or its image cannot be pulled. */
function findStartProblem({ state }: AppPass, pods: readonly LivePod[]): Outcome | undefined {
  const pending = pods.filter(({ status }) => status?.phase === 'Pending')
  const { cpuRequest = '', memoryRequest = '', memoryLimit = '' } = state.plans.get(APP_COMPONENT) ?? {}
  const image = state.deployed?.image ?? ''
  const workload = {
    subject: 'the release command',
    image,
    cpuRequest,
    memoryRequest,
    memoryLimit,
    takesCredential: true,
  }
  return findWorkloadProblem(workload, pending, undefined)
}

export function reportRelease(pass: AppPass, state: 'RollingOut' | 'Serving' | 'Failed', message?: string): void {
  const { deploymentId } = pass.state.deployed ?? {}
  if (deploymentId === undefined) return
  const failedBefore = failureBeforeRelease(pass, deploymentId)
  pass.report({ release: { deploymentId, state, ...(message !== undefined && { message }), failedBefore } })
}

function failureBeforeRelease({ object, children }: AppPass, deploymentId: string): string | undefined {
  const [live] = children.owned<LiveDeployment>(deployment)
  return failureBefore(object.status?.release, deploymentId, rolloutFailureOf(live))
}

/** Creates the autoscaler if the app has one, otherwise removes it. */
export async function keepAutoscaler(pass: AppPass): Promise<Outcome> {
  const input = instanceInputOf(instancePass(pass))
  const wanted = autoscaler(input, input.names.component(APP_COMPONENT), pass.object.spec)
  if (wanted === undefined) await pass.children.prune(horizontalPodAutoscaler, [])
  else await pass.children.ensure(wanted, { resource: horizontalPodAutoscaler })
  return done()
}

/** Reports what is served, and whether it is what was asked for. */
export function reportServing(pass: AppPass): Outcome {
  const { state, object } = pass
  const live = state.deployments.get(APP_COMPONENT)
  const { deployed } = state
  if (!object.spec.running || deployed === undefined) return done()
  if (isDeployed(live)) {
    reportRelease(pass, 'Serving')
    pass.report({
      servingRevision: state.revision,
      servingDeployment: deployed.deploymentId,
      servingImage: deployed.image,
      commit: deployed.commit,
      ...(state.running !== undefined && { served: withServedTemplate(object.status?.served, state.running) }),
    })
    return done()
  }
  const before = object.status?.release
  const isOver = before?.deploymentId === deployed.deploymentId && before.state !== 'RollingOut'
  if (isRolloutFailed(live, failureBeforeRelease(pass, deployed.deploymentId)))
    reportRelease(pass, 'Failed', 'The new copies were not ready in 600 seconds; the previous version keeps serving.')
  else if (!isOver) reportRelease(pass, 'RollingOut')
  return done()
}

function withServedTemplate(before: readonly string[] = [], running: string): string[] {
  return [running, ...before.filter((one) => one !== running)].slice(0, MAX_SERVED_TEMPLATES)
}

/** Removes the children that the steps of container instances do not know. */
export async function removeReleases(pass: AppPass): Promise<Outcome> {
  await pass.children.prune(horizontalPodAutoscaler, [])
  await pass.children.prune(job, [])
  return done()
}
