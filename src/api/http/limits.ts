import type { LRUCache } from 'lru-cache'
import { recentlyUsed } from '../../core/recentlyUsed.ts'

/** Further callers push out those that have asked for nothing the longest, with what they owe. */
const KEYS_MAX = 50_000
const MIB = 1_048_576

/** Amounts that a key has: so much a second, saved up to the burst. */
export type Rate = { readonly perSecond: number; readonly burst: number }

/**
 * Amounts per key, saved up to a burst (a token bucket). What is larger than the burst waits for all of it, and what it
 * takes beyond is waited for by the next one. Each replica counts for itself.
 */
export class Budget {
  readonly #rate: Rate
  readonly #left: LRUCache<string, { amount: number; at: number }>

  constructor(rate: Rate, keys = KEYS_MAX) {
    this.#rate = rate
    this.#left = recentlyUsed(keys)
  }

  /**
   * Takes the amount if it is there.
   *
   * @param now milliseconds, monotonic
   * @returns undefined if it is taken, else the milliseconds until it is there
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
   * @returns undefined if the amount is there, else the milliseconds until it is
   */
  until(key: string, amount: number, now: number): number | undefined {
    const lacking = Math.min(amount, this.#rate.burst) - this.#leftOf(key, now)
    return lacking > 0 ? (lacking / this.#rate.perSecond) * 1000 : undefined
  }

  /** Takes what is known only now, though the key may not have it. */
  owe(key: string, amount: number, now: number): void {
    this.#left.set(key, { amount: this.#leftOf(key, now) - amount, at: now })
  }

  #leftOf(key: string, now: number): number {
    const { perSecond, burst } = this.#rate
    const known = this.#left.get(key) ?? { amount: burst, at: now }
    return Math.min(burst, known.amount + ((now - known.at) / 1000) * perSecond)
  }
}

/** A sixth of a minute's requests at once, so that nobody takes the thread for seconds; of few, all of them. */
export function requestRate(perMinute: number): Rate {
  return { perSecond: perMinute / 60, burst: Math.max(perMinute / 6, Math.min(perMinute, 60)) }
}

/** As Retry-After says it. */
export const wholeSeconds = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds / 1000))

/** Of bodies that are not {@link SMALL_BODY}: parsing and checking one keeps the thread that answers everybody. */
export const BODY_RATE: Rate = { perSecond: MIB, burst: 4 * MIB }
/** In bytes. Smaller bodies cost nothing: requests are limited as well. */
export const SMALL_BODY = 16_384

/** In bytes, of answers. Encoding and sending longer ones keeps the thread as well. */
export const SMALL_ANSWER = 65_536

/** Eight seconds' worth at once. */
export function byteRate(bytesPerSecond: number): Rate {
  return { perSecond: bytesPerSecond, burst: 8 * bytesPerSecond }
}
