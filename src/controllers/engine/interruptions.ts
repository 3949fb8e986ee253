import { type KubeObject, keyOf, type Resource, resourceId } from '../../core/object.ts'
import type { ReconcilingReason, StalledReason } from '../../core/reasons.ts'

/**
 * Thrown from deep inside a step if a person must change something. The engine reports it as `stalled(reason)` does
 * and does not retry; a step that can return its outcome returns it.
 */
export class StalledError extends Error {
  readonly reason: StalledReason
  /** The conflicting object, as named by `occupantId`: its removal ends the stall. */
  readonly occupant: string | undefined

  constructor(reason: StalledReason, message: string, occupant?: string) {
    super(message)
    this.name = 'StalledError'
    this.reason = reason
    this.occupant = occupant
  }
}

export function occupantId(resource: Resource, object: KubeObject): string {
  return `${resourceId(resource)} ${keyOf(object)}`
}

/** Thrown from deep inside a step if something must happen first that a watch will report. */
export class WaitingError extends Error {
  readonly reason: ReconcilingReason

  constructor(reason: ReconcilingReason, message: string) {
    super(message)
    this.name = 'WaitingError'
    this.reason = reason
  }
}

/** A pass that threw: the step, and a message that may be shown. The cause is for the log. */
export class PassError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'PassError'
  }
}
