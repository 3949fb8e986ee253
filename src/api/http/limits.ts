import type { LRUCache } from 'lru-cache'
import { createLruCache } from '../../core/lruCache.ts'

/** Beyond this, the callers that have been idle the longest are forgotten, with what they owe. */
const KEYS_MAX = 50_000
const MIB = 1_048_576

/** A refill rate, and the burst up to which unused amounts are saved. */
export type Rate = { readonly perSecond: number; readonly burst: number }

/**
 * A token bucket per key. An amount larger than the burst waits for a full bucket, and leaves a debt that the next
 * caller of the key waits for. Each replica counts for itself.
 */
export class TokenBucket {
  readonly #rate: Rate
  readonly #remaining: LRUCache<string, { amount: number; at: number }>

  constructor(rate: Rate, keys = KEYS_MAX) {
    this.#rate = rate
    this.#remaining = createLruCache(keys)
  }

  /**
   * Takes the amount if it is available.
   *
   * @param now milliseconds, monotonic
   * @returns undefined if it was taken, otherwise the milliseconds until it is available
   */
  take(key: string, amount: number, now: number): number | undefined {
    const wait = this.until(key, amount, now)
    if (wait === undefined) this.owe(key, amount, now)
    return wait
  }

  /**
   * Changes nothing.
   *
   * @param amount 0 asks whether the key owes nothing
   * @returns undefined if the amount is available, otherwise the milliseconds until it is
   */
  until(key: string, amount: number, now: number): number | undefined {
    const lacking = Math.min(amount, this.#rate.burst) - this.#remainingOf(key, now)
    return lacking > 0 ? (lacking / this.#rate.perSecond) * 1000 : undefined
  }

  /** Takes an amount that is known only afterwards, even if the bucket does not hold it. */
  owe(key: string, amount: number, now: number): void {
    this.#remaining.set(key, { amount: this.#remainingOf(key, now) - amount, at: now })
  }

  #remainingOf(key: string, now: number): number {
    const { perSecond, burst } = this.#rate
    const known = this.#remaining.get(key) ?? { amount: burst, at: now }
    return Math.min(burst, known.amount + ((now - known.at) / 1000) * perSecond)
  }
}

/** The burst is a sixth of a minute's requests, so that nobody takes the thread for seconds; of few, all of them. */
export function requestRate(perMinute: number): Rate {
  return { perSecond: perMinute / 60, burst: Math.max(perMinute / 6, Math.min(perMinute, 60)) }
}

/** In the unit of Retry-After. */
export const toRetryAfterSeconds = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds / 1000))

/** For bodies larger than {@link FREE_BODY_BYTES}: parsing and checking them occupies the thread that serves everybody. */
export const BODY_RATE: Rate = { perSecond: MIB, burst: 4 * MIB }
/** In bytes. Smaller bodies are free, because requests are limited as well. */
export const FREE_BODY_BYTES = 16_384

/** In bytes, of answers. Encoding and sending longer ones occupies the thread as well. */
export const FREE_ANSWER_BYTES = 65_536

/** The burst is worth eight seconds. */
export function byteRate(bytesPerSecond: number): Rate {
  return { perSecond: bytesPerSecond, burst: 8 * bytesPerSecond }
}
