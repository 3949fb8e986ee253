import { fork } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { parseSync } from 'oxc-parser'
import { endWith, parsed, UsageError, wholeNumber } from './commandLine.ts'
import { type Mutant, mutate } from './mutants/mutate.ts'
import type { Message, Outcome, Task } from './mutants/runner.ts'

const USAGE = `Usage: npm run mutants -- FILE|FOLDER... [--tests=N] [--threshold=PERCENT]
Changes files of src a little, one change at a time, and lists the changes that no unit test notices.
  --tests      how many test files are tried for a file, the nearest imports first (default 10)
  --threshold  exits with 1 if fewer of the mutants are noticed`
const root = join(import.meta.dirname, '..')
/** Milliseconds without a word from the process of the tests. */
const SILENCE_MAX_MS = 180_000

/** Which modules import a module, types left out. */
function importersOf(): Map<string, string[]> {
  const importers = new Map<string, string[]>()
  for (const file of globSync('{src,scripts,test}/**/*.ts', { cwd: root }).map((path) => join(root, path))) {
    const { staticImports, staticExports, dynamicImports } = parseSync(file, readFileSync(file, 'utf8')).module
    const text = readFileSync(file, 'utf8')
    const names = [
      ...staticImports
        .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
        .map(({ moduleRequest }) => moduleRequest.value),
      ...staticExports.flatMap(({ entries }) =>
        entries.filter(({ isType }) => !isType).map(({ moduleRequest }) => moduleRequest?.value ?? ''),
      ),
      ...dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1)),
    ]
    for (const name of new Set(names.filter((each) => each.startsWith('.')))) {
      const target = resolve(dirname(file), name)
      importers.set(target, [...(importers.get(target) ?? []), file])
    }
  }
  return importers
}

/** All modules that reach a file, nearest first. */
function reaching(target: string, importers: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set([target])
  for (const each of found) for (const importer of importers.get(each) ?? []) found.add(importer)
  return [...found]
}

function filesOf(path: string): string[] {
  const full = resolve(path)
  if (!relative(join(root, 'src'), full).match(/^(?!\.\.)/)) throw new UsageError(`${path} is not in src.\n${USAGE}`)
  const files = statSync(full).isDirectory()
    ? globSync('**/*.ts', { cwd: full })
        .sort()
        .map((file) => join(full, file))
    : [full]
  return files.filter((file) => !/\.test\.ts$|\/fake[^/]*\.ts$/.test(file))
}

class Trial {
  readonly counts: Record<Outcome, number> = { killed: 0, survived: 0, 'timed out': 0 }

  async try(target: string, modules: readonly string[], most: number): Promise<void> {
    const path = relative(root, target)
    const { mutants } = mutate(path, readFileSync(target, 'utf8'))
    const name = basename(target, '.ts').toLowerCase()
    const nameOf = (file: string) => basename(file, '.test.ts').toLowerCase()
    const nearness = (file: string) =>
      2 * Number(nameOf(file) === name) +
      Number(nameOf(file).includes(name)) +
      Number(dirname(file) === dirname(target))
    const all = modules
      .filter((file) => /\/src\/.*\.test\.ts$/.test(file))
      .toSorted((one, other) => nearness(other) - nearness(one))
    const tests = all.slice(0, most)
    console.log(`\n${path}: ${mutants.length} mutants, ${tests.length} of ${all.length} test files that reach it`)
    const left = new Map(mutants.map((mutant) => [mutant.id, mutant]))
    while (left.size > 0) {
      const before = left.size
      await this.#inOneProcess({ path, target, tests, reloaded: [...modules], ids: [...left.keys()] }, left)
      if (left.size === before) throw new Error(`The tests of ${path} did not start: see above.`)
    }
  }

  #inOneProcess(task: Task, left: Map<number, Mutant>): Promise<void> {
    const child = fork(join(root, 'scripts/mutants/runner.ts'), { cwd: root, execArgv: ['--no-warnings'] })
    let begun: number | undefined
    const note = (id: number, outcome: Outcome, tests?: number) => {
      begun = undefined
      this.counts[outcome] += 1
      const mutant = left.get(id)
      left.delete(id)
      if (outcome === 'survived' && mutant !== undefined) console.log(describe(task.path, mutant, tests))
    }
    const watch = () => setTimeout(() => child.kill('SIGKILL'), SILENCE_MAX_MS)
    let timer = watch()
    child.on('message', (message: Message) => {
      clearTimeout(timer)
      timer = watch()
      if ('broken' in message) console.log(`Not used, because they fail by themselves: ${message.broken.join('; ')}`)
      else if ('begun' in message) begun = message.begun
      else note(message.id, message.outcome, message.tests)
    })
    child.send(task)
    return new Promise((done) => {
      child.once('exit', (_code, signal) => {
        clearTimeout(timer)
        if (begun !== undefined) note(begun, signal === 'SIGKILL' ? 'timed out' : 'killed')
        done()
      })
    })
  }
}

function describe(path: string, { line, from, to }: Mutant, tests = 0): string {
  const short = (text: string) => (text === '' ? '(removed)' : text.replaceAll(/\s+/g, ' ').slice(0, 110))
  return `survived  ${path}:${line}  ${short(from)}  ->  ${short(to)}${tests === 0 ? '  (no test runs it)' : ''}`
}

try {
  const { values, positionals } = parsed(
    process.argv.slice(2),
    USAGE,
    { tests: { type: 'string', default: '10' }, threshold: { type: 'string' } },
    true,
  )
  if (positionals.length === 0) throw new UsageError(USAGE)
  const most = wholeNumber('--tests', values.tests, 10_000, USAGE)
  const files = positionals.flatMap(filesOf)
  const importers = importersOf()
  const trial = new Trial()
  for (const file of files) await trial.try(file, reaching(file, importers), most)
  const { killed, survived, 'timed out': timedOut } = trial.counts
  console.log(`\n${killed} killed, ${survived} survived, ${timedOut} timed out`)
  const noticed = (100 * (killed + timedOut)) / Math.max(1, killed + survived + timedOut)
  if (values.threshold !== undefined && noticed < wholeNumber('--threshold', values.threshold, 100, USAGE))
    process.exitCode = 1
} catch (error) {
  endWith(error)
}
