import { ipKeyGenerator } from 'express-rate-limit'
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
  readonly #left = recentlyUsed<string, { amount: number; at: number }>(KEYS_MAX)

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /**
   * @param amount 0 asks whether the key owes nothing
   * @param now milliseconds, monotonic
   * @returns undefined if the amount was there and is taken, else the seconds until it is there
   */
  take(key: string, amount: number, now: number): number | undefined {
    const left = this.#leftOf(key, now)
    const wanted = Math.min(amount, this.#rate.burst)
    const isEnough = left >= wanted
    this.#left.set(key, { amount: isEnough ? left - amount : left, at: now })
    return isEnough ? undefined : Math.max(1, Math.ceil((wanted - left) / this.#rate.perSecond))
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

/** Of bodies that are not {@link SMALL_BODY}: parsing and checking one keeps the thread that answers everybody. */
export const BODY_RATE: Rate = { perSecond: MIB, burst: 4 * MIB }
/** In bytes. Smaller bodies cost nothing: requests are limited as well. */
export const SMALL_BODY = 16_384

/** Of answers that are not {@link SMALL_ANSWER}: encoding and sending one keeps the thread as well. */
export function answerRate(bytesPerSecond: number): Rate {
  return { perSecond: bytesPerSecond, burst: 8 * bytesPerSecond }
}
/** In bytes. */
export const SMALL_ANSWER = 65_536

/** The key of an address. Of IPv6 the network counts, since one customer holds all of it. */
export function addressKey(address: string | undefined): string {
  return address === undefined ? 'unknown' : ipKeyGenerator(address)
}
