import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import Mocha from 'mocha'
import { mutate } from './mutate.ts'

/** `reloaded`: the modules that reach the target. `ids`: the mutants that are still to be tried. */
export type Task = { path: string; target: string; tests: string[]; reloaded: string[]; ids: number[] }
export type Outcome = 'killed' | 'survived' | 'timed out'
export type Message = { begun: number } | { id: number; outcome: Outcome; tests: number } | { broken: string[] }

/** A mutant that is asked for more often than this loops endlessly. */
const CALLS_MAX = 1_000_000
/** Modules that were loaded again stay in memory: beyond this a new process goes on. */
const HEAP_MAX_BYTES = 1_000_000_000
/** For a test. A test takes seconds at most, even on a busy machine. */
const TIMEOUT_MS = 20_000

let active = 0
let calls = 0
let titles: readonly string[] = []
/** Titles of the tests that ask for a mutant; those asked for while modules load are in `atLoad`. */
const askedBy = new Map<number, Set<string>>()
const atLoad = new Set<number>()
let note = (id: number) => void atLoad.add(id)

const isActive = (id: number): boolean => {
  note(id)
  if (id !== active) return false
  if (++calls > CALLS_MAX) throw new Error('endless')
  return true
}
Object.assign(globalThis, { __mutant: isActive })

function send(message: Message): void {
  process.send?.(message)
}

/** Loads test files, or loads them again with all that is between them and the target: `turn` tells such copies apart. */
async function loaded(tests: readonly string[], turn?: number): Promise<Mocha> {
  const mocha = new Mocha({ timeout: TIMEOUT_MS, reporter: class {} as never, bail: turn !== undefined })
  mocha.cleanReferencesAfterRun(false)
  for (const file of tests) {
    mocha.suite.emit('pre-require', globalThis, file, mocha)
    await import(`${pathToFileURL(file).href}${turn === undefined ? '' : `?mutant=${turn}`}`)
  }
  return mocha
}

function titlesIn(suite: Mocha.Suite): string[] {
  const found: string[] = []
  suite.eachTest((test: Mocha.Test) => found.push(test.fullTitle()))
  return found
}

/** A suite takes this over when it is made only, and without it each failing test may wait for its timeout. */
function endAtFirstFailure(suite: Mocha.Suite): void {
  suite.bail(true)
  for (const inner of suite.suites) endAtFirstFailure(inner)
}

async function ran(mocha: Mocha, listen: (runner: Mocha.Runner) => void = () => {}): Promise<Outcome> {
  let outcome: Outcome = 'survived'
  await new Promise<void>((done) => {
    const runner = mocha.run(() => done())
    runner.on('fail', (_test, error) => {
      const { code } = (error ?? {}) as { code?: string }
      outcome = code === 'ERR_MOCHA_TIMEOUT' && outcome !== 'killed' ? 'timed out' : 'killed'
    })
    listen(runner)
  })
  return outcome
}

/** Runs everything without a mutant. @returns the titles of failed tests */
async function observed(mocha: Mocha): Promise<string[]> {
  const broken: string[] = []
  note = (id) => {
    const known = askedBy.get(id) ?? new Set()
    for (const title of titles) known.add(title)
    askedBy.set(id, known)
  }
  await ran(mocha, (runner) => {
    runner.on('test', (test) => (titles = [test.fullTitle()]))
    runner.on('hook', ({ title, parent, ctx }) => {
      if (/ all"/.test(title)) titles = parent === undefined ? [] : titlesIn(parent)
      else if (ctx?.currentTest !== undefined) titles = [ctx.currentTest.fullTitle()]
    })
    runner.on('fail', (test) => broken.push(test.fullTitle()))
  })
  note = () => {}
  return broken
}

async function tryAll({ path, target, tests, reloaded, ids }: Task): Promise<void> {
  const { code } = mutate(path, readFileSync(target, 'utf8'))
  const fresh = new Set(reloaded.map((file) => pathToFileURL(file).href))
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      const turn = /\?mutant=\d+$/.exec(context.parentURL ?? '')?.[0]
      return turn !== undefined && fresh.has(found.url) ? { ...found, url: found.url + turn } : found
    },
    load: (url, context, next) =>
      url.startsWith('file:') && fileURLToPath(url) === target
        ? { format: 'module-typescript', source: code, shortCircuit: true }
        : next(url, context),
  })
  const mocha = await loaded(tests)
  const broken = await observed(mocha)
  if (broken.length > 0) send({ broken })
  endAtFirstFailure(mocha.suite)
  const all = titlesIn(mocha.suite)

  async function tried(id: number): Promise<{ outcome: Outcome; tests: number }> {
    const isStatic = atLoad.has(id)
    const covering = new Set(isStatic ? all : (askedBy.get(id) ?? []))
    for (const title of broken) covering.delete(title)
    if (covering.size === 0) return { outcome: 'survived', tests: 0 }
    calls = 0
    active = id
    const used = isStatic ? await loaded(tests, id).catch(() => undefined) : mocha
    if (used === undefined) return { outcome: 'killed', tests: 0 }
    // Mocha only asks whether a title matches.
    used.grep({ test: (title: string) => covering.has(title) } as RegExp)
    return { outcome: await ran(used), tests: covering.size }
  }

  for (const id of ids) {
    send({ begun: id })
    const result = await tried(id)
    active = 0
    send({ id, ...result })
    // What a test that timed out has left running would disturb the next ones.
    if (result.outcome === 'timed out' || process.memoryUsage().heapUsed > HEAP_MAX_BYTES) break
  }
}

process.once(
  'message',
  (task: Task) =>
    void tryAll(task).then(
      () => process.disconnect(),
      (error) => {
        console.error(error)
        process.exit(1)
      },
    ),
)
