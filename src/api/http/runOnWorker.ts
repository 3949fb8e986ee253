import { type Workers, WorkRefused } from '../../adapters/workers/port.ts'
import { PlatformError } from '../../core/errors.ts'

declare module './context.ts' {
  interface Services {
    readonly workers: Workers
  }
}

/**
 * Runs work on a worker thread, and turns its refusals into errors for the caller.
 *
 * @param what for people, in the plural, such as "batches"
 * @param overdue returns the result for work that took too long: a retry would take too long again
 * @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
 */
export async function runOnWorker<Result>(
  what: string,
  run: () => Promise<Result>,
  overdue: () => Result,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof WorkRefused)) throw error
    const { reason, retryAfterSeconds } = error
    const cause = { cause: error }
    switch (reason) {
      case 'Overdue':
        return overdue()
      case 'TooMany': {
        const message = `Too many ${what} at once, or too large ones within a minute: try again in ${retryAfterSeconds} s.`
        throw new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds }, cause)
      }
      case 'Busy': {
        const message = `Too many ${what} are waiting to be parsed; try again.`
        throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds }, cause)
      }
    }
  }
}
