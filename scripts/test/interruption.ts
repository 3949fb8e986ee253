/** Exit status after a signal, as shells have it. */
const INTERRUPTED = 130
/** Milliseconds for cleaning up when nobody would send a second signal. */
const CLEAN_UP_TIMEOUT_MS = 60_000

const interrupted = new AbortController()
const cleanUps = new Set<() => Promise<unknown>>()
let isListening = false

/**
 * Aborted when this process is ended by SIGINT or SIGTERM, so that waiting parts do not start. The process exits after
 * everything in `beforeInterrupted`, because the cgroups of a node would outlive its processes. A second signal ends it
 * at once.
 */
export function interruption(): AbortSignal {
  if (!isListening) for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void stop())
  isListening = true
  return interrupted.signal
}

/**
 * Runs `cleanUp` before this process ends by a signal. @returns a function that cancels this, when nothing is left to
 * clean up
 */
export function beforeInterrupted(cleanUp: () => Promise<unknown>): () => void {
  cleanUps.add(cleanUp)
  return () => void cleanUps.delete(cleanUp)
}

/**
 * Ends this process after so many milliseconds as if by a signal, and reports whatever hangs. @returns a function that
 * cancels this
 */
export function interruptAfter(milliseconds: number, onInterrupt: () => void): () => void {
  const timer = setTimeout(() => {
    onInterrupt()
    void stop()
    // The clean-up itself may be what hangs.
    setTimeout(() => process.exit(INTERRUPTED), CLEAN_UP_TIMEOUT_MS)
  }, milliseconds)
  return () => clearTimeout(timer)
}

async function stop(): Promise<void> {
  if (interrupted.signal.aborted) return
  interrupted.abort()
  await Promise.allSettled([...cleanUps].map((cleanUp) => cleanUp()))
  process.exit(INTERRUPTED)
}
