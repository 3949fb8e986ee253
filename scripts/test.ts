import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { createProgress } from './controlplane/index.ts'
import { ROOM_FOR_GARBAGE } from './controlplane/start.ts'
import { isNodeBuilt } from './node/programs.ts'
import { machineFacts, nodeIsImpossible } from './node/requirements.ts'
import { useBatchScheduling } from './test/batchScheduling.ts'
import { runChecks } from './test/checks.ts'
import { unseenCodes } from './test/codes.ts'
import { keepSeenRoutes, SEEN_VARIABLE, untestedRoutes } from './test/coverage.ts'
import { interruptAfter, interruption } from './test/interruption.ts'
import {
  afterRunningAgain,
  type Failure,
  filesToRunAgain,
  type MochaRun,
  type Outcome,
  runMocha,
} from './test/mocha.ts'
import { BACKUPS, startTestPlatform, type TestPlatform } from './test/platform.ts'
import { CORES, runSideBySide, type Work } from './test/schedule.ts'

const root = join(import.meta.dirname, '..')
const SHARED = 'end-to-end tests on one platform'
/** End-to-end files that run concurrently on the shared platform; it is one of the busy parts. */
const SHARED_JOBS = 3
/**
 * Processes that share the files of the unit tests: a single process with all of them spends a fifth of its time on
 * garbage collection, and stays alive with whatever a failed test left open.
 */
const UNIT_JOBS = 2
/** Milliseconds for a unit test, which takes seconds at most: a hanging one is reported, and its file runs again. */
const UNIT_TIMEOUT = 300_000
/** Milliseconds for a whole run, twice the time on a slow machine: if something hangs, the end of the run says what. */
const LONGEST = 60 * 60_000
/**
 * Cores for each part: slightly less than it used alone, because all wait now and then, which would leave a core idle.
 * The shared platform keeps one busy; a file with its own platform mostly waits for that, and files on a node for pods.
 * The crash tests keep a core busy too, but must fit beside the shared platform.
 */
const WEIGHTS = { unit: 0.5, crashes: 0.8, shared: 1.1, node: 0.4, alone: 0.3 }
/** The number of slowest files that a run lists at its end. */
const SLOWEST = 10

/** Read by test/config.ts. Programs in Go, above all kubectl, also end before collecting their garbage is worth it. */
const BUNDLED = { FREEHOLD_TEST_BUNDLED: 'true', ...ROOM_FOR_GARBAGE }

const PARTS = ['--unit', '--e2e', '--node', '--hours']

const USAGE = `Usage: npm test [-- [PART] [FILE...] [options of mocha]]
Runs the checks, the unit tests and the end-to-end tests, or a part of them:
  --unit   the unit tests
  --e2e    the end-to-end tests, on a control plane of their own
  --node   all that needs a real node (Linux, as root)
  --hours  the first hours of people`

const NOT_BUILT = 'its programs are not built yet, which `npm run test:node` does in a quarter of an hour.'
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
const isMarked = (file: string, mark: string) => textOf(file).includes(mark)
const startOrder = (file: string) => (isMarked(file, '@longest') ? 0 : isMarked(file, '@long') ? 1 : 2)
/** The platform that a file uses in turn with others (test/cluster/lent.ts). */
const lentTo = (file: string) => /^\/\/ @inTurn (\w+)/m.exec(textOf(file))?.[1]

/** Long parts take some minutes, and start first. */
type Planned = Work & { title: string; isLong?: boolean }
/** `timeout` is of each test, in milliseconds; that of .mocharc.json if absent. */
type Part = Omit<MochaRun, 'isHeldBack' | 'options'> & { options?: string[]; timeout?: number }
type Selection = { checks: boolean; unit: boolean; e2e: boolean; node: boolean; hours: boolean; rest: string[] }

/**
 * `npm test`: checks, unit tests, and end-to-end tests on a real control plane that is started once for all of them, and the
 * files marked `@everyRun` on a real node where one can start within seconds. The first hours of people are in no run of
 * everything. `-- --grep=...` and file names go to mocha. Closes with `N passed, N failed`.
 */
class TestRun {
  readonly #selection: Selection
  #passes = 0
  #pending = 0
  /** Time in tests and hooks by file, in milliseconds. */
  readonly #milliseconds = new Map<string, number>()
  readonly #failed: Failure[] = []
  /** Files that failed first and passed when repeated. */
  readonly #unsteady: Failure[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'freehold-run-'))
  /** A file to which every platform of this run appends. */
  readonly #seenRoutes = join(this.#folder, 'routes')
  #isHeldBack = false
  /** Parts that are running. */
  readonly #underWay = new Set<string>()

  constructor(words: string[]) {
    writeFileSync(this.#seenRoutes, '')
    const rest = words.filter((word) => !PARTS.includes(word))
    const [unit, e2e, node, hours] = PARTS.map((part) => words.includes(part)) as [boolean, boolean, boolean, boolean]
    const all = !unit && !e2e && !node && !hours
    this.#selection = { checks: all && rest.length === 0, unit: unit || all, e2e: e2e || all, node, hours, rest }
  }

  async run(): Promise<void> {
    const underWay = () => [...this.#underWay].join(', ') || 'the checks'
    const isOver = interruptAfter(LONGEST, () => {
      console.log(`FAIL  it takes at most ${LONGEST / 60_000} minutes; still under way: ${underWay()}`)
    })
    if (this.#selection.checks) {
      const results = await runChecks()
      const failed = results.filter((result) => !result.passed).map(({ name }) => failure('npm run check', name))
      this.#add({ passes: results.length - failed.length, pending: 0, failed })
    }
    const { checks, unit, e2e, node, hours } = this.#selection
    const onPlatforms = [
      ...(e2e ? this.#endToEnd() : []),
      ...(node ? [this.#onNode(this.#filesIn('test/node'))] : []),
      ...(checks ? await this.#onNodeInEveryRun() : []),
    ]
    const works = [
      ...longestFirst([...this.#onBundle(onPlatforms), ...(unit ? this.#unit() : [])]),
      ...(hours ? this.#onBundle([this.#firstHours(this.#filesIn('test/hours'))]) : []),
    ]
    this.#isHeldBack = works.length > 1
    await runSideBySide(works, CORES, interruption())
    if (e2e && this.#selection.rest.length === 0) this.#add(await covered(this.#seenRoutes))
    isOver()
    rmSync(this.#folder, { recursive: true })
    this.#tell()
  }

  /** Operators in tests run the shipped bundle, built once for all of them. */
  #onBundle(works: readonly Planned[]): Planned[] {
    let made: Promise<void> | undefined
    const make = async () => (await import('./bundle.ts')).bundle()
    const run = async (work: Planned) => {
      this.#underWay.add(work.title)
      made ??= make()
      await made
      await work.run()
      this.#underWay.delete(work.title)
    }
    return works.map((work) => ({ ...work, run: () => run(work) }))
  }

  get #options(): string[] {
    return this.#selection.rest.filter((word) => !word.endsWith('.test.ts'))
  }

  /** Files of this part of the tree: the named ones, or all. */
  #filesIn(...folders: string[]): string[] {
    const named = this.#selection.rest.filter((word) => word.endsWith('.test.ts')).map((word) => normalize(word))
    const all = folders.flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root }).sort())
    return named.length === 0 ? all : all.filter((file) => named.includes(file))
  }

  /** Flows in which the operator dies at every write keep a core busy, so they are a part of their own. */
  #unit(): Planned[] {
    // The checks run the files in test/policy; a run repeats nothing.
    const policy = this.#selection.checks ? [] : ['test/policy']
    const parts = [
      {
        weight: WEIGHTS.unit,
        isLong: true,
        title: 'unit tests',
        files: this.#filesIn('src', 'scripts', ...policy),
        options: ['--parallel', `--jobs=${UNIT_JOBS}`],
        timeout: UNIT_TIMEOUT,
      },
      { weight: WEIGHTS.crashes, isLong: false, title: 'crashes', options: [], files: this.#filesIn('test/crashes') },
    ]
    return parts
      .filter(({ files }) => files.length > 0)
      .map(({ weight, isLong, ...part }) => ({ ...this.#mocha(weight, part), isLong }))
  }

  /**
   * Files marked `@alone` start a platform of their own; of these, `@longest` and then `@long` start first, so that the
   * others end beside them. Those marked `@inTurn` kill the operator, count its requests or change its settings: one
   * process runs them on one platform, file after file.
   */
  #endToEnd(): Planned[] {
    const files = this.#filesIn('test/e2e')
    const inTurn = Object.entries(Object.groupBy(files, (file) => lentTo(file) ?? ''))
    const alone = files
      .filter((file) => isMarked(file, '@alone'))
      .toSorted((one, other) => startOrder(one) - startOrder(other))
    const apart = inTurn.flatMap(([name, some]) => (name === '' || some === undefined ? [] : [{ name, files: some }]))
    const shared = files.filter((file) => !alone.includes(file) && lentTo(file) === undefined)
    return [
      ...(shared.length > 0
        ? [{ title: SHARED, weight: WEIGHTS.shared, isLong: true, run: () => this.#shared(shared) }]
        : []),
      ...apart.map(({ name, files }) => ({
        ...this.#mocha(WEIGHTS.alone, { title: `in turn, ${name} platform`, files }),
        isLong: true,
      })),
      ...alone.map((file) => this.#mocha(WEIGHTS.alone, { title: `${file}, alone`, files: [file] })),
    ]
  }

  /**
   * What everything on a node depends on, if one can start here at once; otherwise it says why not, and counts as
   * skipped.
   */
  async #onNodeInEveryRun(): Promise<Planned[]> {
    const files = this.#filesIn('test/node').filter((file) => isMarked(file, '@everyRun'))
    const cannot = nodeIsImpossible(machineFacts()) ?? ((await isNodeBuilt()) ? undefined : NOT_BUILT)
    if (cannot === undefined) return [this.#onNode(files)]
    console.log(`-- skipped ${files.length} files on a real node: ${cannot}`)
    this.#add({ passes: 0, pending: files.length, failed: [] })
    return []
  }

  /** Files that need real pods, on one node after the other. Those marked `@backups` have a target for backups. */
  #onNode(files: string[]): Planned {
    const marked = files.filter((file) => isMarked(file, '@backups'))
    const others = files.filter((file) => !marked.includes(file))
    const run = async () => {
      await this.#node('end-to-end tests on a node', others)
      await this.#node('end-to-end tests on a node with backups', marked, BACKUPS)
    }
    return { title: 'tests on a node', weight: WEIGHTS.node, isLong: true, run }
  }

  async #node(title: string, files: string[], settings: Record<string, string> = {}): Promise<void> {
    if (files.length === 0) return
    await this.#prepare(files)
    const platform = await startTestPlatform({ hasRealNode: true, environment: settings })
    try {
      await this.#mocha(0, { title, files, environment: platform.environment }).run()
    } finally {
      await platform.stop()
    }
  }

  #firstHours(files: string[]): Planned {
    const tests = this.#mocha(WEIGHTS.shared, { title: 'first hours', files })
    const run = async () => {
      await this.#prepare(files)
      await tests.run()
    }
    return { ...tests, run }
  }

  async #prepare(files: readonly string[]): Promise<void> {
    const { prepareFor } = await import('../test/node/prepare.ts')
    await prepareFor(
      files.map((file) => join(root, file)),
      { progress: createProgress(process.stderr), signal: undefined },
    )
  }

  async #shared(files: string[]): Promise<void> {
    const platform = await startTestPlatform()
    try {
      const { environment } = platform
      const options = ['--parallel', `--jobs=${SHARED_JOBS}`]
      await this.#mocha(0, { title: SHARED, files, options, environment }).run()
      await keepSeenRoutes(platform.managementUrl, this.#seenRoutes)
      // Only a full run can tell what no test covers.
      if (this.#selection.rest.length === 0) this.#add(provoked(platform))
    } finally {
      await platform.stop()
    }
  }

  #mocha(weight: number, { options = [], timeout, ...run }: Part): Planned {
    const own = [...(timeout === undefined ? [] : [`--timeout=${timeout}`]), ...this.#options]
    const environment = { [SEEN_VARIABLE]: this.#seenRoutes, ...BUNDLED, ...run.environment }
    const play = async (files: readonly string[], ...more: string[]) => {
      const { milliseconds, ...outcome } = await runMocha({
        ...{ ...run, files, environment, isHeldBack: this.#isHeldBack },
        options: [...more, ...own],
      })
      for (const [file, time] of Object.entries(milliseconds))
        this.#milliseconds.set(file, (this.#milliseconds.get(file) ?? 0) + time)
      return outcome
    }
    return {
      title: run.title,
      weight,
      run: async () => {
        const first = await play(run.files, ...options)
        const files = this.#selection.checks ? filesToRunAgain(first) : []
        if (files.length === 0) return this.#add(first)
        console.log(`-- failed, and run again alone: ${files.join(', ')}`)
        const again = await play(files)
        this.#add(afterRunningAgain(first, again))
        const stillFails = new Set(again.failed.map(({ title }) => title))
        this.#unsteady.push(...first.failed.filter(({ title }) => !stillFails.has(title)))
      },
    }
  }

  #add({ passes, pending, failed }: Outcome): void {
    this.#passes += passes
    this.#pending += pending
    this.#failed.push(...failed)
  }

  #tell(): void {
    const slowest = [...this.#milliseconds].sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
    const line = ([file, time]: [string, number]) => `${(time / 1000).toFixed(1).padStart(7)} s  ${file}`
    if (this.#milliseconds.size > SLOWEST) console.log(`\nSlowest files:\n${slowest.map(line).join('\n')}`)
    // Repeated at the end, because the parts of a run print thousands of lines.
    const list = (failures: Failure[]) =>
      failures.map(({ file, title, reason }) => `  ${file}: ${title}\n    ${reason}`)
    const [failedList, unsteady] = [list(this.#failed), list(this.#unsteady)]
    if (unsteady.length > 0) console.log(`\nFailed, and passed when run again:\n${unsteady.join('\n')}`)
    if (failedList.length > 0) console.log(`\nFailed:\n${failedList.join('\n')}`)
    const skipped = this.#pending > 0 ? `, ${this.#pending} skipped` : ''
    const again = unsteady.length > 0 ? `, ${unsteady.length} passed only when run again` : ''
    console.log(`\n${this.#passes} passed, ${failedList.length} failed${skipped}${again}`)
    process.exitCode = failedList.length > 0 || this.#passes === 0 ? 1 : 0
  }
}

/** A light part that takes long must not be last, when it leaves cores idle; other light parts fill gaps. */
function longestFirst(works: readonly Planned[]): Work[] {
  const isLong = ({ isLong = false }: Planned) => Number(isLong)
  return works.toSorted((one, other) => isLong(other) - isLong(one) || other.weight - one.weight)
}

async function covered(seenFile: string): Promise<Outcome> {
  return listed('no end-to-end test has seen it succeed', await untestedRoutes(seenFile))
}

function provoked({ folder }: TestPlatform): Outcome {
  return listed('no end-to-end test has provoked', unseenCodes(folder))
}

/** One check, with a failure for each that is missing. */
function listed(what: string, missing: readonly string[]): Outcome {
  for (const each of missing) console.log(`FAIL  ${what}: ${each}`)
  return { passes: missing.length === 0 ? 1 : 0, pending: 0, failed: missing.map((each) => failure(each, what)) }
}

/** For failures that have already printed their reason. */
function failure(file: string, title: string): Failure {
  return { file, title, reason: 'See FAIL above.' }
}

const words = process.argv.slice(2)
if (words.includes('--help')) console.log(USAGE)
else {
  useBatchScheduling()
  await new TestRun(words).run()
}
