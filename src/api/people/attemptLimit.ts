import type { Clock } from '../../core/clock.ts'
import { createLruCache } from '../../core/lruCache.ts'

const KEYS_MAX = 10_000

/** Counts attempts per key within a sliding hour, in this process. The least recently used keys are forgotten first. */
export class AttemptLimit {
  readonly #max: number
  readonly #window: number
  readonly #clock: Clock
  readonly #attempts = createLruCache<string, number[]>(KEYS_MAX)

  constructor(max: number, clock: Clock, window = 3_600_000) {
    this.#max = max
    this.#clock = clock
    this.#window = window
  }

  /** Counts an attempt. Returns undefined if it may pass, otherwise seconds to wait; refused attempts do not count. */
  take(key: string): number | undefined {
    const now = this.#clock.now()
    const recent = (this.#attempts.get(key) ?? []).filter((time) => time > now - this.#window && time <= now)
    const [oldest] = recent
    const isRefused = recent.length >= this.#max && oldest !== undefined
    this.#attempts.set(key, isRefused ? recent : [...recent, now])
    return isRefused ? Math.max(1, Math.ceil((oldest + this.#window - now) / 1000)) : undefined
  }
}
