import { spawn } from 'node:child_process'
import { join, relative, resolve } from 'node:path'
import { beforeInterrupted } from './interruption.ts'
import { endWithAllItStarted, type Patience, Watchdog } from './watchdog.ts'

const root = join(import.meta.dirname, '../..')
const MOCHA = join(root, 'node_modules/mocha/bin/mocha.js')
/**
 * Tests make objects faster than Node's own 16 MB of a young generation take in: what would soon be garbage is copied and
 * grows old, for up to a sixth of the processor time of a file. Holds for the workers of Mocha too.
 */
const NODE_FLAGS = ['--max-semi-space-size=64']

/** A test or hook that failed; `file` is relative to the root, and `reason` the first line of what was thrown. */
export type Failure = { file: string; title: string; reason: string }
export type Outcome = { passes: number; pending: number; failed: Failure[] }
/** And the time in tests and hooks by file, in milliseconds. */
export type Result = Outcome & { milliseconds: Record<string, number> }

/** What the reporter tells, whenever a file has ended and when all is over. */
type Told = Result & { isOver: boolean }

export type MochaRun = {
  title: string
  files: readonly string[]
  options: readonly string[]
  environment?: Record<string, string>
  /** Whether the output comes when all is over, because others run beside it. */
  isHeldBack: boolean
  /** Of one that is held back, as nobody sees how far it is. */
  patience?: Patience
}

/** More files than this that fail together fail for a reason, and are not run again. */
const AGAIN_MAX = 3

/** Files that run once more, alone, before they count as failed: never where a runner died, or much failed. */
export function filesToRunAgain({ failed }: Outcome): string[] {
  const files = [...new Set(failed.map(({ file }) => file))]
  return files.length <= AGAIN_MAX && files.every((file) => file.endsWith('.test.ts')) ? files : []
}

/** What a run comes to whose failed files ran again: what failed then counts, and nothing is counted twice. */
export function afterRunningAgain(first: Outcome, again: Outcome): Outcome {
  const { passes, pending, failed } = first
  return { passes: passes + Math.max(0, failed.length - again.failed.length), pending, failed: again.failed }
}

/** Runs files in a process of its own. A runner that died counts as a failure, whatever it had counted before. */
export async function runMocha({
  title,
  files,
  options,
  environment,
  isHeldBack,
  patience,
}: MochaRun): Promise<Result> {
  const started = performance.now()
  console.log(isHeldBack ? `\n.. ${title}` : `\n== ${title}`)
  const reporter = join(root, 'scripts/test/reporter.mjs')
  const output: Buffer[] = []
  const stdio = isHeldBack ? 'pipe' : 'inherit'
  const child = spawn(process.execPath, [...NODE_FLAGS, MOCHA, '--reporter', reporter, ...options, ...files], {
    cwd: root,
    stdio: ['ignore', stdio, stdio, 'ipc'],
    env: { ...process.env, ...environment, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` },
  })
  let told: Told = { passes: 0, pending: 0, milliseconds: {}, failed: [], isOver: false }
  child.on('message', (message) => {
    told = message as Told
  })
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => output.push(chunk))
  const ended = new Promise<number>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => done(code ?? 1))
  })
  const forget = beforeInterrupted(() => endWithAllItStarted(child, ended))
  const watchdog = isHeldBack ? new Watchdog(child, () => told.isOver, patience) : undefined
  const status = await ended.finally(forget)
  if (isHeldBack) process.stdout.write(`\n== ${title}\n${Buffer.concat(output)}`)
  console.log(`   ${title}: ${Math.round((performance.now() - started) / 1000)} s`)
  const { isOver, ...result } = told
  if (watchdog?.killed !== undefined) {
    console.log(`-- ${title}: printed nothing any more, and was killed:\n${watchdog.killed}`)
    return isOver ? result : withoutEnd(result, files)
  }
  if (status === 0 || result.failed.length > 0) return result
  return { ...result, failed: [{ file: title, title: 'all of it', reason: `Mocha ended with status ${status}.` }] }
}

/** With a failure for each file that is not known to have ended. */
function withoutEnd(result: Result, files: readonly string[]): Result {
  const names = files.map((file) => relative(root, resolve(root, file)))
  const unended = names.filter((name) => result.milliseconds[name] === undefined)
  const failed = unended.map((file) => ({ file, title: 'all of it', reason: 'It did not end, and was killed.' }))
  return { ...result, failed: [...result.failed, ...failed] }
}
