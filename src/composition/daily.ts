import type { Clock, Timer } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** Milliseconds. What lasts for months is renewed long before its end, however often that fails. */
export const A_DAY = 86_400_000

/** Does something once a day from a day from now on. What fails is logged, and tried again a day later. */
export function daily(
  work: () => Promise<unknown>,
  { clock, log, failed }: { clock: Pick<Clock, 'setTimeout'>; log: Log; failed: string },
): { stop(): void } {
  let timer: Timer
  let isStopped = false
  const plan = () => {
    timer = clock.setTimeout(async () => {
      try {
        await work()
      } catch (error) {
        log.warn({ error: messageOf(error) }, failed)
      }
      if (!isStopped) plan()
    }, A_DAY)
  }
  plan()
  return {
    stop() {
      isStopped = true
      timer.cancel()
    },
  }
}
