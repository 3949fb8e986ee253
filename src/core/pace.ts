import type { Clock } from './clock.ts'
import { recentlyUsed } from './recentlyUsed.ts'

/** Further keys push out those that have been quiet the longest. */
const KEYS_MAX = 50_000

export type PaceOptions = {
  /** How much a key may do in the long run. */
  readonly perSecond: number
  /** How much of it at once, after it was quiet. */
  readonly burst: number
  /** Nothing waits longer, in milliseconds. */
  readonly longest: number
}

/**
 * Slows down whoever does more than its share, for callers that cannot be refused: nothing is lost, it only comes later
 * (the generic cell rate algorithm of ITU-T I.371, which keeps one time per key).
 */
export class Pace {
  readonly #options: PaceOptions
  readonly #clock: Clock
  /** When all that a key has done so far would have been done at its rate, in monotonic milliseconds. */
  readonly #doneAt = recentlyUsed<string, number>(KEYS_MAX)

  constructor(options: PaceOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  /** Undefined if the key may go on at once. */
  take(key: string): Promise<void> | undefined {
    const { perSecond, burst, longest } = this.#options
    const interval = 1_000 / perSecond
    const now = this.#clock.monotonic()
    const ahead = burst * interval
    // What could not be made to wait is not owed either: a flood is slowed while it lasts, not for minutes after it.
    const doneAt = Math.min(Math.max(now, this.#doneAt.get(key) ?? now) + interval, now + ahead + longest)
    this.#doneAt.set(key, doneAt)
    const wait = doneAt - ahead - now
    if (wait <= 0) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#clock.setTimeout(resolve, wait)
    return promise
  }
}
