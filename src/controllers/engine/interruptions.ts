import type { ReconcilingReason, StalledReason } from '../../core/reasons.ts'

/**
 * Thrown from deep inside a step where a person must change something. The engine reports it as `stalled(reason)` does
 * and does not retry; a step that can return its outcome returns it.
 */
export class StalledError extends Error {
  readonly reason: StalledReason

  constructor(reason: StalledReason, message: string) {
    super(message)
    this.name = 'StalledError'
    this.reason = reason
  }
}

/** Thrown from deep inside a step where something must happen first that a watch will tell of. */
export class WaitingError extends Error {
  readonly reason: ReconcilingReason

  constructor(reason: ReconcilingReason, message: string) {
    super(message)
    this.name = 'WaitingError'
    this.reason = reason
  }
}
