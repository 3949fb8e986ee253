import type { Clock } from './clock.ts'

/** Waits for the given time, or until the signal is aborted. */
export async function pauseFor(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.setTimeout(resolve, milliseconds)
  const stop = () => resolve()
  signal?.addEventListener('abort', stop, { once: true })
  await promise
  signal?.removeEventListener('abort', stop)
  timer.cancel()
}
