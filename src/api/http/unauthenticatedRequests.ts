import type { TokenBucket } from './limits.ts'

/** Waiting requests per address, each with its connection. Further ones are refused at once. */
const WAITING_MAX = 1_000

/** Requests of one address: how many are in flight, and those that wait. */
type AddressQueue = { underway: number; readonly waiting: ((wait: number | undefined) => void)[] }

/**
 * Requests without a token that may yet prove who sends them, such as signed deliveries. Each takes one from the budget
 * of its address, and gives it back at the end if it was proved. If the budget is empty, the next request waits for
 * those in flight, as any of them may give theirs back. So no more are in flight than the budget holds, any number of
 * signed requests get through, and forged ones use the budget up like all requests without a token.
 */
export class UnauthenticatedRequests {
  readonly #budget: TokenBucket
  readonly #now: () => number
  readonly #queues = new Map<string, AddressQueue>()

  constructor(budget: TokenBucket, now: () => number) {
    this.#budget = budget
    this.#now = now
  }

  /** @returns undefined once the request may proceed, otherwise the milliseconds until the budget has one for it */
  begin(key: string): Promise<number | undefined> {
    const line = this.#queues.get(key) ?? { underway: 0, waiting: [] }
    if (line.waiting.length >= WAITING_MAX) return Promise.resolve(this.#budget.until(key, 1, this.#now()))
    this.#queues.set(key, line)
    const admitted = new Promise<number | undefined>((resolve) => line.waiting.push(resolve))
    this.#admit(key, line)
    return admitted
  }

  /** Must be called once for each request that may proceed. */
  end(key: string, isProved: boolean): void {
    const line = this.#queues.get(key)
    if (line === undefined) return
    line.underway -= 1
    if (isProved) this.#budget.owe(key, -1, this.#now())
    this.#admit(key, line)
  }

  #admit(key: string, line: AddressQueue): void {
    for (let next = line.waiting[0]; next !== undefined; next = line.waiting[0]) {
      const wait = this.#budget.take(key, 1, this.#now())
      if (wait !== undefined && line.underway > 0) return
      line.waiting.shift()
      if (wait === undefined) line.underway += 1
      next(wait)
    }
    if (line.underway === 0) this.#queues.delete(key)
  }
}
