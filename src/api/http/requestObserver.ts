import { randomUUID } from 'node:crypto'
import { auditIdOf } from '../../contracts/activity.ts'
import type { PlatformError } from '../../core/errors.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { Origin } from '../../core/origin.ts'
import type { Caller } from './context.ts'
import type { Match } from './router.ts'

/** An answered request of a known caller to a route that changes something. */
export type FinishedRequest = {
  readonly id: string
  readonly match: Match
  readonly caller: Caller
  readonly beganAt: number
  readonly status: number
  readonly error: PlatformError | undefined
  readonly correlationId: string
  readonly traceId: string
  readonly address: string | undefined
  /** The objects of ours that it wrote, in their new state. */
  readonly written: readonly { readonly resource: Resource; readonly object: KubeObject }[]
  /** Whether everything already was as requested. */
  readonly isUnchanged: boolean
}

/** Called for every such request. Must not throw. */
export type RequestObserver = (request: FinishedRequest) => void

/** Records the writes of one request in progress, for the observer. */
export class RequestWrites implements Origin {
  readonly id = randomUUID()
  readonly caller: string
  readonly auditId: string
  readonly writes: { resource: Resource; object: KubeObject }[] = []
  #hasUnchangedWrite = false

  constructor(principalId: string) {
    this.caller = principalId
    this.auditId = auditIdOf(this.id, principalId)
  }

  written(resource: Resource, object: KubeObject): void {
    this.writes.push({ resource, object })
  }

  unchanged(): void {
    this.#hasUnchangedWrite = true
  }

  get isUnchanged(): boolean {
    return this.#hasUnchangedWrite && this.writes.length === 0
  }
}
