import { addressKey } from '../core/addressKey.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { isUuid, sha256 } from '../core/names.ts'

/** The value of a correct guess, undefined for a wrong one, or the seconds until the next guess is accepted. */
export type GuessResult<T> = { value: T | undefined } | { blockedFor: number }

/** Limits guesses at the secret of `name` from `address`. */
export interface GuessLimiter {
  /**
   * @param check returns undefined for a wrong guess; if it throws, the guess does not count
   * @throws whatever `check` throws
   */
  judge<T>(address: string, name: string, check: () => Promise<T | undefined>): Promise<GuessResult<T>>
}

export type GuessLimits = {
  /** Wrong passwords for one name from one address. */
  perNameAndAddress: number
  /** Wrong passwords for one name from all addresses; higher, because reaching it locks the person out. */
  perName: number
  /** Wrong passwords from one address for all names. */
  perAddress: number
}
export const DEFAULT_GUESS_LIMITS: GuessLimits = { perNameAndAddress: 5, perName: 50, perAddress: 50 }

/** Limits wrong passwords per five minutes. Unknown names count too, or the limit would reveal who exists. */
export function limitPasswords(limits: GuessLimits = DEFAULT_GUESS_LIMITS, clock: Clock = systemClock): GuessLimiter {
  const counters = new GuessCounters(5 * 60_000, clock)
  return {
    judge(address, name, check) {
      const [addressHash, nameHash] = [addressKey(address), sha256(name.normalize('NFKC').trim().toLowerCase())]
      const all = [
        // A correct password shows that the wrong ones were typing mistakes, so the counter is reset.
        { key: `${addressHash} ${nameHash}`, limit: limits.perNameAndAddress, endsWhenRight: true },
        { key: nameHash, limit: limits.perName },
        { key: addressHash, limit: limits.perAddress },
      ]
      return counters.judge(all, check)
    },
  }
}

/** Wrong secrets of one service account from one address per minute. */
export const WRONG_SECRETS_PER_MINUTE = 10

/**
 * Limits wrong secrets of service accounts and the like, per address and id.
 * @param perMinute how many wrong secrets are checked
 */
export function limitSecrets(perMinute: number = WRONG_SECRETS_PER_MINUTE, clock: Clock = systemClock): GuessLimiter {
  const counters = new GuessCounters(60_000, clock)
  return {
    judge(address, id, check) {
      // Invalid ids share one counter, so that callers cannot fill the memory.
      const key = `${addressKey(address)} ${isUuid(id) ? id : 'other'}`
      return counters.judge([{ key, limit: perMinute }], check)
    },
  }
}

type Limit = { key: string; limit: number; endsWhenRight?: boolean }
type Counter = { wrong: number; resetsAt: number; inFlight: number; change: PromiseWithResolvers<void> }

/**
 * Counts wrong guesses per key, in windows that start with the first one. A guess reserves a slot in all its counters
 * before it is checked and releases it if correct, so concurrent guesses cannot exceed the limit. Others wait for a
 * slot, so that a program may present correct secrets with any concurrency. Each process counts for itself.
 */
class GuessCounters {
  readonly #window: number
  readonly #clock: Clock
  readonly #counters = new Map<string, Counter>()
  #sweptAt: number

  constructor(windowMilliseconds: number, clock: Clock) {
    this.#window = windowMilliseconds
    this.#clock = clock
    this.#sweptAt = clock.monotonic()
  }

  async judge<T>(limits: readonly Limit[], check: () => Promise<T | undefined>): Promise<GuessResult<T>> {
    this.#sweep()
    for (;;) {
      const now = this.#clock.monotonic()
      const counted = limits.map((limit) => ({ ...limit, counter: this.#counterOf(limit.key, now) }))
      const full = counted.filter(({ counter, limit }) => counter.wrong >= limit)
      if (full.length > 0) {
        const resetsAt = Math.max(...full.map(({ counter }) => counter.resetsAt))
        return { blockedFor: Math.max(1, Math.ceil((resetsAt - now) / 1000)) }
      }
      const busy = counted.find(({ counter, limit }) => counter.wrong + counter.inFlight >= limit)
      if (busy === undefined) return { value: await this.#runCheck(counted, check) }
      await busy.counter.change.promise
    }
  }

  async #runCheck<T>(
    counted: readonly (Limit & { counter: Counter })[],
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (const { counter } of counted) counter.inFlight += 1
    let isWrong = false
    try {
      const value = await check()
      isWrong = value === undefined
      if (!isWrong) for (const { counter, endsWhenRight } of counted) if (endsWhenRight === true) counter.wrong = 0
      return value
    } finally {
      for (const { counter } of counted) {
        counter.inFlight -= 1
        if (isWrong) this.#countWrong(counter)
        counter.change.resolve()
        counter.change = Promise.withResolvers()
      }
    }
  }

  #countWrong(counter: Counter): void {
    const now = this.#clock.monotonic()
    if (counter.wrong === 0 || counter.resetsAt <= now)
      Object.assign(counter, { wrong: 0, resetsAt: now + this.#window })
    counter.wrong += 1
  }

  #counterOf(key: string, now: number): Counter {
    const known = this.#counters.get(key) ?? { wrong: 0, resetsAt: 0, inFlight: 0, change: Promise.withResolvers() }
    if (known.resetsAt <= now) known.wrong = 0
    this.#counters.set(key, known)
    return known
  }

  /** Removes expired counters, once per window. */
  #sweep(): void {
    const now = this.#clock.monotonic()
    if (now - this.#sweptAt < this.#window) return
    this.#sweptAt = now
    for (const [key, { inFlight, resetsAt }] of this.#counters)
      if (inFlight === 0 && resetsAt <= now) this.#counters.delete(key)
  }
}
