import { PlatformError } from '../../core/errors.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'

/** Waiting tasks per key, besides the running one. */
const MAX_WAITING = 4

/** Runs one task at a time per key. The queue is short, because each waiting request holds its body in memory. */
export class BoundedKeyQueues {
  readonly #locks = new KeyedMutex()
  readonly #taskCounts = new Map<string, number>()

  /** @throws PlatformError TOO_MANY_REQUESTS */
  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const present = this.#taskCounts.get(key) ?? 0
    if (present > MAX_WAITING) {
      const message = 'Too many lines are being added to this log at once: send one request after the other.'
      throw new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: 1 })
    }
    this.#taskCounts.set(key, present + 1)
    try {
      return await this.#locks.take(key, work)
    } finally {
      const left = (this.#taskCounts.get(key) ?? 1) - 1
      if (left === 0) this.#taskCounts.delete(key)
      else this.#taskCounts.set(key, left)
    }
  }
}
