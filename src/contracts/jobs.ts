import { childName } from '../core/names.ts'

/** Progress of a job, in order: a job never returns to an earlier state. */
export const JOB_STATES = ['Pending', 'Running', 'Succeeded', 'Failed', 'TimedOut'] as const
export type JobState = (typeof JOB_STATES)[number]

export function isJobFinished(state: JobState | undefined): boolean {
  return state === 'Succeeded' || state === 'Failed' || state === 'TimedOut'
}

/** Returns the later of two states; the first result is final. */
export function furthestJobState(before: JobState | undefined, now: JobState): JobState {
  if (before === undefined) return now
  return isJobFinished(before) || JOB_STATES.indexOf(before) > JOB_STATES.indexOf(now) ? before : now
}

/** The one container of a job's pod. */
export const JOB_CONTAINER = 'job'
/** Seconds for which the result and the log are kept after the pod is gone. */
export const JOB_RESULT_TTL_SECONDS = 7 * 86_400

/** Names of a job's objects: its batch/v1 Job, the Secret with vault values, the parts of its kept log. */
export function jobNames(name: string) {
  const workload = childName('pjob', name)
  return {
    workload,
    environment: childName('pjob', name, 'env'),
    log: (part: number) => childName('pjob', name, `log-${part}`),
  }
}

/** A value of `env` that names a vault secret: `@vault(<vault>/<secret>)`. */
export const VAULT_REFERENCE_PATTERN = '^@vault\\(([a-z0-9][a-z0-9-]*)/([A-Za-z0-9][A-Za-z0-9-]*)\\)$'
export const VAULT_REFERENCE_PREFIX = '@vault('
export type JobVaultReference = { vault: string; secret: string }

/** @returns undefined for a plain value */
export function parseVaultReference(value: string): JobVaultReference | undefined {
  const [, vault, secret] = new RegExp(VAULT_REFERENCE_PATTERN).exec(value) ?? []
  return vault === undefined || secret === undefined ? undefined : { vault, secret }
}

export const JOB_STATUSES = [...JOB_STATES, 'Deleting'] as const

type StoredJob = {
  metadata: { deletionTimestamp?: string | undefined }
  status?: { state?: (typeof JOB_STATES)[number] | undefined } | undefined
}

/** The status of a job is its progress, not that of its object's reconciliation. */
export function jobStatusOf({ metadata, status }: StoredJob): (typeof JOB_STATUSES)[number] {
  return metadata.deletionTimestamp === undefined ? (status?.state ?? 'Pending') : 'Deleting'
}
