import type { Clock } from './clock.ts'
import { pauseFor } from './pause.ts'

/** Milliseconds. */
const DELAY_MS = 1_000
/** The most refusals that wait at the same time, each with its connection. Further ones are sent at once. */
const WAITING_MAX = 1_000

/** Delays the refusal of callers over a limit by a second: a connection is then refused at most once a second. */
export class LateRefusals {
  readonly #clock: Clock
  readonly #delay: number
  #waiting = 0

  constructor(clock: Clock, delay: number = DELAY_MS) {
    this.#clock = clock
    this.#delay = delay
  }

  /** @param signal aborted when the caller has disconnected, which ends the wait */
  async wait(signal?: AbortSignal): Promise<void> {
    if (this.#delay === 0 || this.#waiting >= WAITING_MAX || signal?.aborted === true) return
    this.#waiting += 1
    await pauseFor(this.#clock, this.#delay, signal)
    this.#waiting -= 1
  }
}
