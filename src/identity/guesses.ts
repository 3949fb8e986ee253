import { ipKeyGenerator, MemoryStore } from 'express-rate-limit'
import { sha256 } from '../core/names.ts'

export type GuessLimits = {
  /** Wrong passwords for one name from one address. */
  perNameAndAddress: number
  /** Wrong passwords for one name from anywhere; higher, because whoever reaches it locks the person out. */
  perName: number
  /** Wrong passwords from one address, for whatever names. */
  perAddress: number
}
export const DEFAULT_GUESS_LIMITS: GuessLimits = { perNameAndAddress: 5, perName: 50, perAddress: 50 }

const WINDOW_MILLISECONDS = 5 * 60_000

/** Counts wrong passwords. A name that nobody has is counted like any other, or the lock would tell who exists. */
export interface Guesses {
  failed(address: string, name: string): Promise<void>
  /** The person proved who they are: what was mistyped from that address before counts no more. */
  succeeded(address: string, name: string): Promise<void>
  /** Seconds until the next try is allowed, or undefined while it is. */
  blockedFor(address: string, name: string): Promise<number | undefined>
  stop(): void
}

export function countGuesses(limits: GuessLimits): Guesses {
  const store = new MemoryStore()
  // The store reads nothing but the window of the options of a limiter.
  store.init({ windowMs: WINDOW_MILLISECONDS } as Parameters<MemoryStore['init']>[0])
  const countersOf = (address: string, name: string) => {
    const [from, whom] = [ipKeyGenerator(address), sha256(name.normalize('NFKC').trim().toLowerCase())]
    return [
      { key: `${from} ${whom}`, limit: limits.perNameAndAddress },
      { key: whom, limit: limits.perName },
      { key: from, limit: limits.perAddress },
    ]
  }
  return {
    async failed(address, name) {
      for (const { key } of countersOf(address, name)) await store.increment(key)
    },
    async succeeded(address, name) {
      const [own] = countersOf(address, name)
      if (own !== undefined) await store.resetKey(own.key)
    },
    async blockedFor(address, name) {
      let seconds: number | undefined
      for (const { key, limit } of countersOf(address, name)) {
        const count = await store.get(key)
        if (count === undefined || count.totalHits < limit) continue
        const left = Math.max(1, Math.ceil(((count.resetTime?.getTime() ?? 0) - Date.now()) / 1000))
        seconds = Math.max(seconds ?? 0, left)
      }
      return seconds
    },
    stop: () => store.shutdown(),
  }
}
