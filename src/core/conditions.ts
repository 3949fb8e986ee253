import type { Outcome } from './outcome.ts'
import { plainLine } from './plainLine.ts'
import type { Reason } from './reasons.ts'

/** A condition as Kubernetes defines it (KEP-1623). */
export type Condition = {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  observedGeneration?: number | undefined
  lastTransitionTime: string
}

/** The values of `status` that callers see. */
export const RESOURCE_STATES = [
  'Pending',
  'Provisioning',
  'Running',
  'Updating',
  'Stopped',
  'Degraded',
  'Failed',
  'Deleting',
] as const
export type ResourceState = (typeof RESOURCE_STATES)[number]

/** The part of every status that the engine writes. */
export type ReconcileStatus = {
  observedGeneration?: number | undefined
  conditions?: readonly Condition[] | undefined
  /** When the resource was first ready; distinguishes Provisioning from Updating. */
  firstReadyAt?: string | undefined
  /** Whether anything serves now; distinguishes Degraded from Failed. */
  serving?: boolean | undefined
}

const MESSAGE_MAX_LENGTH = 1024

type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/**
 * Returns the conditions of an outcome. `Ready` is always present; `Reconciling` and `Stalled` only while true, as
 * Flux, Argo CD and `kubectl wait` expect (kstatus); `Startable` only while false.
 */
function drafts(outcome: Outcome | { kind: 'failed'; message: string }): Draft[] {
  switch (outcome.kind) {
    case 'done':
      return [
        { type: 'Ready', status: 'True', reason: outcome.reason ?? 'Available', message: outcome.message ?? '' },
        ...(outcome.startObstacle === undefined
          ? []
          : [{ type: 'Startable', status: 'False' as const, ...outcome.startObstacle }]),
      ]
    case 'waiting':
      return [
        { type: 'Ready', status: 'False', reason: outcome.reason, message: outcome.message },
        { type: 'Reconciling', status: 'True', reason: outcome.reason, message: outcome.message },
      ]
    case 'degraded':
      return [{ type: 'Ready', status: 'False', reason: outcome.reason, message: outcome.message }]
    case 'stalled':
      return [
        { type: 'Ready', status: 'False', reason: outcome.reason, message: outcome.message },
        { type: 'Stalled', status: 'True', reason: outcome.reason, message: outcome.message },
      ]
    case 'failed':
      return [
        { type: 'Ready', status: 'False', reason: 'ReconcileFailed', message: outcome.message },
        { type: 'Reconciling', status: 'True', reason: 'ReconcileFailed', message: outcome.message },
      ]
  }
}

/**
 * The conditions after an outcome. The transition time moves only when a condition's status changes, so that a repeated
 * outcome gives an equal list and no write.
 */
export function nextConditions(
  previous: readonly Condition[],
  outcome: Outcome | { kind: 'failed'; message: string },
  generation: number,
  now: string,
): Condition[] {
  return drafts(outcome)
    .map((draft): Condition => {
      const before = previous.find((condition) => condition.type === draft.type)
      return {
        ...draft,
        message: plainLine(draft.message, MESSAGE_MAX_LENGTH),
        observedGeneration: generation,
        lastTransitionTime: before?.status === draft.status ? before.lastTransitionTime : now,
      }
    })
    .sort((a, b) => a.type.localeCompare(b.type))
}

/** What callers read: `status`, `phase` and `statusMessage`, all derived here and nowhere else. */
export type Summary = { status: ResourceState; phase: Reason | null; statusMessage: string | null }

/**
 * Derives the summary in the order of the interface: deletion, stalled, stopped, reconciling, not ready, ready, pending.
 *
 * @param deleting whether the object has a deletion timestamp
 */
export function summarize(status: ReconcileStatus | undefined, deleting: boolean): Summary {
  const find = (type: string) => status?.conditions?.find((condition) => condition.type === type)
  const ready = find('Ready')
  const shown = find('Stalled') ?? find('Reconciling') ?? ready
  const summary = (state: ResourceState): Summary => ({
    status: state,
    phase: (shown?.reason as Reason | undefined) ?? null,
    statusMessage: shown === undefined || shown.message === '' ? null : shown.message,
  })
  // When a deletion has just begun, the conditions still describe the state before it.
  if (deleting && ready?.status === 'True') return { status: 'Deleting', phase: 'TearingDown', statusMessage: null }
  if (deleting) return summary('Deleting')
  if (find('Stalled')?.status === 'True') return summary(status?.serving === true ? 'Degraded' : 'Failed')
  // A run that has completed is not running, so it is shown as stopped.
  if (ready?.status === 'True' && ['Stopped', 'Completed'].includes(ready.reason)) return summary('Stopped')
  if (find('Reconciling')?.status === 'True')
    return summary(status?.firstReadyAt === undefined ? 'Provisioning' : 'Updating')
  if (ready?.status === 'False') return summary(status?.serving === true ? 'Degraded' : 'Failed')
  if (ready?.status === 'True') return summary('Running')
  return { status: 'Pending', phase: null, statusMessage: null }
}

/** An object whose controller reports its state in conditions. */
export type Summarized = {
  metadata: { generation?: number | undefined; deletionTimestamp?: string | undefined }
  status?: ReconcileStatus | undefined
}

/** Returns the current summary. Conditions of an older generation say nothing about a spec that was just written. */
export function summaryOf({ metadata, status }: Summarized): Summary {
  const isDeleting = metadata.deletionTimestamp !== undefined
  const seen = status?.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration
  if (isDeleting || seen === undefined || seen >= (metadata.generation ?? 1)) return summarize(status, isDeleting)
  return {
    status: status?.firstReadyAt === undefined ? 'Provisioning' : 'Updating',
    phase: 'Accepted',
    statusMessage: 'The change was accepted, and is being carried out.',
  }
}
