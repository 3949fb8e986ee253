/** Exit status after a signal, as shells have it. */
const INTERRUPTED = 130
/** Milliseconds for what is cleaned up where nobody would send a second signal. */
const CLEAN_UP = 60_000

const interrupted = new AbortController()
const cleanUps = new Set<() => Promise<unknown>>()
let isListening = false

/**
 * Aborted when somebody ends this process by SIGINT or SIGTERM: what waits does not begin any more. The process ends when
 * everything of `beforeInterrupted` is done, as the cgroups of a node would outlive its processes. A second signal ends it at
 * once.
 */
export function interruption(): AbortSignal {
  if (!isListening) for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void stop())
  isListening = true
  return interrupted.signal
}

/** Has `cleanUp` done before this process ends by a signal. @returns what takes it back, once there is nothing to clean up */
export function beforeInterrupted(cleanUp: () => Promise<unknown>): () => void {
  cleanUps.add(cleanUp)
  return () => void cleanUps.delete(cleanUp)
}

/** Has this process end as by a signal after so many milliseconds, and whatever hangs then be told of. @returns what takes it back */
export function interruptAfter(milliseconds: number, tell: () => void): () => void {
  const timer = setTimeout(() => {
    tell()
    void stop()
    // What hangs may be what would clean up.
    setTimeout(() => process.exit(INTERRUPTED), CLEAN_UP)
  }, milliseconds)
  return () => clearTimeout(timer)
}

async function stop(): Promise<void> {
  if (interrupted.signal.aborted) return
  interrupted.abort()
  await Promise.allSettled([...cleanUps].map((cleanUp) => cleanUp()))
  process.exit(INTERRUPTED)
}
