import { type ChildProcess, type SpawnSyncReturns, spawnSync } from 'node:child_process'

const DEADLINE = 120_000
/** For a program that ends within a second or two. */
const SOON = 60_000
const TRIES = 3

/**
 * For a Node.js program that a test waits for: one that exits while V8 still compiles can hang (nodejs/node#54918),
 * about once in a run of all tests. It then ignores SIGTERM, and no timeout of a test fires while this process is
 * blocked.
 */
export const WITHIN = { timeout: DEADLINE, killSignal: 'SIGKILL' } as const

/** Waits for a Node.js program without side effects, and runs it again if it hangs. */
export function endOfOwn(words: readonly string[]): SpawnSyncReturns<string> {
  const run = () => spawnSync(process.execPath, words, { encoding: 'utf8', ...WITHIN, timeout: SOON })
  let ended = run()
  for (let tries = 1; ended.signal === 'SIGKILL' && tries < TRIES; tries += 1) ended = run()
  return ended
}

/** Sends a signal and waits for the program to end; kills it after two minutes. */
export async function endedBy(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((done) => child.once('exit', done))
  child.kill(signal)
  const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE)
  await ended
  clearTimeout(deadline)
}
