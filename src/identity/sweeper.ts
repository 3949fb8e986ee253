import { type Clock, systemClock, type Timer } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { StateStore } from './state.ts'

/** Removes expired sign-ins. If nobody is signed in, it makes no requests. */
export interface Sweeper {
  /** Schedules a sweep at that time, in seconds since the epoch. */
  expects(expiresAt: number): void
  stop(): void
}

export type SweeperOptions = { clock?: Clock; log: Log; store: () => Pick<StateStore, 'sweep'> }

/** Allows for clock differences between replicas. A late removal does no harm. */
const GRACE_MS = 60_000
const RETRY_MS = 60_000

export function createSweeper({ clock = systemClock, log, store }: SweeperOptions): Sweeper {
  let timer: { due: number; timer: Timer } | undefined
  let isStopped = false

  function wakeAt(due: number): void {
    if (isStopped || (timer !== undefined && timer.due <= due)) return
    timer?.timer.cancel()
    timer = { due, timer: clock.setTimeout(() => void sweep(), due - clock.now()) }
  }
  async function sweep(): Promise<void> {
    timer = undefined
    try {
      const next = await store().sweep(Math.floor(clock.now() / 1000))
      if (next !== undefined) wakeAt(Math.max(next * 1000 + GRACE_MS, clock.now() + GRACE_MS))
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'Cannot remove expired sign-ins; they are refused, and removed later.')
      wakeAt(clock.now() + RETRY_MS)
    }
  }
  wakeAt(clock.now())
  return {
    expects: (expiresAt) => wakeAt(expiresAt * 1000 + GRACE_MS),
    stop() {
      isStopped = true
      timer?.timer.cancel()
    },
  }
}
