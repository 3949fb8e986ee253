import type { Context } from '../http/context.ts'

/** Controllers create keys and the like within moments; a request that needs them waits this long. */
const POLL_TIMEOUT_MS = 3_000
const POLL_INTERVAL_MS = 50

/** Polls for a change that is due within moments. False if it did not change in time, or the client disconnected. */
export async function pollUntilChanged(
  context: Context,
  hasChanged: () => Promise<boolean>,
  milliseconds = POLL_TIMEOUT_MS,
): Promise<boolean> {
  const { clock } = context.services
  const deadline = clock.monotonic() + milliseconds
  for (;;) {
    if (await hasChanged()) return true
    if (clock.monotonic() >= deadline || context.signal.aborted) return false
    await new Promise<void>((resolve) => clock.setTimeout(resolve, POLL_INTERVAL_MS))
  }
}
