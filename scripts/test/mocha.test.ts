import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { afterRunningAgain, filesToRunAgain, type Outcome, runMocha } from './mocha.ts'

const root = join(import.meta.dirname, '../..')

/** Timeouts for the processes started here, which print nothing for a second or two while they load. */
const PATIENCE = { working: 6_000, over: 1_000 }

describe('runMocha', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'freehold-mocha-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const written = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }

  const played = async (
    name: string,
    text: string,
    options: string[] = [],
    others: string[] = [],
    isHeldBack = true,
  ) => {
    const file = written(name, text)
    // Suppressed, so that intended failures do not look like failures of this test.
    const write = process.stdout.write
    process.stdout.write = () => true
    try {
      const files = [...others, file]
      const result = await runMocha({ title: 'played', files, options, isHeldBack, patience: PATIENCE })
      return { file: relative(root, file), result }
    } finally {
      process.stdout.write = write
    }
  }
  const broken =
    "describe('a door', () => { it('opens'); it('shuts', () => { throw new Error('It is stuck.\\nLine 2') }) })"

  for (const options of [[], ['--parallel', '--jobs=2']])
    it(`returns the file, the title and the first line of a failure${options.length > 0 ? ' in parallel' : ''}`, async () => {
      const { file, result } = await played('broken.test.mjs', broken, options)
      expect(result.failed).to.deep.equal([{ file, title: 'a door shuts', reason: 'It is stuck.' }])
      expect(result).to.include({ passes: 0, pending: 1 })
    })

  it('returns a failed hook', async () => {
    const { file, result } = await played(
      'hook.test.mjs',
      "describe('a door', () => { before(() => { throw new Error('No hinge.') }); it('shuts', () => {}) })",
    )
    const title = 'a door "before all" hook for "shuts"'
    expect(result.failed).to.deep.equal([{ file, title, reason: 'No hinge.' }])
  })

  it('returns a failure for a process that died', async () => {
    const { result } = await played('died.test.mjs', "it('goes', () => {}); after(() => process.exit(7))")
    expect(result.failed).to.deep.equal([{ file: 'played', title: 'all of it', reason: 'Mocha ended with status 7.' }])
  })

  const blocked = `import { spawnSync } from 'node:child_process'; it('waits', () => { spawnSync('sleep', ['600']) })`
  for (const options of [[], ['--parallel', '--jobs=2']])
    it(`kills a blocked process and returns the file${options.length > 0 ? ' in parallel' : ''}`, async () => {
      const others = ['one', 'two'].map((name) => written(`${name}.test.mjs`, "it('goes', () => {})"))
      const { file, result } = await played('blocked.test.mjs', blocked, options, others)
      expect(result.failed).to.deep.include({ file, title: 'all of it', reason: 'It did not end, and was killed.' })
      expect(result.failed).to.have.lengthOf.at.most(2)
      expect(result.passes).to.be.at.least(1)
    })

  for (const isHeldBack of [true, false])
    it(`kills a process that does not exit after its tests, and counts them, ${isHeldBack ? 'among others' : 'alone'}`, async () => {
      const { result } = await played(
        'held.test.mjs',
        "it('goes', () => {}); after(() => void setInterval(() => {}, 1e6))",
        [],
        [],
        isHeldBack,
      )
      expect(result).to.deep.include({ passes: 1, failed: [] })
    })

  it('does not wait for processes that tests left running', async () => {
    const { result } = await played(
      'left.test.mjs',
      `import { spawn } from 'node:child_process'
      it('goes', () => spawn('sleep', ['60'], { stdio: 'inherit', detached: true }).unref())`,
    )
    expect(result).to.deep.include({ passes: 1, failed: [] })
  })
})

describe('filesToRunAgain and afterRunningAgain', () => {
  const failing = (...files: string[]): Outcome => ({
    passes: 10,
    pending: 1,
    failed: files.map((file) => ({ file, title: `of ${file}`, reason: 'Too late.' })),
  })

  const CASES: [what: string, failed: string[], again: string[]][] = [
    ['repeat each failed file', ['a.test.ts', 'b.test.ts'], ['a.test.ts', 'b.test.ts']],
    ['repeat a file with several failures once', ['a.test.ts', 'a.test.ts'], ['a.test.ts']],
    ['repeat nothing without failures', [], []],
    ['repeat nothing after failures in four files', ['a.test.ts', 'b.test.ts', 'c.test.ts', 'd.test.ts'], []],
    ['repeat nothing if the runner died', ['a.test.ts', 'end-to-end tests'], []],
  ]
  for (const [what, failed, again] of CASES)
    it(what, () => expect(filesToRunAgain(failing(...failed))).to.deep.equal(again))

  it('count a repeated test that passed as one pass', () => {
    const again = { passes: 5, pending: 0, failed: [] }
    expect(afterRunningAgain(failing('a.test.ts'), again)).to.deep.equal({ passes: 11, pending: 1, failed: [] })
  })

  it('count a repeated test that failed as a failure', () => {
    const again = { ...failing('a.test.ts'), passes: 4 }
    expect(afterRunningAgain(failing('a.test.ts'), again)).to.deep.equal(failing('a.test.ts'))
  })
})
