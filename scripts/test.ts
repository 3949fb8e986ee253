import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChecks } from './test/checks.ts'
import { unseenCodes } from './test/codes.ts'
import { untestedRoutes } from './test/coverage.ts'
import { startTestPlatform, type TestPlatform } from './test/platform.ts'

const root = join(import.meta.dirname, '..')
/** End-to-end files run beside each other; the machine has few cores, and the API server is one of the busy ones. */
const JOBS = 3
/** Files with a platform of their own mostly wait for it; more than two at once would starve each other on two cores. */
const ALONE_JOBS = 2

/** Slowest files that a run names at its end. */
const SLOWEST = 10

type Counts = { passes: number; failures: number; pending: number }
/** Time in tests and hooks by file, in milliseconds. */
const milliseconds = new Map<string, number>()
type Selection = { checks: boolean; unit: boolean; e2e: boolean; rest: string[] }

/**
 * `npm test`: checks, unit tests, and end-to-end tests on a real control plane that is started once for all of them.
 * `--unit` and `--e2e` run one part; `-- --grep=...` and file names go to mocha. Closes with `N passed, N failed`.
 */
async function main(): Promise<void> {
  const selection = select(process.argv.slice(2))
  const total: Counts = { passes: 0, failures: 0, pending: 0 }
  const add = (counts: Counts) => {
    total.passes += counts.passes
    total.failures += counts.failures
    total.pending += counts.pending
  }
  if (selection.checks) {
    const results = await runChecks()
    add({
      passes: results.filter((result) => result.passed).length,
      failures: results.filter((result) => !result.passed).length,
      pending: 0,
    })
  }
  if (selection.unit) for (const counts of await unit(selection.rest)) add(counts)
  if (selection.e2e) add(await endToEnd(selection.rest))
  if (milliseconds.size > SLOWEST) console.log(`\nSlowest files:\n${slowest().join('\n')}`)
  const skipped = total.pending > 0 ? `, ${total.pending} skipped` : ''
  console.log(`\n${total.passes} passed, ${total.failures} failed${skipped}`)
  process.exitCode = total.failures > 0 || total.passes === 0 ? 1 : 0
}

function slowest(): string[] {
  return [...milliseconds]
    .sort(([, a], [, b]) => b - a)
    .slice(0, SLOWEST)
    .map(([file, time]) => `${(time / 1000).toFixed(1).padStart(7)} s  ${file}`)
}

function select(words: string[]): Selection {
  const rest = words.filter((word) => word !== '--unit' && word !== '--e2e')
  const [unit, e2e] = [words.includes('--unit'), words.includes('--e2e')]
  if (unit || e2e) return { checks: false, unit, e2e, rest }
  return { checks: rest.length === 0, unit: true, e2e: true, rest }
}

/** The flows in which the operator dies at every write take as long as everything else, and so run beside it. */
function unit(rest: string[]): Promise<Counts[]> {
  const files = ['src/**/*.test.ts', 'test/policy/**/*.test.ts', 'scripts/**/*.test.ts']
  const options = rest.filter((word) => !word.endsWith('.test.ts'))
  return Promise.all([
    mocha('unit tests', files, rest, {}),
    mocha('unit tests of what survives a crash', ['test/crashes/**/*.test.ts'], options, {}, true),
  ])
}

/**
 * Files that start a platform of their own come after those that share one: they count requests and kill things. They
 * share nothing with each other, so two run side by side, and each file's output comes when it has ended.
 */
async function endToEnd(rest: string[]): Promise<Counts> {
  const named = rest.filter((word) => word.endsWith('.test.ts'))
  const options = rest.filter((word) => !word.endsWith('.test.ts'))
  const files = named.length > 0 ? named : globSync('test/e2e/**/*.test.ts', { cwd: root }).sort()
  const alone = files.filter((file) => readFileSync(join(root, file), 'utf8').includes('@alone'))
  const shared = files.filter((file) => !alone.includes(file))
  const sum: Counts = { passes: 0, failures: 0, pending: 0 }
  const add = (counts: Counts) => {
    for (const key of ['passes', 'failures', 'pending'] as const) sum[key] += counts[key]
  }
  if (shared.length > 0) {
    const platform = await startTestPlatform()
    try {
      add(
        await mocha(
          'end-to-end tests on one platform',
          shared,
          ['--parallel', `--jobs=${JOBS}`, ...options],
          platform.environment,
        ),
      )
      // Only a run of everything can tell what nobody tests.
      if (rest.length === 0) add(await coverage(platform))
    } finally {
      await platform.stop()
    }
  }
  const waiting = [...alone]
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (alone.length > 1) console.log(`\n.. ${file} has begun`)
      add(await mocha(`${file}, alone`, [file], options, {}, alone.length > 1))
    }
  }
  await Promise.all(Array.from({ length: ALONE_JOBS }, work))
  return sum
}

async function coverage({ managementUrl, folder }: TestPlatform): Promise<Counts> {
  const untested = await untestedRoutes(managementUrl)
  for (const route of untested) console.log(`FAIL  no end-to-end test has seen it succeed: ${route}`)
  const unseen = unseenCodes(folder)
  for (const refusal of unseen) console.log(`FAIL  no end-to-end test has provoked: ${refusal}`)
  const failures = untested.length + unseen.length
  return { passes: (untested.length === 0 ? 1 : 0) + (unseen.length === 0 ? 1 : 0), failures, pending: 0 }
}

async function mocha(
  title: string,
  files: string[],
  options: string[],
  environment: Record<string, string>,
  isHeldBack = false,
): Promise<Counts> {
  const started = performance.now()
  if (!isHeldBack) console.log(`\n== ${title}`)
  const folder = mkdtempSync(join(tmpdir(), 'freehold-test-'))
  const counts = join(folder, 'counts')
  writeFileSync(counts, '')
  const args = [
    '--reporter',
    join(root, 'scripts/test/reporter.mjs'),
    '--timeout',
    title.startsWith('unit') ? '20000' : '120000',
    ...options,
    ...files,
  ]
  const output: Buffer[] = []
  const status = await new Promise<number>((done, fail) => {
    const child = spawn(join(root, 'node_modules/.bin/mocha'), args, {
      cwd: root,
      stdio: ['ignore', isHeldBack ? 'pipe' : 'inherit', isHeldBack ? 'pipe' : 'inherit'],
      env: {
        ...process.env,
        ...environment,
        FREEHOLD_TEST_COUNTS: counts,
        PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      },
    })
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
    child.stderr?.on('data', (chunk: Buffer) => output.push(chunk))
    child.once('error', fail)
    child.once('close', (code) => done(code ?? 1))
  })
  if (isHeldBack) process.stdout.write(`\n== ${title}\n${Buffer.concat(output)}`)
  console.log(`   ${title}: ${Math.round((performance.now() - started) / 1000)} s`)
  const lines = readFileSync(counts, 'utf8').split('\n').filter(Boolean)
  rmSync(folder, { recursive: true })
  const nothing = { passes: 0, failures: 0, pending: 0, milliseconds: {} }
  const { milliseconds: times, ...found } =
    lines.map((line) => JSON.parse(line) as Counts & { milliseconds: Record<string, number> }).at(-1) ?? nothing
  for (const [file, time] of Object.entries<number>(times)) milliseconds.set(file, (milliseconds.get(file) ?? 0) + time)
  // A runner that died counts as a failure, whatever it had counted before.
  return status !== 0 && found.failures === 0 ? { ...found, failures: 1 } : found
}

await main()
