import type { Clock, Timer } from './clock.ts'
import { messageOf } from './errors.ts'
import type { Log } from './log.ts'

type Where = { clock: Pick<Clock, 'setTimeout'>; log: Pick<Log, 'warn'>; failed: string }

/**
 * Runs work repeatedly: first after one interval, then one interval after the end of each run. A failure is logged with
 * the sentence `failed`, and retried after the next interval.
 *
 * @param interval milliseconds
 */
export function runPeriodically(
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
