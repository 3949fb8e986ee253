import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { CORES, runSideBySide } from './schedule.ts'

const root = join(import.meta.dirname, '../..')
const bin = (name: string) => join(root, 'node_modules', '.bin', name)

export type CheckResult = { name: string; passed: boolean }

/** `remedy`: what to do, for tools that do not say it. */
type Check = { name: string; program: string; args: string[]; remedy?: string }

const UNUSED = 'Remove it, or use it: a kind, a controller and routes are listed in the index.ts of their folder.'

function checks(fix: boolean): Check[] {
  return [
    {
      name: 'generated files are what the declarations say',
      program: process.execPath,
      args: [join(root, 'scripts/generate.ts'), ...(fix ? [] : ['--check'])],
    },
    { name: 'types', program: bin('tsc'), args: ['-p', root] },
    {
      name: 'format and lint',
      program: bin('biome'),
      args: ['check', '--error-on-warnings', ...(fix ? ['--write'] : []), root],
      remedy: '`npm run check -- --fix` writes what can be written.',
    },
    { name: 'nothing unused', program: bin('knip'), args: ['--no-config-hints'], remedy: UNUSED },
    {
      name: 'nothing that only tests use',
      program: bin('knip'),
      args: ['--no-config-hints', '--production'],
      remedy: `${UNUSED} What only tests use belongs to test, or is marked @internal with the reason.`,
    },
    { name: 'tables and import rules', program: bin('mocha'), args: ['--reporter', 'dot', 'test/policy/**/*.test.ts'] },
  ]
}

/**
 * Runs every check, even after a failure, and prints a line for each, with its output if it did not pass.
 *
 * @param fix writes what can be written, one check after the other
 */
export async function runChecks(fix = false): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  const works = checks(fix).map((check) => ({
    weight: 1,
    run: async () => {
      const started = performance.now()
      const { status, output } = await run(check)
      const passed = status === 0
      console.log(`${passed ? 'ok  ' : 'FAIL'}  ${check.name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
      if (!passed) console.log([...output.trimEnd().split('\n').slice(-60), check.remedy ?? '', ''].join('\n'))
      results.push({ name: check.name, passed })
    },
  }))
  await runSideBySide(works, fix ? 1 : CORES)
  return results
}

function run({ program, args }: Check): Promise<{ status: number; output: string }> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` },
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.once('error', fail)
    child.once('exit', (code) => done({ status: code ?? 1, output }))
  })
}
