import type { ChildProcess } from 'node:child_process'

const DEADLINE = 120_000

/**
 * For a program in Node.js that a test waits for: one that calls `process.exit` while V8 still compiles may wait for itself
 * for ever (nodejs/node#54918), heeds no SIGTERM then, and no timeout of a test comes while this process is blocked.
 */
export const WITHIN = { timeout: DEADLINE, killSignal: 'SIGKILL' } as const

/** Sends a signal and waits until the program has ended; it is killed where it did not end within two minutes. */
export async function endedBy(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((done) => child.once('exit', done))
  child.kill(signal)
  const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE)
  await ended
  clearTimeout(deadline)
}
