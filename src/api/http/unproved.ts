import type { Budget } from './limits.ts'

/** Of one address. Further ones hear at once that there are too many: each that waits has a connection. */
const WAITING_MAX = 1_000

/** Requests of one address: how many are looked at, and who waits. */
type Line = { underway: number; readonly waiting: ((wait: number | undefined) => void)[] }

/**
 * Requests without a token that may yet show who sends them, such as signed deliveries. Each takes one from the budget of its
 * address, and gives it back in the end if it has shown that. Where nothing is left, the next one waits for those that are
 * looked at, as any of them may give its own back: so no more are looked at together than the budget holds, many that are
 * signed all come through, and those that are forged use the budget up like every request without a token.
 */
export class UnprovedRequests {
  readonly #budget: Budget
  readonly #now: () => number
  readonly #lines = new Map<string, Line>()

  constructor(budget: Budget, now: () => number) {
    this.#budget = budget
    this.#now = now
  }

  /** @returns undefined once it may be looked at, else the milliseconds until the budget has one for it */
  begin(key: string): Promise<number | undefined> {
    const line = this.#lines.get(key) ?? { underway: 0, waiting: [] }
    if (line.waiting.length >= WAITING_MAX) return Promise.resolve(this.#budget.until(key, 1, this.#now()))
    this.#lines.set(key, line)
    const admitted = new Promise<number | undefined>((resolve) => line.waiting.push(resolve))
    this.#admit(key, line)
    return admitted
  }

  /** Once for each that has begun. */
  end(key: string, isProved: boolean): void {
    const line = this.#lines.get(key)
    if (line === undefined) return
    line.underway -= 1
    if (isProved) this.#budget.owe(key, -1, this.#now())
    this.#admit(key, line)
  }

  #admit(key: string, line: Line): void {
    for (let next = line.waiting[0]; next !== undefined; next = line.waiting[0]) {
      const wait = this.#budget.take(key, 1, this.#now())
      if (wait !== undefined && line.underway > 0) return
      line.waiting.shift()
      if (wait === undefined) line.underway += 1
      next(wait)
    }
    if (line.underway === 0) this.#lines.delete(key)
  }
}
