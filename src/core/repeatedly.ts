import type { Clock, Timer } from './clock.ts'
import { messageOf } from './errors.ts'
import type { Log } from './log.ts'

type Where = { clock: Pick<Clock, 'setTimeout'>; log: Pick<Log, 'warn'>; failed: string }

/**
 * Does something again and again, first after one interval, and the next time one interval after its end. What fails is
 * logged with the sentence `failed`, and tried again an interval later.
 *
 * @param interval milliseconds
 */
export function repeatedly(
  work: () => Promise<unknown>,
  interval: number,
  { clock, log, failed }: Where,
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
    }, interval)
  }
  plan()
  return {
    stop() {
      isStopped = true
      timer.cancel()
    },
  }
}
