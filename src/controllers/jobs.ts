import type { BlobStore } from '../adapters/blobs/port.ts'
import type { PlatformKeys } from '../adapters/platformkeys/port.ts'
import { lastBytes, type PodLogs } from '../adapters/podlogs/port.ts'
import {
  furthestJobState,
  isJobFinished,
  JOB_CONTAINER,
  JOB_RESULT_TTL_SECONDS,
  type JobState,
  jobNames,
  parseVaultReference,
} from '../contracts/jobs.ts'
import { keptJobLogBytes } from '../contracts/logs.ts'
import { ownerSelector } from '../contracts/workloads.ts'
import { messageOf } from '../core/errors.ts'
import type { KubeObject } from '../core/object.ts'
import { byCreation, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { PlatformJob } from '../crds/jobs.ts'
import {
  type BatchJob,
  batchJob,
  environmentSecret,
  findStartProblem,
  type JobPod,
  type JobProgress,
  progressOf,
} from '../desired/jobs.ts'
import { job as batchJobs, namespace, pod, secret } from '../kube/builtin.ts'
import { controllerWith, type Pass, type Step, steps, type Workspace } from './engine/controller.ts'
import { LOOKUP_INDEX, related } from './engine/lookups.ts'
import { otherClusterOf } from './engine/workloadLocation.ts'
import { checkQuota, releaseEntireQuota } from './quota.ts'
import { vaultValue } from './vaults/open.ts'
import { findCluster } from './workload/cluster.ts'
import { childRights, podObserver, workloadObservers } from './workload/observers.ts'
import { newWorkloadState, planOf, refOfPass, type WorkloadState } from './workload/pass.ts'
import { vaultObservers } from './workload/references.ts'
import { resolvePlan } from './workload/resolve.ts'
import { ignoreMissingRights, withSecretRights } from './workload/secrets.ts'

export type JobOptions = {
  keys: PlatformKeys
  logs: PodLogs
  blobs: BlobStore
  /** Host of the platform's own registry; absent without one. */
  registryHost?: string | undefined
}

type JobPass = Pass<typeof PlatformJob, JobPassState>
type JobStep = Step<typeof PlatformJob, JobPassState>
type JobPassState = WorkloadState & {
  /** The stored progress, updated by this pass. */
  progress: JobProgress
  state: JobState
  /** UID of the created Job; undefined before. */
  jobUid?: string | undefined
}

const INITIAL_PROGRESS: JobProgress = { state: 'Pending', message: '', attempts: 0 }

/** Runs jobs once, stores result and log, and deletes jobs when their time is over: docs/areas/jobs.md. */
export const jobController = controllerWith<typeof PlatformJob, JobOptions, JobPassState>(
  PlatformJob,
  {
    observes: [
      batchJobs,
      secret,
      podObserver(PlatformJob),
      ...workloadObservers(PlatformJob),
      // A job that waits for a vault secret starts when it exists.
      ...vaultObservers(waitingReaders),
    ],
    reads: [namespace],
    writes: [...childRights([batchJobs]), { resource: PlatformJob.resource, verbs: ['get', 'patch', 'delete'] }],
  },
  (options) => ({
    state: () => ({ ...newWorkloadState(), progress: INITIAL_PROGRESS, state: 'Pending' }),
    reconcile: steps(observeJob, beginOrFinish(options)),
    collectsOrphans: [batchJobs],
    // In another cluster, garbage collection does not delete what has no owner there.
    needsFinalizer: (object, records) => otherClusterOf(object, records) !== undefined,
    finalize: steps(removeWorkload),
  }),
)

/** Returns the pods of this Job, oldest first. Remaining pods of an earlier job of this name have the same labels. */
const podsOf = ({ workloads, object, state }: JobPass): JobPod[] => {
  const { namespace, name } = object.metadata
  const isOwn = ({ uid }: { uid: string }) => uid === state.jobUid
  return related(workloads.cache<JobPod>(pod), 'owner', namespace, PlatformJob.kind, name)
    .filter(({ metadata }) => metadata.ownerReferences?.some(isOwn))
    .sort(byCreation)
}

async function observeJob(pass: JobPass): Promise<Outcome> {
  const { object, children, state } = pass
  const { status } = object
  const { namespace, name } = refOfPass(pass)
  state.jobUid = status?.jobUid
  if (isJobFinished(status?.state)) {
    state.state = status?.state ?? 'Failed'
    state.progress = { ...INITIAL_PROGRESS, message: status?.statusMessage ?? '' }
    return done()
  }
  const made = await children.get<BatchJob>(batchJobs, namespace, jobNames(name).workload)
  state.jobUid = made?.metadata.uid ?? status?.jobUid
  const pods = podsOf(pass)
  const seen = progressOf(made, pods)
  state.progress = interruptedProgress(object, made, pods, seen)
  state.state = furthestJobState(status?.state, state.progress.state)
  pass.report({
    state: state.state,
    jobUid: state.jobUid,
    pod: pods.at(-1)?.metadata.name ?? status?.pod,
    startedAt: status?.startedAt ?? seen.startedAt,
    completedAt: isJobFinished(state.state) ? (seen.completedAt ?? pass.now) : undefined,
    exitCode: seen.exitCode ?? status?.exitCode,
    attempts: Math.max(seen.attempts, status?.attempts ?? 0),
  })
  if (made === undefined || isJobFinished(state.state) || object.spec.cancelled) return done()
  return findStartProblem(made, pods) ?? waiting('WaitingForWorkload', state.progress.message)
}

/**
 * Returns the progress of an interrupted Job. A Job that was deleted has failed, because it may have done half its
 * work. A cancelled one may keep working until its container is gone.
 */
function interruptedProgress(
  { spec, status }: PlatformJob,
  made: BatchJob | undefined,
  pods: readonly JobPod[],
  seen: JobProgress,
): JobProgress {
  if (isJobFinished(seen.state)) return seen
  const runs = made !== undefined || pods.some((one) => !['Succeeded', 'Failed'].includes(one.status?.phase ?? ''))
  if (spec.cancelled) return runs ? { ...seen, message: STOPPING } : { ...seen, state: 'Failed', message: CANCELLED }
  if (made !== undefined || status?.jobUid === undefined) return seen
  return { ...seen, state: 'Failed', message: 'Its Job was deleted before it ended.' }
}

const STOPPING = 'It was cancelled, and its container is being stopped.'
const CANCELLED = 'It was cancelled.'

function beginOrFinish(options: JobOptions): JobStep {
  const begin = steps<typeof PlatformJob, JobPassState>(
    findCluster,
    resolvePlan({ hasVolumes: false, runsOnce: true }),
    checkQuota,
    startJob(options),
  )
  const finish = steps<typeof PlatformJob, JobPassState>(releaseEntireQuota, keepLog(options), removeInTime)
  const cancel = steps<typeof PlatformJob, JobPassState>(keepLog(options), stopRun)
  return function beginOrFinish(pass: JobPass) {
    if (isJobFinished(pass.state.state)) return finish(pass)
    return pass.object.spec.cancelled ? cancel(pass) : begin(pass)
  }
}

function startJob(options: JobOptions): JobStep {
  return function startJob(pass: JobPass): Promise<Outcome> {
    return withSecretRights(async () => {
      const { object, children } = pass
      const references = referencesOf(object)
      if (references.length > 0) {
        const values: Record<string, string> = {}
        for (const [variable, reference] of references) {
          const value = await vaultValue(pass, reference, options.keys)
          if (typeof value !== 'string') return value
          values[variable] = value
        }
        await children.ensure(environmentSecret(object, values), { resource: secret })
      }
      const wanted = batchJob({ job: object, plan: planOf(pass), registryHost: options.registryHost })
      const { object: made } = await children.ensure(wanted, { resource: batchJobs })
      pass.report({ jobUid: made.metadata.uid })
      return waiting('WaitingForWorkload', progressOf(undefined, []).message)
    })
  }
}

const referencesOf = ({ spec }: PlatformJob) =>
  Object.entries(spec.env).flatMap(([variable, value]) => {
    const reference = parseVaultReference(value)
    if (reference === undefined) return []
    return [[variable, { vaultName: reference.vault, secretName: reference.secret }] as const]
  })

/** Returns the jobs that have not started: started jobs read nothing any more. */
function waitingReaders(records: Workspace, key: string): readonly KubeObject[] {
  return records
    .cache(PlatformJob)
    .byIndex(LOOKUP_INDEX, key)
    .filter(({ status }) => status?.jobUid === undefined && !isJobFinished(status?.state))
}

/** Milliseconds after the end until an unreadable log is given up, and between two attempts. */
const LOG_TIMEOUT_MS = 60_000
const LOG_RETRY_MS = 5_000
/** Timeout in milliseconds for reading a log: a cluster run by somebody else might never finish. */
const LOG_READ_TIMEOUT_MS = 30_000

/** Deletes the Job with its pod, whose log is already stored. */
async function stopRun(pass: JobPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  await pass.children.remove(batchJobs, namespace, jobNames(name).workload)
  return waiting('Stopping', STOPPING)
}

/** Stores the log once, before the pod may be deleted: everybody reads the stored one. */
function keepLog(options: JobOptions): JobStep {
  return function keepLog(pass: JobPass): Promise<Outcome> {
    return withSecretRights(async () => {
      const { object, state, clock, children } = pass
      const { namespace, name } = refOfPass(pass)
      if (object.status?.logParts !== undefined) return done()
      if (referencesOf(object).length > 0) await children.remove(secret, namespace, jobNames(name).environment)
      const log = await readLog(pass, options.logs)
      const endedAt = Date.parse(object.status?.completedAt ?? pass.now)
      // Do not wait for an unreachable node if the job is cancelled: it would keep working meanwhile.
      if (log === 'unavailable' && isJobFinished(state.state) && clock.now() - endedAt < LOG_TIMEOUT_MS)
        return outcomeOfJob(pass, LOG_RETRY_MS)
      pass.report({ logParts: log === 'unavailable' ? 0 : await storeLogParts(pass, options.blobs, log) })
      return done()
    })
  }
}

/** Returns how many jobs the boundary has. */
function jobsBeside({ records, scope }: JobPass): number {
  const jobs = records.cache(PlatformJob)
  return related(records.cache(namespace), 'boundary', scope.boundaryId)
    .map(({ metadata: { name } }) => jobs.list({ namespace: name }).length)
    .reduce((sum, count) => sum + count, 0)
}

async function readLog(pass: JobPass, logs: PodLogs): Promise<Uint8Array | 'unavailable'> {
  const last = podsOf(pass).at(-1)
  if (last === undefined) return new Uint8Array()
  const source = {
    namespace: refOfPass(pass).namespace,
    pod: last.metadata.name,
    container: JOB_CONTAINER,
    clusterId: otherClusterOf(pass.object, pass.records),
  }
  try {
    const chunks = await logs.open(source, { timestamps: true, signal: AbortSignal.timeout(LOG_READ_TIMEOUT_MS) })
    return chunks === undefined ? new Uint8Array() : await lastBytes(chunks, keptJobLogBytes(jobsBeside(pass)))
  } catch (error) {
    pass.log.debug({ error: messageOf(error) }, 'The log of a job could not be read.')
    return 'unavailable'
  }
}

/** @returns the number of parts. An interrupted pass may have written some; they are the same. */
async function storeLogParts(pass: JobPass, blobs: BlobStore, bytes: Uint8Array): Promise<number> {
  const { namespace, name } = refOfPass(pass)
  const { apiVersion, kind } = PlatformJob
  const owner = { apiVersion, kind, name, uid: pass.object.metadata.uid ?? '', labels: ownerSelector(kind, name) }
  let parts = 0
  for (let offset = 0; offset < bytes.length; offset += blobs.maxBytes) {
    const ref = { namespace, name: jobNames(name).log(parts) }
    const version = (await blobs.read(ref))?.version
    await blobs.write(ref, bytes.subarray(offset, offset + blobs.maxBytes), { version, owner })
    parts += 1
  }
  return parts
}

/** Deletes the pod after its time to live, and the job with result and log a week later. */
async function removeInTime(pass: JobPass): Promise<Outcome> {
  const { object, clock, records, children } = pass
  const { namespace, name } = refOfPass(pass)
  const endedAt = Date.parse(object.status?.completedAt ?? pass.now)
  const podUntil = endedAt + object.spec.ttlSecondsAfterFinished * 1000
  const resultUntil = podUntil + JOB_RESULT_TTL_SECONDS * 1000
  const now = clock.now()
  if (now >= resultUntil) {
    await records.client.remove(PlatformJob.resource, refOf(object), { uid: object.metadata.uid })
    return outcomeOfJob(pass, undefined)
  }
  if (now < podUntil) return outcomeOfJob(pass, podUntil - now)
  const removed = await children.remove(batchJobs, namespace, jobNames(name).workload)
  if (removed && object.status?.podRemovedAt === undefined) pass.report({ podRemovedAt: pass.now })
  return outcomeOfJob(pass, resultUntil - now)
}

/** Deletes the Job with its pod, and the Secret with its values. */
async function removeWorkload(pass: JobPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  await ignoreMissingRights(() => pass.children.remove(secret, namespace, jobNames(name).environment))
  const isGone = await pass.children.remove(batchJobs, namespace, jobNames(name).workload)
  return isGone ? done() : waiting('TearingDown', 'Its Job is being deleted.')
}

function outcomeOfJob({ state: { state, progress } }: JobPass, after: number | undefined): Outcome {
  const { message } = progress
  if (state === 'Succeeded') return done({ reason: 'Completed', message, after })
  if (state === 'TimedOut') return stalled('JobTimedOut', message, after)
  // Decide by the outcome: a job may have failed before its cancellation was seen.
  return stalled(message === CANCELLED ? 'JobCancelled' : 'JobFailed', message, after)
}
