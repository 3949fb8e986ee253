import { ipKeyGenerator, MemoryStore } from 'express-rate-limit'
import { LRUCache } from 'lru-cache'

const WINDOW_MILLISECONDS = 60_000
const CALLERS_MAX = 10_000

/**
 * Counts requests per key in windows of a minute. The store is that of express-rate-limit; its middleware is not used,
 * because the key is known only after authentication, in the middle of the pipeline. Each replica counts for itself.
 */
export class RateLimit {
  readonly #perMinute: number
  readonly #store = new MemoryStore()

  constructor(perMinute: number) {
    this.#perMinute = perMinute
    this.#store.init({ windowMs: WINDOW_MILLISECONDS } as Parameters<MemoryStore['init']>[0])
  }

  /** Counts one request. Undefined when it may pass, else the seconds until the key is free again. */
  async take(key: string): Promise<number | undefined> {
    const { totalHits, resetTime } = await this.#store.increment(key)
    return totalHits > this.#perMinute ? secondsUntil(resetTime) : undefined
  }

  stop(): void {
    this.#store.shutdown()
  }
}

/**
 * Limits the bytes of large bodies per caller: parsing and checking one keeps the thread that answers everybody.
 * Unused bytes add up to the burst. A body that is longer than that waits for all of it, and what it takes beyond is waited
 * for by the next one. Each replica counts for itself.
 */
export class BodyBudget {
  /** Smaller bodies cost nothing: requests are limited as well. */
  static readonly FREE = 16_384
  static readonly PER_SECOND = 1_048_576
  static readonly BURST = 4 * 1_048_576
  readonly #left = new LRUCache<string, { bytes: number; at: number }>({ max: CALLERS_MAX })

  /** @param now milliseconds, monotonic; @returns undefined if it may be read, else the seconds until it may */
  take(key: string, bytes: number, now: number): number | undefined {
    if (bytes <= BodyBudget.FREE) return undefined
    const { PER_SECOND, BURST } = BodyBudget
    const known = this.#left.get(key) ?? { bytes: BURST, at: now }
    const left = Math.min(BURST, known.bytes + ((now - known.at) / 1000) * PER_SECOND)
    const wanted = Math.min(bytes, BURST)
    const isEnough = left >= wanted
    this.#left.set(key, { bytes: isEnough ? left - bytes : left, at: now })
    return isEnough ? undefined : Math.max(1, Math.ceil((wanted - left) / PER_SECOND))
  }
}

function secondsUntil(time: Date | undefined): number {
  const left = (time?.getTime() ?? 0) - Date.now()
  return Math.min(WINDOW_MILLISECONDS / 1000, Math.max(1, Math.ceil(left / 1000)))
}

/** The key of an address. Of IPv6 the network counts, since one customer holds all of it. */
export function addressKey(address: string | undefined): string {
  return address === undefined ? 'unknown' : ipKeyGenerator(address)
}
