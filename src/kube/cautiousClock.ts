import { type Clock, systemClock, type Timer } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { RequestObservation } from './call.ts'

/** Milliseconds by which clocks may differ: answers tell whole seconds, and take a moment. */
const SKEW_MAX_MS = 60_000
/** Milliseconds: the answer to a slower request says little about the time at which it was sent. */
const REQUEST_MAX_MS = 5_000

export type CautiousClockOptions = { clock?: Clock; log: Pick<Log, 'warn' | 'info'> }

/**
 * The clock of this process, but that of the API server while ours is more than a minute ahead. Whatever is deleted by
 * its age is then not deleted early: what is deleted late can still be deleted, but not the other way round. The API
 * server's clock says when objects were created, and nothing is asked for it: each of its answers has a date.
 */
export class CautiousClock implements Clock {
  readonly #clock: Clock
  readonly #log: CautiousClockOptions['log']
  #ahead = 0

  constructor({ clock = systemClock, log }: CautiousClockOptions) {
    this.#clock = clock
    this.#log = log
  }

  /** Milliseconds by which our clock is ahead; 0 if it is not, or not by more than a minute. */
  get ahead(): number {
    return this.#ahead
  }

  now(): number {
    return this.#clock.now() - this.#ahead
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  setTimeout(task: () => void, milliseconds: number): Timer {
    return this.#clock.setTimeout(task, milliseconds)
  }

  /** Compares our clock with the date of an answer that has just arrived. */
  compare({ date, durationSeconds }: Pick<RequestObservation, 'date' | 'durationSeconds'>): void {
    const told = Date.parse(date ?? '')
    const duration = durationSeconds * 1000
    if (Number.isNaN(told) || duration > REQUEST_MAX_MS) return
    const ahead = this.#clock.now() - duration - told
    const before = this.#ahead
    this.#ahead = ahead > SKEW_MAX_MS ? ahead : 0
    if (before === 0 && this.#ahead > 0)
      this.#log.warn(
        { seconds: Math.round(ahead / 1000) },
        'The clock is ahead of that of the API server, which is used instead.',
      )
    if (before > 0 && this.#ahead === 0) this.#log.info({}, 'The clock is that of the API server again.')
  }
}
