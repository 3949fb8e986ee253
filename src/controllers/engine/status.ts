import { isDeepStrictEqual } from 'node:util'
import { type Condition, nextConditions, type ReconcileStatus, summarize } from '../../core/conditions.ts'
import { isRecord } from '../../core/isRecord.ts'
import type { Outcome } from '../../core/outcome.ts'

export type Failed = { kind: 'failed'; message: string }

/** What a pass contributes to the status. */
export type StatusInput = {
  previous: Record<string, unknown>
  /** Fields from the steps. They override the stored status, but not the engine's own fields. */
  reported: Record<string, unknown>
  /** Undefined if no step reported it. */
  serving: boolean | undefined
  /** Whether the object was only stopped after its steps ended early: that does not count as having been ready. */
  isHalted?: boolean
  outcome: Outcome | Failed
  generation: number
  deleting: boolean
  now: string
}

/** Returns the status after an outcome. Deterministic: equal inputs give an equal status at any time. */
export function nextStatus(input: StatusInput): Record<string, unknown> {
  const { previous, reported, isHalted = false, outcome, generation, deleting, now } = input
  const before = previous as ReconcileStatus
  const conditions = nextConditions(before.conditions ?? [], outcome, generation, now)
  const reconcile: ReconcileStatus = {
    // A failed pass has not finished with the generation.
    observedGeneration: outcome.kind === 'failed' ? before.observedGeneration : generation,
    conditions,
    firstReadyAt: before.firstReadyAt ?? (outcome.kind === 'done' && !deleting && !isHalted ? now : undefined),
    serving: input.serving ?? servingOf(outcome, before.serving),
  }
  const { status, phase, statusMessage } = summarize(reconcile, deleting)
  return {
    ...previous,
    ...reported,
    ...reconcile,
    status,
    phase: phase ?? undefined,
    statusMessage: statusMessage ?? undefined,
  }
}

/** If no step says whether anything serves, a ready resource does, unless it is ready because it is stopped. */
function servingOf(outcome: Outcome | Failed, before: boolean | undefined): boolean | undefined {
  return outcome.kind === 'done' ? (outcome.reason ?? 'Available') === 'Available' : before
}

/**
 * Returns the merge patch (RFC 7396) from one status to the other; undefined if nothing differs. Absent and undefined
 * are the same. The order of conditions is ignored, because the list is a map by type.
 */
export function statusPatch(
  previous: Record<string, unknown>,
  next: Record<string, unknown>,
): Record<string, unknown> | undefined {
  const patch = difference(sorted(previous), sorted(next))
  return Object.keys(patch).length === 0 ? undefined : patch
}

function sorted(status: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(status.conditions)) return status
  const conditions = [...(status.conditions as Condition[])].sort((a, b) => a.type.localeCompare(b.type))
  return { ...status, conditions }
}

function difference(previous: Record<string, unknown>, next: Record<string, unknown>): Record<string, unknown> {
  const patch: Record<string, unknown> = {}
  for (const key of new Set([...Object.keys(previous), ...Object.keys(next)])) {
    const [before, after] = [previous[key], next[key]]
    if (after === undefined || after === null) {
      if (before !== undefined && before !== null) patch[key] = null
    } else if (isRecord(before) && isRecord(after)) {
      const nestedPatch = difference(before, after)
      if (Object.keys(nestedPatch).length > 0) patch[key] = nestedPatch
    } else if (!isDeepStrictEqual(before, after)) {
      patch[key] = after
    }
  }
  return patch
}

/** What people should hear of: the only source of events and log lines. */
export type Transition = { type: 'Normal' | 'Warning'; reason: string; note: string }

/**
 * The transition between two statuses; undefined if `Ready` says the same as before. While it does not hold, another
 * message is news, such as why the pods do not start; other numbers in it are not.
 */
export function transition(
  previous: Record<string, unknown>,
  next: Record<string, unknown>,
  outcome: Outcome | Failed,
): Transition | undefined {
  const [before, after] = [readyOf(previous), readyOf(next)]
  if (after === undefined || (before !== undefined && isSameNews(before, after))) return undefined
  const isNormal = outcome.kind === 'done' || outcome.kind === 'waiting'
  // An event without a message shows as <none>; only a healthy outcome has none.
  const note = after.message === '' ? 'Everything is as it should be.' : after.message
  return { type: isNormal ? 'Normal' : 'Warning', reason: after.reason, note }
}

function isSameNews(before: Condition, after: Condition): boolean {
  const isSame = before.status === after.status && before.reason === after.reason
  return isSame && (after.status === 'True' || wordsOf(before) === wordsOf(after))
}

const wordsOf = ({ message }: Condition) => message.replaceAll(/\d+/g, '')

function readyOf(status: Record<string, unknown>): Condition | undefined {
  return (status as ReconcileStatus).conditions?.find(({ type }) => type === 'Ready')
}
