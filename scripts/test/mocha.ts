import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeInterrupted } from './interruption.ts'

const root = join(import.meta.dirname, '../..')

/** A test or hook that failed; `file` is relative to the root, and `reason` the first line of what was thrown. */
export type Failure = { file: string; title: string; reason: string }
export type Outcome = { passes: number; pending: number; failed: Failure[] }
/** And the time in tests and hooks by file, in milliseconds. */
export type Result = Outcome & { milliseconds: Record<string, number> }

export type MochaRun = {
  title: string
  files: readonly string[]
  options: readonly string[]
  environment?: Record<string, string>
  /** Whether the output comes when all is over, because others run beside it. */
  isHeldBack: boolean
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
export async function runMocha({ title, files, options, environment, isHeldBack }: MochaRun): Promise<Result> {
  const started = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'freehold-test-'))
  const counts = join(folder, 'counts')
  writeFileSync(counts, '')
  console.log(isHeldBack ? `\n.. ${title}` : `\n== ${title}`)
  const reporter = join(root, 'scripts/test/reporter.mjs')
  const output: Buffer[] = []
  const stdio = isHeldBack ? 'pipe' : 'inherit'
  const child = spawn(join(root, 'node_modules/.bin/mocha'), ['--reporter', reporter, ...options, ...files], {
    cwd: root,
    stdio: ['ignore', stdio, stdio],
    env: {
      ...process.env,
      ...environment,
      FREEHOLD_TEST_COUNTS: counts,
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    },
  })
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => output.push(chunk))
  const ended = new Promise<number>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => done(code ?? 1))
  })
  const forget = beforeInterrupted(() => {
    child.kill()
    return ended
  })
  const status = await ended.finally(forget)
  if (isHeldBack) process.stdout.write(`\n== ${title}\n${Buffer.concat(output)}`)
  console.log(`   ${title}: ${Math.round((performance.now() - started) / 1000)} s`)
  const lines = readFileSync(counts, 'utf8').split('\n').filter(Boolean)
  rmSync(folder, { recursive: true })
  const nothing: Result = { passes: 0, pending: 0, milliseconds: {}, failed: [] }
  const found = lines.map((line) => JSON.parse(line) as Result).at(-1) ?? nothing
  if (status === 0 || found.failed.length > 0) return found
  return { ...found, failed: [{ file: title, title: 'all of it', reason: `Mocha ended with status ${status}.` }] }
}
