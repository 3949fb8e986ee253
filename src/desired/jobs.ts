import { isJobFinished, JOB_CONTAINER, type JobState, jobNames, parseVaultReference } from '../contracts/jobs.ts'
import { pullPolicyOf, pullSecretsOf } from '../contracts/registry/names.ts'
import type { KubeObject } from '../core/object.ts'
import { type Outcome, waiting } from '../core/outcome.ts'
import { secretData } from '../core/secretData.ts'
import type { EffectivePlan } from '../core/sizing/plans.ts'
import type { PlatformJob } from '../crds/jobs.ts'
import { type Child, child, secret, workloadInput } from './workload/child.ts'
import { describeReason, explainFailedRun } from './workload/failedRun.ts'
import { lastStartedPod } from './workload/lastStartedPod.ts'
import { literal, restrictedContainer, restrictedPod, secretVariable } from './workload/pod.ts'
import { describePlacement, findWorkloadProblem, type LivePod } from './workload/podProblems.ts'

export type JobInput = { job: PlatformJob; plan: EffectivePlan; registryHost?: string | undefined }

/** The fields of a batch/v1 Job that are read. */
export type BatchJob = KubeObject & {
  spec?: { template?: { spec?: { containers?: readonly RunContainer[] } } }
  status?: {
    startTime?: string
    completionTime?: string
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
  }
}
type Amounts = { cpu?: string; memory?: string }
type RunContainer = { image?: string; resources?: { requests?: Amounts; limits?: Amounts } }
export type JobPod = LivePod

const inputOf = (job: PlatformJob) => workloadInput({ ...job, spec: {} }, jobNames(job.metadata.name), 'job')

/** The batch/v1 Job. No ttlSecondsAfterFinished, because its log must be stored before it is deleted. */
export function batchJob(input: JobInput): Child<'Job'> {
  const { spec } = input.job
  const { labels, namespace, names } = inputOf(input.job)
  return child(
    { labels, namespace },
    { apiVersion: 'batch/v1', kind: 'Job', name: names.workload },
    {
      spec: {
        completions: 1,
        parallelism: 1,
        backoffLimit: spec.retries,
        activeDeadlineSeconds: spec.activeDeadlineSeconds,
        // A pod that is terminating may still write: start the next one only when it is gone.
        podReplacementPolicy: 'Failed',
        podFailurePolicy: { rules: failureRules(spec.noRetryExitCodes) },
        template: { metadata: { labels }, spec: podSpec(input) },
      },
    },
  )
}

/** A drained node does not count as a failure. */
function failureRules(codes: readonly number[]): object[] {
  const atOnce = { action: 'FailJob', onExitCodes: { containerName: JOB_CONTAINER, operator: 'In', values: codes } }
  const disruption = { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }
  return codes.length === 0 ? [disruption] : [atOnce, disruption]
}

function podSpec({ job, plan, registryHost }: JobInput): object {
  const { spec, metadata } = job
  const pullSecrets = pullSecretsOf(imageOf(spec), registryHost)
  const imagePullPolicy = pullPolicyOf(imageOf(spec), registryHost, metadata.namespace ?? '')
  const container = restrictedContainer(
    plan,
    {
      name: JOB_CONTAINER,
      image: imageOf(spec),
      ...(imagePullPolicy && { imagePullPolicy }),
      ...(spec.command.length > 0 && { command: spec.command.map(literal) }),
      ...(spec.args.length > 0 && { args: spec.args.map(literal) }),
      env: environment(job),
    },
    { writesToRoot: true },
  )
  const identity = { user: spec.runAsUser, fsGroup: spec.runAsUser }
  return restrictedPod(identity, {
    restartPolicy: 'Never',
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets }),
    containers: [container],
  })
}

export function imageOf({ image, tag }: Pick<PlatformJob['spec'], 'image' | 'tag'>): string {
  return image.includes('@') ? image : `${image}:${tag}`
}

function environment({ metadata, spec }: PlatformJob): object[] {
  const { environment: secretName } = jobNames(metadata.name)
  return Object.entries(spec.env).map(([name, value]) =>
    parseVaultReference(value) === undefined ? { name, value: literal(value) } : secretVariable(name, secretName, name),
  )
}

/** The Secret with vault values, keyed by variable name. */
export function environmentSecret(job: PlatformJob, values: Readonly<Record<string, string>>): KubeObject {
  const input = inputOf(job)
  return secret(input, input.names.environment, secretData(values))
}

export type JobProgress = {
  state: JobState
  message: string
  startedAt?: string | undefined
  completedAt?: string | undefined
  exitCode?: number | undefined
  attempts: number
}

const SENTENCES: Record<JobState, string> = {
  Pending: 'Waiting for a node to start the container.',
  Running: 'The container runs.',
  Succeeded: 'The job succeeded.',
  Failed: 'The job failed.',
  TimedOut: 'The job took longer than activeDeadlineSeconds allows and was stopped.',
}

/** A quota, an admission policy or a webhook of others may refuse the pod, which only the events of the Job tell. */
function describeMissingPod(job: BatchJob | undefined, pods: readonly JobPod[]): string | undefined {
  if (job?.status?.startTime === undefined || pods.length > 0) return undefined
  return `Kubernetes has not created its pod yet: the events of Job "${job.metadata.name}" say why.`
}

/** Derives progress from the Job and its pods. The container's own message may contain anything and is not repeated. */
export function progressOf(job: BatchJob | undefined, pods: readonly JobPod[]): JobProgress {
  const ended = endOf(job)
  const last = lastStartedPod(pods)
  const container = last?.status?.containerStatuses?.[0]?.state
  const hasStarted = pods.some(({ status }) => ['Running', 'Succeeded', 'Failed'].includes(status?.phase ?? ''))
  const state = ended?.state ?? (hasStarted ? 'Running' : 'Pending')
  const reason = ended === undefined ? container?.waiting?.reason : (container?.terminated?.reason ?? ended.reason)
  const exitCode = container?.terminated?.exitCode
  const causes = state === 'Failed' ? explainFailedRun(last, reason) : describeReason(reason)
  return {
    state,
    message: [(state === 'Pending' && describeMissingPod(job, pods)) || SENTENCES[state], ...causes].join(' '),
    startedAt: hasStarted ? (job?.status?.startTime ?? last?.status?.startTime) : undefined,
    completedAt: isJobFinished(state) ? ended?.at : undefined,
    exitCode,
    attempts: pods.length,
  }
}

/**
 * Explains why the container does not start; undefined if it started or nothing is wrong. Ended pods are described by
 * their end. Waiting for a node is no failure: a job may do so until its deadline.
 */
export function findStartProblem(job: BatchJob | undefined, pods: readonly JobPod[]): Outcome | undefined {
  const [container] = job?.spec?.template?.spec?.containers ?? []
  const { requests, limits } = container?.resources ?? {}
  const workload = {
    ...{ subject: 'the job', image: container?.image ?? '' },
    ...{ cpuRequest: requests?.cpu ?? '', memoryRequest: requests?.memory ?? '', memoryLimit: limits?.memory ?? '' },
  }
  const pending = pods.filter(({ status }) => status?.phase === undefined || status.phase === 'Pending')
  const messages = pending.flatMap((pod) => describePlacement(workload, pod) ?? [])
  const [first] = messages
  return first === undefined ? findWorkloadProblem(workload, pending, undefined) : waiting('WaitingForWorkload', first)
}

function endOf(job: BatchJob | undefined) {
  const { conditions = [], completionTime } = job?.status ?? {}
  const is = (type: string) => conditions.find((condition) => condition.type === type && condition.status === 'True')
  const [complete, failed] = [is('Complete'), is('Failed')]
  if (complete !== undefined)
    return { state: 'Succeeded' as const, at: completionTime ?? complete.lastTransitionTime, reason: undefined }
  if (failed === undefined) return undefined
  const state = failed.reason === 'DeadlineExceeded' ? ('TimedOut' as const) : ('Failed' as const)
  return { state, at: failed.lastTransitionTime, reason: failed.reason }
}
