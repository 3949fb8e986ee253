import { byCreation, type KubeObject } from '../../core/object.ts'
import { degraded, type Outcome, stalled } from '../../core/outcome.ts'
import { EPHEMERAL_STORAGE } from '../../core/sizing/disk.ts'

/** Explains why pods do not run or are not ready, from their status. */

type Ended = { exitCode?: number; reason?: string; startedAt?: string; finishedAt?: string }
export type ContainerStatus = {
  name?: string
  image?: string
  imageID?: string
  ready?: boolean
  started?: boolean
  restartCount?: number
  state?: { waiting?: { reason?: string; message?: string }; running?: { startedAt?: string }; terminated?: Ended }
  lastState?: { terminated?: Ended }
}

/** The fields of a pod that are read. */
export type LivePod = KubeObject & {
  spec?: {
    nodeName?: string
    containers?: { name: string; image?: string; resources?: { requests?: Record<string, string> } }[]
  }
  status?: {
    phase?: string
    reason?: string
    message?: string
    podIP?: string
    startTime?: string
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
    containerStatuses?: ContainerStatus[]
  }
}

/** The fields of a Deployment that are read. */
export type LiveDeployment = KubeObject & {
  spec: { replicas?: number }
  status?: {
    observedGeneration?: number
    replicas?: number
    readyReplicas?: number
    updatedReplicas?: number
    availableReplicas?: number
    conditions?: { type: string; status: string; reason?: string; message?: string; lastUpdateTime?: string }[]
  }
}

/** Whether the pod receives requests; a terminating pod does not. */
export const isReady = ({ metadata, status }: LivePod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') === true

/** The fields of a Deployment that describe a rollout. */
type Rollout = Pick<LiveDeployment, 'status'> & { metadata?: Pick<LiveDeployment['metadata'], 'generation'> }

/** Returns which failure of a rollout Kubernetes shows, as its time by the clock of the cluster; undefined if none. */
export const rolloutFailureOf = (workload: Rollout | undefined): string | undefined =>
  workload?.status?.conditions
    ?.filter(({ reason }) => reason === 'ProgressDeadlineExceeded')
    .map(({ lastUpdateTime = '' }) => lastUpdateTime)[0]

/**
 * Whether Kubernetes has given up on a rollout. The condition of the previous rollout stays until the Deployment
 * controller observes the new generation, and remains if that rolls back to older pods.
 *
 * @param failedBefore the failure that Kubernetes showed when the rollout began. Its time is not compared with ours: the
 *   clock of another cluster may differ
 */
export function isRolloutFailed(workload: Rollout | undefined, failedBefore?: string): boolean {
  if ((workload?.status?.observedGeneration ?? 0) < (workload?.metadata?.generation ?? 0)) return false
  const failure = rolloutFailureOf(workload)
  return failure !== undefined && failure !== failedBefore
}

/** Whether every wanted pod runs the current template and is ready, and no other pod is left. */
export function isDeployed(workload: LiveDeployment | undefined): boolean {
  if (workload === undefined) return false
  const { metadata, spec, status = {} } = workload
  const wanted = spec.replicas ?? 1
  return (
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 1) &&
    (status.replicas ?? 0) === wanted &&
    (status.updatedReplicas ?? 0) === wanted &&
    (status.readyReplicas ?? 0) === wanted
  )
}

export type ExaminedWorkload = {
  subject: string
  image: string
  cpuRequest: string
  memoryRequest: string
  memoryLimit: string
  /** Whether its spec can have a registryCredential. */
  takesCredential?: boolean
  /** The storage class of its volumes, if the cluster does not have it. */
  missingClass?: string | undefined
}

/** What Kubernetes says of a container that waits: its image cannot be pulled, or it cannot be made. */
export const IMAGE_FAILURES = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'])
export const CREATE_FAILURES = new Set(['CreateContainerConfigError', 'CreateContainerError'])
const START_FAILURES = new Set(['RunContainerError', 'StartError', 'ContainerCannotRun'])

/**
 * Returns the most important problem, in our words: messages of containers and registries may contain anything.
 *
 * @param examined its name in messages, its image and its requests
 */
export function findWorkloadProblem(
  examined: ExaminedWorkload,
  pods: readonly LivePod[],
  workload: Rollout | undefined,
): Outcome | undefined {
  const active = activePodsOf(pods)
  const containers = active.flatMap(({ status }) => status?.containerStatuses ?? [])
  const judged = [
    ...containers.map((container) => findContainerProblem(examined, container)),
    ...active.map((pod) => findPlacementProblem(examined, pod)),
    findCreationProblem(examined, workload),
  ]
  return judged.find((outcome) => outcome !== undefined) ?? findDeadlineProblem(examined, pods, workload)
}

const TEMPLATE_LABEL = 'pod-template-hash'

/** The template that a pod of a Deployment was made from. */
export const templateOf = ({ metadata }: LivePod) => metadata.labels?.[TEMPLATE_LABEL]

/** The pod that was created last, even if it has not started. */
export const newestPod = (pods: readonly LivePod[]): LivePod | undefined => pods.toSorted(byCreation).at(-1)

/** Pods of the newest template that are not being deleted: those of the one before stay until these are ready, in whatever trouble they are. */
function activePodsOf(pods: readonly LivePod[]): readonly LivePod[] {
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const newest = newestPod(staying)
  return staying.filter((each) => newest !== undefined && templateOf(each) === templateOf(newest))
}

function findContainerProblem(
  { subject, image, memoryLimit, takesCredential }: ExaminedWorkload,
  { image: own, state = {}, lastState, ready }: ContainerStatus,
) {
  const { waiting, terminated } = state
  const reason = waiting?.reason ?? ''
  if (IMAGE_FAILURES.has(reason)) {
    const credential = takesCredential === true ? ', and registryCredential if it is not public' : ''
    const message = `The image ${own || image} of ${subject} cannot be pulled (${reason}): check its name and tag${credential}.`
    return degraded('ImagePullFailed', message)
  }
  if (CREATE_FAILURES.has(reason)) {
    const isRoot = waiting?.message?.includes('runAsNonRoot') === true
    const cause = isRoot ? 'its image runs as root or names its user: set runAsUser' : `the node answers ${reason}`
    return stalled('ConfigurationInvalid', `A container of ${subject} cannot be created: ${cause}.`)
  }
  const ended =
    terminated ?? (reason === 'CrashLoopBackOff' || reason === 'RunContainerError' ? lastState?.terminated : undefined)
  if (ended?.reason === 'OOMKilled') {
    const message = `A container of ${subject} ran out of memory: it took more than its limit of ${memoryLimit} and was killed.`
    return degraded('CrashLooping', message)
  }
  if (START_FAILURES.has(reason) || START_FAILURES.has(ended?.reason ?? '')) {
    return degraded('CrashLooping', `A container of ${subject} cannot be started: check its command.`)
  }
  if (terminated === undefined && reason !== 'CrashLoopBackOff') return undefined
  if (ready === true) return undefined
  const code = ended?.exitCode === undefined ? '' : ` with exit code ${ended.exitCode}`
  return degraded('CrashLooping', `A container of ${subject} ends${code} again and again: see its log.`)
}

function findPlacementProblem(examined: ExaminedWorkload, pod: LivePod): Outcome | undefined {
  const message = describePlacement(examined, pod)
  return message === undefined ? undefined : stalled('PlanDoesNotFit', message)
}

/** Returns why no node takes a pod; undefined if a node did, or the scheduler has not decided yet. */
export function describePlacement(
  {
    subject,
    cpuRequest,
    memoryRequest,
    missingClass,
  }: Pick<ExaminedWorkload, 'subject' | 'cpuRequest' | 'memoryRequest' | 'missingClass'>,
  { spec, status }: LivePod,
): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined
  const { message = '' } = scheduled
  const short = [
    ...(message.includes('Insufficient cpu') ? [`${cpuRequest} cpu`] : []),
    ...(message.includes('Insufficient memory') ? [`${memoryRequest} memory`] : []),
    ...(message.includes(`Insufficient ${EPHEMERAL_STORAGE}`) ? [`${diskOf(spec)} disk`] : []),
  ]
  if (short.length > 0) return `No node has ${short.join(' and ')} left for ${subject}.`
  if (/persistentvolumeclaim|volume/i.test(message) && missingClass !== undefined)
    return `The cluster has no storage class "${missingClass}" for the volumes of ${subject}.`
  if (/persistentvolumeclaim|volume/i.test(message)) return `No node can take ${subject} together with its volumes yet.`
  return `No node can take ${subject} now.`
}

/** The pod's disk request, from its namespace's default or its volumes. */
const diskOf = (spec: LivePod['spec']) =>
  spec?.containers?.map(({ resources }) => resources?.requests?.[EPHEMERAL_STORAGE] ?? '').find((one) => one !== '') ??
  'the'

function findCreationProblem({ subject }: ExaminedWorkload, workload: Rollout | undefined): Outcome | undefined {
  const failed = workload?.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  )
  if (failed === undefined) return undefined
  if (failed.message?.includes('exceeded quota') === true) {
    return stalled('QuotaExceeded', `The quota of the group has no room for another copy of ${subject}.`)
  }
  return degraded(
    'PartiallyAvailable',
    `The cluster refuses to make a copy of ${subject} (${failed.reason ?? 'FailedCreate'}).`,
  )
}

function findDeadlineProblem(
  { subject }: ExaminedWorkload,
  pods: readonly LivePod[],
  workload: Rollout | undefined,
): Outcome | undefined {
  if (!isRolloutFailed(workload)) return undefined
  const cause = describeUnready(subject, pods) ?? `The rollout of ${subject} makes no progress.`
  return degraded('PartiallyAvailable', `${cause} The previous version keeps serving.`)
}

/**
 * Returns what a running component that is not ready waits for; undefined if it waits for something else.
 *
 * @param delay seconds after its start before readiness is probed
 */
export function describeUnready(subject: string, pods: readonly LivePod[], delay = 0): string | undefined {
  const containers = activePodsOf(pods).flatMap(({ status }) => status?.containerStatuses ?? [])
  const running = containers.find(({ state, ready }) => state?.running !== undefined && ready !== true)
  if (running === undefined) return undefined
  if (running.started === false) return `A container of ${subject} runs, but its startup probe has not succeeded.`
  const delayNote = delay === 0 ? '' : `; it is asked ${delay} s after its start`
  return `A container of ${subject} runs, but its readiness probe has not succeeded${delayNote}.`
}
