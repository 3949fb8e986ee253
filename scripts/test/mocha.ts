import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export type Counts = { passes: number; failures: number; pending: number }
/** And the time in tests and hooks by file, in milliseconds. */
export type Result = Counts & { milliseconds: Record<string, number> }

export type MochaRun = {
  title: string
  files: readonly string[]
  options: readonly string[]
  environment?: Record<string, string>
  /** Whether the output comes when all is over, because others run beside it. */
  isHeldBack: boolean
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
  const status = await new Promise<number>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => done(code ?? 1))
  })
  if (isHeldBack) process.stdout.write(`\n== ${title}\n${Buffer.concat(output)}`)
  console.log(`   ${title}: ${Math.round((performance.now() - started) / 1000)} s`)
  const lines = readFileSync(counts, 'utf8').split('\n').filter(Boolean)
  rmSync(folder, { recursive: true })
  const nothing: Result = { passes: 0, failures: 0, pending: 0, milliseconds: {} }
  const found = lines.map((line) => JSON.parse(line) as Result).at(-1) ?? nothing
  return status !== 0 && found.failures === 0 ? { ...found, failures: 1 } : found
}
