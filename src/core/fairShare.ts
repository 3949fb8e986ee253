/** Milliseconds of work that a caller may do in one round of the event loop. */
const SHARE_MS = 1
/** The most queued requests of one caller that proceed in one round. */
const BATCH_MAX = 64

/** The queue of one caller. `batch` is how many entries fit into a share, estimated from the last round. */
type CallerQueue = { began: number; batch: number; readonly waiting: (() => void)[] }

/**
 * Shares the event loop among callers. A caller that has used its share of a round waits for the next round, in which
 * the requests of all others are read first. A caller with one request at a time never waits. Other callers wait for at
 * most one piece of work of each busy caller, however many requests it has sent.
 */
export class FairShare {
  readonly #queues = new Map<string, CallerQueue>()
  readonly #now: () => number
  readonly #nextRound: (run: () => void) => void
  #isScheduled = false

  constructor(
    now: () => number = () => performance.now(),
    nextRound: (run: () => void) => void = (run) => setImmediate(run),
  ) {
    this.#now = now
    this.#nextRound = nextRound
  }

  /** Returns undefined if the caller may proceed at once, otherwise a promise to wait for. */
  take(key: string): Promise<void> | undefined {
    const queue = this.#queues.get(key)
    if (queue === undefined) {
      this.#queues.set(key, { began: this.#now(), batch: 1, waiting: [] })
      this.#schedule()
      return undefined
    }
    if (queue.waiting.length === 0 && this.#now() - queue.began < SHARE_MS) return undefined
    return new Promise((resolve) => queue.waiting.push(resolve))
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#nextRound(() => {
      this.#isScheduled = false
      this.#round()
    })
  }

  #round(): void {
    const now = this.#now()
    for (const [key, line] of this.#queues) {
      if (line.waiting.length === 0) {
        this.#queues.delete(key)
        continue
      }
      line.batch = now - line.began < SHARE_MS ? Math.min(BATCH_MAX, line.batch * 2) : Math.max(1, line.batch >> 1)
      line.began = now
      for (const proceed of line.waiting.splice(0, line.batch)) proceed()
    }
    if (this.#queues.size > 0) this.#schedule()
  }
}
