import type { Clock } from './clock.ts'
import { pauseFor } from './pause.ts'

/** Milliseconds of work that may be done at once after a pause: normal events never wait. */
const BURST_MS = 100

/** Bounds the share of the thread's time that work for one party takes, however much of it arrives. */
export class TimeShare {
  readonly #clock: Clock
  readonly #share: number
  /** When the work so far has filled its share. */
  #filledAt = Number.NEGATIVE_INFINITY

  /** @param share between 0 and 1 */
  constructor(clock: Clock, share: number) {
    this.#clock = clock
    this.#share = share
  }

  /** Counts work that was just done. @returns a promise to wait for before more of it; undefined to go on at once */
  spend(milliseconds: number): Promise<void> | undefined {
    const now = this.#clock.monotonic()
    this.#filledAt = Math.max(now, this.#filledAt) + milliseconds / this.#share
    const wait = this.#filledAt - now - BURST_MS / this.#share
    return wait > 0 ? pauseFor(this.#clock, wait) : undefined
  }
}
