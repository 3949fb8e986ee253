import { type Clock, systemClock, type Timer } from '../core/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import { FairKeyQueue, type FairQueuePosition } from './fairKeyQueue.ts'
import { isLeaseLost } from './lease.ts'

export type QueueOptions = {
  /** For logs and metrics. */
  name: string
  /** Processes one key. An error is logged and the key is retried with backoff. */
  handle: (key: string) => Promise<void>
  /** Keys processed at once. One party gets at most half of the workers, and fewer while other parties have some. */
  workers: number
  clock?: Clock
  log?: Log
  random?: () => number
  /** Returns the party of a key: parties take turns, and none gets all workers. Default: the namespace. */
  partyOf?: (key: string) => string | undefined
  /** Milliseconds of the first and of the longest backoff. */
  backoff?: { first: number; longest: number }
  /** Observes each pass, for histograms. Durations in seconds. */
  onPass?: (pass: QueuePass) => void
}

export type QueuePass = { queue: string; waitedSeconds: number; workedSeconds: number; failed: boolean }

export type QueueMetrics = {
  /** Keys that are waiting for a worker. */
  depth: number
  /** Keys that a timer will add. */
  delayed: number
  working: number
  /** Keys that failed since they last succeeded. */
  failing: number
  /** Parties with waiting keys, and the highest number of waiting keys of one party. */
  parties: number
  deepest: number
  /** Seconds that the oldest waiting key has waited. */
  oldestSeconds: number
  /** Since the start. */
  adds: number
  retries: number
}

/** Node fires longer timers after 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Urgent keys that are taken in a row before another key gets its turn. */
const URGENT_ROW_MAX = 4

/** Milliseconds until a key that failed, and was added again meanwhile, is processed. */
const CHANGED_RETRY_MS = 1_000

/**
 * A work queue of keys. A key waits at most once and is never processed by two workers; a key that is added while it is
 * being processed runs once more afterwards.
 *
 *   add ──> waiting ──worker──> working ──ok──> gone
 *            ^  ^                  │
 *            │  └── added again ───┤
 *            └── timer <── throw ──┘   (backoff doubles until `forget`)
 */
export class KeyedQueue {
  readonly #options: QueueOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #random: () => number
  readonly #backoff: { first: number; longest: number }
  readonly #urgent: FairKeyQueue
  readonly #rest: FairKeyQueue
  /** Keys being processed, with their party. */
  readonly #working = new Map<string, string>()
  /** Keys added while they are being processed, and whether urgently. */
  readonly #reruns = new Map<string, boolean>()
  readonly #delayed = new Map<string, { due: number; timer: Timer }>()
  readonly #failures = new Map<string, number>()
  #urgentInARow = 0
  #adds = 0
  #retries = 0
  #running = false
  #closed = false
  #idle: (() => void)[] = []

  constructor(options: QueueOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = (options.log ?? silentLog).child({ queue: options.name })
    this.#random = options.random ?? Math.random
    this.#backoff = options.backoff ?? { first: 5, longest: 300_000 }
    const placeOf = positionWith(options.partyOf)
    this.#urgent = new FairKeyQueue(placeOf)
    this.#rest = new FairKeyQueue(placeOf)
  }

  /** Lets workers begin. Keys may be added before. */
  start(): void {
    this.#running = true
    this.#dispatch()
  }

  /**
   * Makes the key due now. A timer of the same key stays: it was set because of time, not because of a change.
   *
   * @param isUrgent somebody waits for it, so it goes before keys that are only checked again
   */
  add(key: string, isUrgent = false): void {
    if (this.#closed) return
    this.#adds += 1
    if (this.#working.has(key)) this.#reruns.set(key, isUrgent || this.#reruns.get(key) === true)
    else this.#enqueue(key, isUrgent)
    this.#dispatch()
  }

  /** Makes the key due after this many milliseconds, unless it has an earlier timer. */
  addAfter(key: string, milliseconds: number): void {
    if (this.#closed) return
    if (milliseconds <= 0) {
      this.add(key)
      return
    }
    const due = this.#clock.monotonic() + milliseconds
    const set = this.#delayed.get(key)
    if (set !== undefined && set.due <= due) return
    set?.timer.cancel()
    this.#arm(key, due)
  }

  /** Retries a failed key after a backoff that doubles with each failure, with a fifth of jitter. */
  addRateLimited(key: string): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.#retries += 1
    const { first, longest } = this.#backoff
    const backoff = Math.min(longest, first * 2 ** Math.min(failures, 40))
    this.addAfter(key, backoff * (0.8 + 0.4 * this.#random()))
  }

  /** Resets the backoff of a key that succeeded. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Returns how often the key failed since it was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0
  }

  /** Forgets a key whose object is gone: no timer and no backoff remain. */
  drop(key: string): void {
    this.#failures.delete(key)
    this.#delayed.get(key)?.timer.cancel()
    this.#delayed.delete(key)
  }

  metrics(): QueueMetrics {
    const depth = this.#depth
    const oldest = Math.min(this.#urgent.oldest, this.#rest.oldest)
    const depths = new Map(this.#rest.depths)
    for (const [party, urgent] of this.#urgent.depths) depths.set(party, urgent + (depths.get(party) ?? 0))
    return {
      depth,
      parties: depths.size,
      deepest: Math.max(0, ...depths.values()),
      delayed: this.#delayed.size,
      working: this.#working.size,
      failing: this.#failures.size,
      oldestSeconds: depth === 0 ? 0 : (this.#clock.monotonic() - oldest) / 1000,
      adds: this.#adds,
      retries: this.#retries,
    }
  }

  /** Resolves when no key waits or is being processed; timers may be set. */
  whenIdle(): Promise<void> {
    if (this.#depth === 0 && this.#working.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Accepts no more keys, drops waiting ones, and resolves when the workers have finished theirs. */
  async shutDown(): Promise<void> {
    this.#closed = true
    for (const { timer } of this.#delayed.values()) timer.cancel()
    this.#delayed.clear()
    this.#urgent.clear()
    this.#rest.clear()
    this.#reruns.clear()
    await this.whenIdle()
  }

  get #depth(): number {
    return this.#urgent.depth + this.#rest.depth
  }

  #arm(key: string, due: number): void {
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, due - this.#clock.monotonic()))
    const timer = this.#clock.setTimeout(() => {
      if (this.#clock.monotonic() < due) {
        this.#arm(key, due)
        return
      }
      this.#delayed.delete(key)
      this.add(key)
    }, wait)
    this.#delayed.set(key, { due, timer })
  }

  #enqueue(key: string, isUrgent: boolean): void {
    const now = this.#clock.monotonic()
    if (!isUrgent) {
      if (!this.#urgent.has(key)) this.#rest.add(key, now)
      return
    }
    this.#urgent.add(key, this.#rest.remove(key) ?? now)
  }

  /** Takes urgent keys first, but never lets the rest starve. */
  #next(): { key: string; party: string; since: number } | undefined {
    const isTurnOfRest = this.#urgentInARow >= URGENT_ROW_MAX
    for (const queue of isTurnOfRest ? [this.#rest, this.#urgent] : [this.#urgent, this.#rest]) {
      const next = queue.next((party) => this.#mayTake(party))
      if (next === undefined) continue
      this.#urgentInARow = queue === this.#urgent ? this.#urgentInARow + 1 : 0
      return next
    }
    return undefined
  }

  /** The more workers a party holds, the more must be free. A party that holds none may take the last one. */
  #mayTake(party: string): boolean {
    let held = 0
    for (const holder of this.#working.values()) if (holder === party) held += 1
    return held < this.#options.workers - this.#working.size
  }

  #dispatch(): void {
    while (this.#running && this.#working.size < this.#options.workers) {
      const next = this.#next()
      if (next === undefined) return
      this.#working.set(next.key, next.party)
      void this.#work(next.key, next.since)
    }
  }

  /** Never rejects: whatever a handler throws is one failed pass of one key. */
  async #work(key: string, since: number): Promise<void> {
    const started = this.#clock.monotonic()
    let failed = false
    // `add` is often called from a watch event: work begins after the event has been handled.
    await Promise.resolve()
    try {
      await this.#options.handle(key)
    } catch (error) {
      failed = true
      // The loss of the lease is logged already, and every key in progress fails with it.
      if (!isLeaseLost(error))
        this.#log.warn({ key, failures: this.failures(key) + 1, err: error }, `Work on "${key}" failed and is retried.`)
    }
    this.#working.delete(key)
    if (failed && !this.#closed) this.addRateLimited(key)
    const rerun = this.#reruns.get(key)
    this.#reruns.delete(key)
    if (rerun !== undefined && !this.#closed) this.#runAgain(key, failed, rerun)
    this.#observe({ waited: started - since, worked: this.#clock.monotonic() - started, failed })
    this.#dispatch()
    if (this.#depth === 0 && this.#working.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /**
   * After a failed pass, even a change is delayed: it is often our own write, and a key that fails after each write
   * would run in a hot loop.
   */
  #runAgain(key: string, failed: boolean, isUrgent: boolean): void {
    if (failed) this.addAfter(key, Math.min(CHANGED_RETRY_MS, this.#backoff.longest))
    else this.#enqueue(key, isUrgent)
  }

  #observe({ waited, worked, failed }: { waited: number; worked: number; failed: boolean }): void {
    const { onPass, name } = this.#options
    try {
      onPass?.({ queue: name, waitedSeconds: waited / 1000, workedSeconds: worked / 1000, failed })
    } catch (error) {
      this.#log.error({ err: error }, 'An observer of the queue failed.')
    }
  }
}

function positionWith(partyOf: QueueOptions['partyOf']): (key: string) => FairQueuePosition {
  return (key) => {
    const namespace = key.slice(0, Math.max(0, key.indexOf('/')))
    return { party: partyOf?.(key) ?? namespace, queue: namespace }
  }
}
