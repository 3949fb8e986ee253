import { type ChildProcess, type SpawnSyncReturns, spawnSync } from 'node:child_process'

const DEADLINE = 120_000
/** Of a program that ends within a second or two. */
const SOON = 60_000
const TRIES = 3

/**
 * For a program in Node.js that a test waits for: one that ends while V8 still compiles may wait for itself for ever
 * (nodejs/node#54918), about once in a run of all tests. It heeds no SIGTERM then, and no timeout of a test comes while
 * this process is blocked.
 */
export const WITHIN = { timeout: DEADLINE, killSignal: 'SIGKILL' } as const

/** Waits for a program in Node.js that changes nothing, and runs it again if it did not end. */
export function endOfOwn(words: readonly string[]): SpawnSyncReturns<string> {
  const run = () => spawnSync(process.execPath, words, { encoding: 'utf8', ...WITHIN, timeout: SOON })
  let ended = run()
  for (let tries = 1; ended.signal === 'SIGKILL' && tries < TRIES; tries += 1) ended = run()
  return ended
}

/** Sends a signal and waits until the program has ended; it is killed where it did not end within two minutes. */
export async function endedBy(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((done) => child.once('exit', done))
  child.kill(signal)
  const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE)
  await ended
  clearTimeout(deadline)
}
