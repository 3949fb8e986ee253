import { type ChildProcess, execFileSync } from 'node:child_process'

/** Milliseconds without output after which a program counts as hanging: while it works, and after its last test. */
export type Patience = { working: number; over: number }

/** A file that builds its programs the first time prints nothing for minutes. */
export const PATIENCE: Patience = { working: 20 * 60_000, over: 60_000 }

type Process = { pid: number; parent: number; line: string }

/**
 * Kills a program that prints nothing any more, with everything that it started. The timeout of a test does not fire if
 * its process is blocked, nor if a process does not exit after its tests.
 */
export class Watchdog {
  /** The killed processes, one per line; undefined if none was. */
  killed: string | undefined
  #lastOutput = performance.now()

  constructor(child: ChildProcess, isOver: () => boolean, { working, over }: Patience = PATIENCE) {
    const onOutput = () => {
      this.#lastOutput = performance.now()
    }
    child.stdout?.on('data', onOutput)
    child.stderr?.on('data', onOutput)
    child.on('message', onOutput)
    const checkProgress = () => {
      if (performance.now() - this.#lastOutput > (isOver() ? over : working)) this.killed ??= killTree(child)
    }
    const looking = setInterval(checkProgress, Math.min(5_000, over))
    child.once('exit', () => clearInterval(looking))
    // Leftover child processes would keep the streams open, and whoever waits for their end would wait forever.
    child.once('exit', () => {
      const giveUp = () => {
        child.stdout?.destroy()
        child.stderr?.destroy()
      }
      const waiting = setTimeout(giveUp, over)
      child.once('close', () => clearTimeout(waiting))
    })
  }
}

function killTree(child: ChildProcess): string {
  const found = processTreeOf(child)
  kill(found)
  return found.map(({ line }) => `  ${line.slice(0, 300)}`).join('\n')
}

/**
 * Ends a program, and then its leftover children: an operator that nobody stops looks for its API server forever, at a
 * port that the next test may have.
 */
export async function endWithAllItStarted(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  const found = processTreeOf(child)
  child.kill()
  await ended
  kill(found)
}

function processTreeOf({ pid }: ChildProcess): Process[] {
  const words = ['-A', '-o', 'pid=,ppid=,stat=,etime=,args=']
  const text = execFileSync('ps', words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return pid === undefined ? [] : withDescendants(pid, processesOf(text))
}

function kill(processes: readonly Process[]): void {
  for (const { pid } of processes)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
}

function processesOf(text: string): Process[] {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter(Boolean).map((line) => {
    const [pid, parent] = line.split(/\s+/, 2).map(Number) as [number, number]
    return { pid, parent, line }
  })
}

function withDescendants(pid: number, all: readonly Process[]): Process[] {
  const children = all.filter(({ parent }) => parent === pid)
  return [...all.filter((one) => one.pid === pid), ...children.flatMap((child) => withDescendants(child.pid, all))]
}
