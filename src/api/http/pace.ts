import type { Clock } from '../../core/clock.ts'
import { pauseFor } from '../../core/pause.ts'
import { Budget, type Rate } from './limits.ts'

/** Slows down whoever does more than its rate, for callers that cannot be refused: nothing is lost, it only comes later. */
export class Pace {
  readonly #budget: Budget
  readonly #longest: number
  readonly #clock: Clock

  /** @param longest milliseconds; nothing waits longer */
  constructor({ longest, ...rate }: Rate & { readonly longest: number }, clock: Clock) {
    this.#budget = new Budget(rate)
    this.#longest = longest
    this.#clock = clock
  }

  /** Undefined if the key may go on at once. */
  take(key: string): Promise<void> | undefined {
    const now = this.#clock.monotonic()
    const wait = this.#budget.until(key, 1, now) ?? 0
    // What could not be made to wait is not owed either: a flood is slowed while it lasts, not for minutes after it.
    if (wait < this.#longest) this.#budget.owe(key, 1, now)
    return wait === 0 ? undefined : pauseFor(this.#clock, Math.min(wait, this.#longest))
  }
}
