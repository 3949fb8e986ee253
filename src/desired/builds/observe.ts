import { parseTerminationMessage, type TerminationMessage } from '../../contracts/builds/pod.ts'
import {
  BUILD_CONTAINERS,
  BUILD_FAILURES,
  BUILD_PHASES,
  type BuildFailure,
  type BuildProgress,
} from '../../contracts/builds/progress.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { lastStartedPod } from '../workload/lastStartedPod.ts'

/** The fields of a build's Job that are read. */
export type BuildJob = KubeObject & {
  spec?: { suspend?: boolean }
  status?: {
    startTime?: string
    completionTime?: string
    conditions?: { type: string; status: string; reason?: string; lastTransitionTime?: string }[]
  }
}

type Terminated = { exitCode: number; reason?: string; message?: string; finishedAt?: string }
type Container = {
  name: string
  state?: { waiting?: { reason?: string }; running?: object; terminated?: Terminated }
}
export type BuildPod = KubeObject & {
  status?: {
    phase?: string
    reason?: string
    startTime?: string
    initContainerStatuses?: Container[]
    containerStatuses?: Container[]
    conditions?: { type: string; status: string; reason?: string }[]
  }
}

const SENTENCES: Readonly<Record<BuildFailure, string>> = {
  SourceUnreachable: 'The source could not be fetched.',
  SourceRefused: 'The source was refused.',
  NothingToBuild: 'Nothing was found that can be built.',
  CommandFailed: 'A command of the build failed: see its log.',
  OutOfMemory: 'The build used more memory than allowed and was stopped.',
  OutOfDisk: 'The build wrote more than allowed and was stopped.',
  PushFailed: 'The image could not be pushed to the registry.',
  TimedOut: 'The build took longer than allowed and was stopped.',
  BuilderFailed: 'The builder failed; the source is not the cause.',
}

/** Whether the Job is still suspended: its creator died before it made the dependents. Start the build again. */
export const isHalfStarted = ({ spec }: Pick<BuildJob, 'spec'>) => spec?.suspend === true

/**
 * Derives the progress of a build from its Job and pods. Only termination messages of our own program are trusted, and
 * only the last container's digest, because no code of the source runs in that container.
 */
export function observeBuild(job: BuildJob | undefined, pods: readonly BuildPod[]): BuildProgress {
  const last = lastStartedPod(pods)
  const { initContainerStatuses = [], containerStatuses = [] } = last?.status ?? {}
  const parts = BUILD_CONTAINERS.map((name) =>
    [...initContainerStatuses, ...containerStatuses].find((container) => container.name === name),
  )
  const messages = parts.map((part) => parseTerminationMessage(part?.state?.terminated?.message))
  const lastStarted = parts.findLastIndex(
    (part) => part?.state?.running !== undefined || part?.state?.terminated !== undefined,
  )
  const { commit, runtime, runtimeVersion } = messages[0] ?? {}
  const known = {
    phase: lastStarted < 0 ? undefined : BUILD_PHASES[lastStarted],
    startedAt: job?.status?.startTime ?? last?.status?.startTime,
    ...(commit !== undefined && { commit }),
    ...(runtime !== undefined && { runtime }),
    ...(runtimeVersion !== undefined && { runtimeVersion }),
  }
  const digest = messages[2]?.digest
  const ended = endOf(job) ?? endOfPush(parts[2], digest)
  if (ended === undefined)
    return { ...known, outcome: undefined, message: describeProgress(parts[0], last, known.phase) }
  if (ended.isComplete && digest !== undefined) {
    return { ...known, outcome: 'Succeeded', message: 'The image was built and pushed.', finishedAt: ended.at, digest }
  }
  const { failure, message = SENTENCES[failure] } = failureOf(ended.reason, last, parts, messages)
  return {
    ...known,
    outcome: failure === 'TimedOut' ? 'TimedOut' : 'Failed',
    failure,
    message,
    finishedAt: ended.at,
  }
}

export const isOver = (job: BuildJob) => endOf(job) !== undefined

/** Message of a simulated build, which succeeds even for a source that cannot be built. */
export const SIMULATED_BUILD_MESSAGE =
  'Pods are simulated on this platform: nothing was built, and there is no image. The source was not checked: a real build may refuse it.'

/** As `observeBuild` where pods are simulated: the build program never ran, and no image has this digest. */
export function simulatedBuild(job: BuildJob, seen: BuildProgress, deploymentId: string): BuildProgress {
  if (endOf(job)?.isComplete !== true) return seen
  return {
    ...seen,
    outcome: 'Succeeded',
    failure: undefined,
    message: SIMULATED_BUILD_MESSAGE,
    digest: `sha256:${sha256(deploymentId)}`,
  }
}

function describeProgress(
  first: Container | undefined,
  pod: BuildPod | undefined,
  phase: BuildProgress['phase'],
): string {
  if (phase === 'Cloning') return 'The source is being fetched.'
  if (phase === 'Building') return 'The image is being built.'
  if (phase === 'Pushing') return 'The image is being pushed.'
  const waiting = first?.state?.waiting?.reason
  if (waiting !== undefined && /Image|Err/.test(waiting)) {
    return `The image of the builder cannot be run (${waiting}): check the setting buildImage.`
  }
  const scheduled = pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  return scheduled?.status === 'False' ? 'No node has room for a build now.' : 'The build waits for a node.'
}

function failureOf(
  jobReason: string | undefined,
  pod: BuildPod | undefined,
  parts: readonly (Container | undefined)[],
  messages: readonly TerminationMessage[],
): { failure: BuildFailure; message?: string | undefined } {
  if (jobReason === 'DeadlineExceeded') return { failure: 'TimedOut' }
  if (pod?.status?.reason === 'Evicted') return { failure: 'OutOfDisk' }
  const failed = parts.findIndex((part) => (part?.state?.terminated?.exitCode ?? 0) !== 0)
  if (parts[failed]?.state?.terminated?.reason === 'OOMKilled') return { failure: 'OutOfMemory' }
  const { failure, message } = messages[failed] ?? {}
  const isKnown = (text: string | undefined): text is BuildFailure => BUILD_FAILURES.some((one) => one === text)
  return isKnown(failure) ? { failure, message } : { failure: 'BuilderFailed' }
}

type End = { isComplete: boolean; reason?: string | undefined; at?: string | undefined }

/** The image exists once the push container has ended; Kubernetes marks the Job complete about two seconds later. */
function endOfPush(last: Container | undefined, digest: string | undefined): End | undefined {
  const terminated = last?.state?.terminated
  if (terminated?.exitCode !== 0 || digest === undefined) return undefined
  return { isComplete: true, at: terminated.finishedAt }
}

function endOf(job: BuildJob | undefined): End | undefined {
  const { conditions = [], completionTime } = job?.status ?? {}
  const found = conditions.find(({ type, status }) => ['Complete', 'Failed'].includes(type) && status === 'True')
  if (found === undefined) return undefined
  return { isComplete: found.type === 'Complete', reason: found.reason, at: completionTime ?? found.lastTransitionTime }
}
