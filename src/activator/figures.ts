import {
  BUCKET_SECONDS,
  type CallBucket,
  type CountedCalls,
  KEPT_SECONDS,
  MOST_SAMPLES,
} from '../contracts/functionCalls.ts'
import type { Clock } from '../core/clock.ts'
import { NoPlace } from './lane.ts'
import type { CachedFunction, View } from './switchboard.ts'

type Called = { milliseconds: number; isError: boolean; wasCold: boolean }

const beginOf = (seconds: number) => seconds - (seconds % BUCKET_SECONDS)

/** Calls of the last hour, in memory, for the functions that were called. */
export class Figures {
  readonly #clock: Clock
  readonly #buckets = new Map<string, CallBucket[]>()
  /** Seconds since the epoch; before it nothing was counted. */
  readonly #begun: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#begun = this.#now()
  }

  called(key: string, { milliseconds, isError, wasCold }: Called): void {
    const bucket = this.#bucket(key)
    bucket.invocations += 1
    if (isError) bucket.errors += 1
    if (wasCold) bucket.coldStarts += 1
    // Each call is as likely to be among the samples as any other.
    const at =
      bucket.durations.length < MOST_SAMPLES ? bucket.durations.length : Math.floor(Math.random() * bucket.invocations)
    // Tenths are enough, and short where they are told.
    if (at < MOST_SAMPLES) bucket.durations[at] = Math.round(milliseconds * 10) / 10
  }

  /**
   * Counts a call however it ends, and hands on how.
   *
   * @param isLeft whether nobody waits for its end any more: then it is not counted
   */
  async count(
    key: string,
    clock: Pick<Clock, 'monotonic'>,
    send: () => Promise<{ status: number; wasCold: boolean }>,
    isLeft = () => false,
  ): Promise<void> {
    const started = clock.monotonic()
    const took = () => clock.monotonic() - started
    try {
      const { status, wasCold } = await send()
      this.called(key, { milliseconds: took(), isError: status >= 500, wasCold })
    } catch (error) {
      if (error instanceof NoPlace && error.why === 'refused') this.throttled(key)
      else if (!isLeft()) this.called(key, { milliseconds: took(), isError: true, wasCold: false })
      throw error
    }
  }

  throttled(key: string): void {
    this.#bucket(key).throttles += 1
  }

  of(key: string): CountedCalls {
    const now = this.#now()
    const since = Math.max(this.#begun, this.#oldest(now))
    const buckets = this.#buckets.get(key) ?? []
    // The second that runs counts too: a call of this moment has happened.
    return { since, until: now + 1, buckets: buckets.filter(({ at }) => at + BUCKET_SECONDS > since) }
  }

  /** Functions whose calls are kept. */
  get size(): number {
    return this.#buckets.size
  }

  /** A function of the same name that is made later has calls of its own. */
  forget(key: string): void {
    this.#buckets.delete(key)
  }

  #now(): number {
    return Math.floor(this.#clock.now() / 1000)
  }

  /** When the oldest bucket begins that is kept. */
  #oldest(now: number): number {
    return beginOf(now) - KEPT_SECONDS
  }

  /** A call may end after its function has gone, and nobody forgets it then. */
  #forgetOld(now: number): void {
    for (const [key, buckets] of this.#buckets) if ((buckets.at(-1)?.at ?? 0) < this.#oldest(now)) this.forget(key)
  }

  #bucket(key: string): CallBucket {
    const now = this.#now()
    const at = beginOf(now)
    const known = this.#buckets.get(key)
    if (known === undefined) this.#forgetOld(now)
    const buckets = known ?? []
    this.#buckets.set(key, buckets)
    const last = buckets.at(-1)
    if (last?.at === at) return last
    const made: CallBucket = { at, invocations: 0, errors: 0, throttles: 0, coldStarts: 0, durations: [] }
    buckets.push(made)
    while ((buckets[0]?.at ?? at) < this.#oldest(now)) buckets.shift()
    return made
  }
}

/**
 * Forgets the calls of functions that are no more, also where another one has the name already.
 *
 * @returns what ends it
 */
export function forgetGone(figures: Figures, functions: Pick<View<CachedFunction>, 'subscribe'>): () => void {
  return functions.subscribe(({ type, object: { metadata }, previous }) => {
    const isAnother = previous !== undefined && previous.metadata.uid !== metadata.uid
    if (type === 'removed' || isAnother) figures.forget(`${metadata.namespace}/${metadata.name}`)
  })
}
