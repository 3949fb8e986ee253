import { timestamp } from '../../core/clock.ts'
import { type Outcome, waiting } from '../../core/outcome.ts'

/** Milliseconds from a deletion until a wait is reported as DeletionBlocked. */
const DELETION_TIMEOUT_MS = 600_000

/**
 * A wait during deletion gets a visible deadline. Before it, the message says until when; after it the phase is
 * DeletionBlocked. The finalizer stays either way: it protects data, and only the teardown may remove it.
 */
export function withDeadline(outcome: Outcome, deletedAt: string, now: number): Outcome {
  // What waits for a person has no deadline.
  if (outcome.kind !== 'waiting' || outcome.reason === 'DeletionBlocked') return outcome
  const deadline = Date.parse(deletedAt) + DELETION_TIMEOUT_MS
  if (Number.isNaN(deadline)) return outcome
  const until = timestamp(deadline)
  if (now >= deadline) {
    return { ...outcome, reason: 'DeletionBlocked', message: `${outcome.message} It was expected by ${until}.` }
  }
  // One timer for the deadline: until then a watch triggers us.
  const remaining = deadline - now
  return waiting(
    outcome.reason,
    `${outcome.message} Expected by ${until}.`,
    Math.min(outcome.after ?? remaining, remaining),
  )
}
