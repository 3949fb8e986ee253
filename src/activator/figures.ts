import type { Clock } from '../core/clock.ts'

/** What is counted of one function in fifteen seconds. */
export type Bucket = {
  /** Seconds since the epoch at which it begins. */
  at: number
  invocations: number
  errors: number
  throttles: number
  coldStarts: number
  /** Milliseconds of some of the calls, at most `MOST_SAMPLES`. */
  durations: number[]
}

export const BUCKET_SECONDS = 15
/** An hour. */
const MOST_BUCKETS = 240
const MOST_SAMPLES = 256

type Called = { milliseconds: number; isError: boolean; wasCold: boolean }

/** Calls of the last hour, in memory, for the functions that were called. */
export class Figures {
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket[]>()
  /** Seconds since the epoch; before it nothing was counted. */
  readonly since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.since = Math.floor(clock.now() / 1000)
  }

  called(key: string, { milliseconds, isError, wasCold }: Called): void {
    const bucket = this.#bucket(key)
    bucket.invocations += 1
    if (isError) bucket.errors += 1
    if (wasCold) bucket.coldStarts += 1
    // Each call is as likely to be among the samples as any other.
    const at =
      bucket.durations.length < MOST_SAMPLES ? bucket.durations.length : Math.floor(Math.random() * bucket.invocations)
    if (at < MOST_SAMPLES) bucket.durations[at] = milliseconds
  }

  throttled(key: string): void {
    this.#bucket(key).throttles += 1
  }

  /** The oldest first. */
  of(key: string): readonly Bucket[] {
    return this.#buckets.get(key) ?? []
  }

  forget(isKept: (key: string) => boolean): void {
    for (const key of this.#buckets.keys()) if (!isKept(key)) this.#buckets.delete(key)
  }

  #bucket(key: string): Bucket {
    const seconds = Math.floor(this.#clock.now() / 1000)
    const at = seconds - (seconds % BUCKET_SECONDS)
    const buckets = this.#buckets.get(key) ?? []
    this.#buckets.set(key, buckets)
    const last = buckets.at(-1)
    if (last?.at === at) return last
    const made: Bucket = { at, invocations: 0, errors: 0, throttles: 0, coldStarts: 0, durations: [] }
    buckets.push(made)
    if (buckets.length > MOST_BUCKETS) buckets.shift()
    return made
  }
}
