import type { Clock } from '../../core/clock.ts'
import { pauseFor } from '../../core/pause.ts'
import { type Rate, TokenBucket } from './limits.ts'

/** Slows down callers over their rate that cannot be refused: nothing is lost, only delayed. */
export class CallerThrottle {
  readonly #budget: TokenBucket
  readonly #maxWait: number
  readonly #clock: Clock

  /** @param longest the longest wait, in milliseconds */
  constructor({ longest, ...rate }: Rate & { readonly longest: number }, clock: Clock) {
    this.#budget = new TokenBucket(rate)
    this.#maxWait = longest
    this.#clock = clock
  }

  /** Returns undefined if the key may proceed at once. */
  take(key: string): Promise<void> | undefined {
    const now = this.#clock.monotonic()
    const wait = this.#budget.until(key, 1, now) ?? 0
    // Calls beyond the longest wait add no debt: a flood is slowed while it lasts, not for minutes after it.
    if (wait < this.#maxWait) this.#budget.owe(key, 1, now)
    return wait === 0 ? undefined : pauseFor(this.#clock, Math.min(wait, this.#maxWait))
  }
}
