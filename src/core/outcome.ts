import type { NotReadyReason, ReadyReason, Reason, ReconcilingReason, StalledReason } from './reasons.ts'

/** What one step of a reconcile returns. A step that throws is retried with backoff. Durations are milliseconds. */
export type Outcome =
  /** Nothing left to do; look again after `after` only if time itself is an input. */
  | { kind: 'done'; reason?: ReadyReason; message?: string; after?: number; startObstacle?: StartObstacle }
  /** Something else must happen first. A watch triggers the next pass; set `after` only if no watch can. */
  | { kind: 'waiting'; reason: ReconcilingReason; message: string; after?: number }
  /** The engine reports a problem that may pass. */
  | { kind: 'degraded'; reason: NotReadyReason; message: string; after?: number }
  /** A person must change something; no retry until an object changes, or `after` if time or another system decides. */
  | { kind: 'stalled'; reason: StalledReason; message: string; after?: number }

/** Why a stopped resource could not be started now. */
export type StartObstacle = { readonly reason: Reason; readonly message: string }

/** Returns the shortest of several delays; undefined if none is given. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

type DoneDetails = { reason?: ReadyReason; message?: string; after?: number | undefined; startObstacle?: StartObstacle }

export function done({ after, ...details }: DoneDetails = {}): Outcome {
  return { kind: 'done', ...details, ...(after !== undefined && { after }) }
}

/** The outcome of one-time work that has ended. A failure is not `Ready`, so nobody who waits for `Ready` continues. */
export function ended(
  failure: string | undefined,
  { after, ...details }: Pick<DoneDetails, 'message' | 'after'> = {},
): Outcome {
  if (failure !== undefined) return stalled('RunFailed', failure.slice(0, 1024), after)
  return done({ reason: 'Completed', ...details, after })
}

/** For `after`: the next pass follows this one. */
export const REQUEUE_NOW = 1

export function waiting(reason: ReconcilingReason, message: string, after?: number): Outcome {
  return after === undefined ? { kind: 'waiting', reason, message } : { kind: 'waiting', reason, message, after }
}

export function degraded(reason: NotReadyReason, message: string, after?: number): Outcome {
  return after === undefined ? { kind: 'degraded', reason, message } : { kind: 'degraded', reason, message, after }
}

export function stalled(reason: StalledReason, message: string, after?: number): Outcome {
  return after === undefined ? { kind: 'stalled', reason, message } : { kind: 'stalled', reason, message, after }
}
