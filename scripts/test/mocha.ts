import { spawn } from 'node:child_process'
import { join, relative, resolve } from 'node:path'
import { beforeInterrupted } from './interruption.ts'
import { endWithAllItStarted, PATIENCE, type Patience, Watchdog } from './watchdog.ts'

const root = join(import.meta.dirname, '../..')
const MOCHA = join(root, 'node_modules/mocha/bin/mocha.js')
/**
 * Tests create objects faster than Node's default young generation of 16 MB can hold: short-lived objects would be
 * promoted, for up to a sixth of a file's processor time. Applies to the workers of Mocha too.
 */
const NODE_FLAGS = ['--max-semi-space-size=64']

/** A failed test or hook; `file` is relative to the root, and `reason` the first line of the error. */
export type Failure = { file: string; title: string; reason: string }
export type Outcome = { passes: number; pending: number; failed: Failure[] }
/** Counts, and the time in tests and hooks by file, in milliseconds. */
export type Result = Outcome & { milliseconds: Record<string, number> }

/** The messages of the reporter, after each file and at the end. */
type ReporterMessage = Result & { isOver: boolean }

export type MochaRun = {
  title: string
  files: readonly string[]
  options: readonly string[]
  environment?: Record<string, string>
  /** Whether the output is printed at the end, because other parts run in parallel. */
  isHeldBack: boolean
  patience?: Patience
}

/** If more files than this fail together, there is a common reason, and they are not repeated. */
const RERUN_FILES_MAX = 3

/** Files that are repeated alone before they count as failed; none if a runner died, or much failed. */
export function filesToRunAgain({ failed }: Outcome): string[] {
  const files = [...new Set(failed.map(({ file }) => file))]
  return files.length <= RERUN_FILES_MAX && files.every((file) => file.endsWith('.test.ts')) ? files : []
}

/** The result of a run with repeated files: the second failure counts, and nothing is counted twice. */
export function afterRunningAgain(first: Outcome, again: Outcome): Outcome {
  const { passes, pending, failed } = first
  return { passes: passes + Math.max(0, failed.length - again.failed.length), pending, failed: again.failed }
}

/** Runs files in a process of its own. A dead runner counts as a failure, whatever it had counted before. */
export async function runMocha({
  title,
  files,
  options,
  environment,
  isHeldBack,
  patience = PATIENCE,
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
  let lastMessage: ReporterMessage = { passes: 0, pending: 0, milliseconds: {}, failed: [], isOver: false }
  child.on('message', (message) => {
    lastMessage = message as ReporterMessage
  })
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => output.push(chunk))
  const ended = new Promise<number>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => done(code ?? 1))
  })
  const forget = beforeInterrupted(() => endWithAllItStarted(child, ended))
  // Whoever sees the output judges for themselves whether the tests still work.
  const working = isHeldBack ? patience.working : Number.POSITIVE_INFINITY
  const watchdog = new Watchdog(child, () => lastMessage.isOver, { ...patience, working })
  const status = await ended.finally(forget)
  if (isHeldBack) process.stdout.write(`\n== ${title}\n${Buffer.concat(output)}`)
  console.log(`   ${title}: ${Math.round((performance.now() - started) / 1000)} s`)
  const { isOver, ...result } = lastMessage
  if (watchdog.killed !== undefined) {
    console.log(`-- ${title}: printed nothing any more, and was killed:\n${watchdog.killed}`)
    return isOver ? result : addUnfinished(result, files)
  }
  if (status === 0 || result.failed.length > 0) return result
  return { ...result, failed: [{ file: title, title: 'all of it', reason: `Mocha ended with status ${status}.` }] }
}

/** Adds a failure for each file that is not known to have ended. */
function addUnfinished(result: Result, files: readonly string[]): Result {
  const names = files.map((file) => relative(root, resolve(root, file)))
  const unended = names.filter((name) => result.milliseconds[name] === undefined)
  const failed = unended.map((file) => ({ file, title: 'all of it', reason: 'It did not end, and was killed.' }))
  return { ...result, failed: [...result.failed, ...failed] }
}
