import {
  CALL_BUCKET_SECONDS,
  CALL_RETENTION_SECONDS,
  CALL_SAMPLES_MAX,
  type CallBucket,
  type CountedCalls,
} from '../contracts/functionCalls.ts'
import type { Clock } from '../core/clock.ts'
import { NoSlotError } from './callQueue.ts'
import type { CachedFunction, View } from './switchboard.ts'

type FinishedCall = { milliseconds: number; isError: boolean; wasCold: boolean }

const bucketStartOf = (seconds: number) => seconds - (seconds % CALL_BUCKET_SECONDS)

/** Call statistics of the last hour, kept in memory for each function that was called. */
export class CallStatistics {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #buckets = new Map<string, CallBucket[]>()
  /** When counting began, in seconds since the epoch. */
  readonly #startedAt: number

  /** @param random from 0, below 1 */
  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock
    this.#random = random
    this.#startedAt = this.#now()
  }

  called(key: string, { milliseconds, isError, wasCold }: FinishedCall): void {
    const bucket = this.#bucket(key)
    bucket.invocations += 1
    if (isError) bucket.errors += 1
    if (wasCold) bucket.coldStarts += 1
    // Reservoir sampling: each call is equally likely to be in the sample.
    const at =
      bucket.durations.length < CALL_SAMPLES_MAX
        ? bucket.durations.length
        : Math.floor(this.#random() * bucket.invocations)
    // A tenth of a millisecond is precise enough and keeps the reported JSON short.
    if (at < CALL_SAMPLES_MAX) bucket.durations[at] = Math.round(milliseconds * 10) / 10
  }

  /**
   * Sends a call, counts it however it ends, and rethrows its error.
   *
   * @param isDisconnected whether the caller has gone: then a failed call is not counted
   */
  async count(
    key: string,
    clock: Pick<Clock, 'monotonic'>,
    send: () => Promise<{ status: number; wasCold: boolean }>,
    isDisconnected = () => false,
  ): Promise<void> {
    const started = clock.monotonic()
    const elapsed = () => clock.monotonic() - started
    try {
      const { status, wasCold } = await send()
      this.called(key, { milliseconds: elapsed(), isError: status >= 500, wasCold })
    } catch (error) {
      if (error instanceof NoSlotError && error.why === 'refused') this.throttled(key)
      else if (!isDisconnected()) this.called(key, { milliseconds: elapsed(), isError: true, wasCold: false })
      throw error
    }
  }

  throttled(key: string): void {
    this.#bucket(key).throttles += 1
  }

  of(key: string): CountedCalls {
    const now = this.#now()
    const since = Math.max(this.#startedAt, this.#oldest(now))
    const buckets = this.#buckets.get(key) ?? []
    // Include the current second: a call that just ended must show up.
    return { since, until: now + 1, buckets: buckets.filter(({ at }) => at + CALL_BUCKET_SECONDS > since) }
  }

  /** Number of functions with statistics. */
  get size(): number {
    return this.#buckets.size
  }

  /** Drops the statistics of a deleted function, so that a later function of the same name starts from zero. */
  forget(key: string): void {
    this.#buckets.delete(key)
  }

  #now(): number {
    return Math.floor(this.#clock.now() / 1000)
  }

  /** Start of the oldest bucket that is kept. */
  #oldest(now: number): number {
    return bucketStartOf(now) - CALL_RETENTION_SECONDS
  }

  /** A call can end after its function was deleted and re-create the entry; only age removes it then. */
  #forgetOld(now: number): void {
    for (const [key, buckets] of this.#buckets) if ((buckets.at(-1)?.at ?? 0) < this.#oldest(now)) this.forget(key)
  }

  #bucket(key: string): CallBucket {
    const now = this.#now()
    const at = bucketStartOf(now)
    const known = this.#buckets.get(key)
    if (known === undefined) this.#forgetOld(now)
    const buckets = known ?? []
    this.#buckets.set(key, buckets)
    const last = buckets.at(-1)
    if (last?.at === at) return last
    const created: CallBucket = { at, invocations: 0, errors: 0, throttles: 0, coldStarts: 0, durations: [] }
    buckets.push(created)
    while ((buckets[0]?.at ?? at) < this.#oldest(now)) buckets.shift()
    return created
  }
}

/**
 * Forgets the statistics of functions that were deleted, or replaced by another one of the same name.
 *
 * @returns a function that ends the subscription
 */
export function dropDeletedFunctions(
  statistics: CallStatistics,
  functions: Pick<View<CachedFunction>, 'subscribe'>,
): () => void {
  return functions.subscribe(({ type, object: { metadata }, previous }) => {
    const isAnother = previous !== undefined && previous.metadata.uid !== metadata.uid
    if (type === 'removed' || isAnother) statistics.forget(`${metadata.namespace}/${metadata.name}`)
  })
}
