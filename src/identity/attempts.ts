import { ipKeyGenerator, MemoryStore } from 'express-rate-limit'
import { isUuid } from '../core/names.ts'

/** Counts refused secrets per address and client, so that one address cannot guess on. */
export interface Attempts {
  failed(address: string, clientId: string): Promise<void>
  /** Seconds until the next try is allowed, or undefined while it is. */
  blockedFor(address: string, clientId: string): Promise<number | undefined>
  stop(): void
}

const WINDOW_MILLISECONDS = 60_000

/** @param perMinute refused secrets that are allowed per address and client */
export function countAttempts(perMinute: number): Attempts {
  const store = new MemoryStore()
  // The store reads nothing but the window of the options of a limiter.
  store.init({ windowMs: WINDOW_MILLISECONDS } as Parameters<MemoryStore['init']>[0])
  return {
    async failed(address, clientId) {
      await store.increment(keyOf(address, clientId))
    },
    async blockedFor(address, clientId) {
      const count = await store.get(keyOf(address, clientId))
      if (count === undefined || count.totalHits < perMinute) return undefined
      const left = (count.resetTime?.getTime() ?? 0) - Date.now()
      return Math.max(1, Math.ceil(left / 1000))
    },
    stop: () => store.shutdown(),
  }
}

/** Ids that cannot exist share one counter: callers must not choose how much is remembered. */
function keyOf(address: string, clientId: string): string {
  return `${ipKeyGenerator(address)} ${isUuid(clientId) ? clientId : 'other'}`
}
