import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { afterRunningAgain, filesToRunAgain, type Outcome, runMocha } from './mocha.ts'

const root = join(import.meta.dirname, '../..')

describe('what a run of mocha leaves to be told', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'freehold-mocha-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const played = async (name: string, text: string, options: string[] = []) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    // Held back, so that what fails on purpose is not told as if it failed here.
    const write = process.stdout.write
    process.stdout.write = () => true
    try {
      const result = await runMocha({ title: 'played', files: [file], options, isHeldBack: true })
      return { file: relative(root, file), result }
    } finally {
      process.stdout.write = write
    }
  }
  const broken =
    "describe('a door', () => { it('opens'); it('shuts', () => { throw new Error('It is stuck.\\nLine 2') }) })"

  for (const options of [[], ['--parallel', '--jobs=2']])
    it(`names the file, the title and the first line of a failure${options.length > 0 ? ', of files side by side too' : ''}`, async () => {
      const { file, result } = await played('broken.test.mjs', broken, options)
      expect(result.failed).to.deep.equal([{ file, title: 'a door shuts', reason: 'It is stuck.' }])
      expect(result).to.include({ passes: 0, pending: 1 })
    })

  it('names a hook that failed', async () => {
    const { file, result } = await played(
      'hook.test.mjs',
      "describe('a door', () => { before(() => { throw new Error('No hinge.') }); it('shuts', () => {}) })",
    )
    const title = 'a door "before all" hook for "shuts"'
    expect(result.failed).to.deep.equal([{ file, title, reason: 'No hinge.' }])
  })

  it('counts a process that died as a failure, whatever it had counted before', async () => {
    const { result } = await played('died.test.mjs', "it('goes', () => {}); after(() => process.exit(7))")
    expect(result.failed).to.deep.equal([{ file: 'played', title: 'all of it', reason: 'Mocha ended with status 7.' }])
  })
})

describe('what failed', () => {
  const failing = (...files: string[]): Outcome => ({
    passes: 10,
    pending: 1,
    failed: files.map((file) => ({ file, title: `of ${file}`, reason: 'Too late.' })),
  })

  const CASES: [what: string, failed: string[], again: string[]][] = [
    ['runs again, file by file', ['a.test.ts', 'b.test.ts'], ['a.test.ts', 'b.test.ts']],
    ['runs again once where several tests of a file failed', ['a.test.ts', 'a.test.ts'], ['a.test.ts']],
    ['does not run again where nothing did', [], []],
    ['does not run again where much did', ['a.test.ts', 'b.test.ts', 'c.test.ts', 'd.test.ts'], []],
    ['does not run again where the runner died', ['a.test.ts', 'end-to-end tests'], []],
  ]
  for (const [what, failed, again] of CASES)
    it(what, () => expect(filesToRunAgain(failing(...failed))).to.deep.equal(again))

  it('counts as passed once if it passed then', () => {
    const again = { passes: 5, pending: 0, failed: [] }
    expect(afterRunningAgain(failing('a.test.ts'), again)).to.deep.equal({ passes: 11, pending: 1, failed: [] })
  })

  it('counts as failed if it failed then too', () => {
    const again = { ...failing('a.test.ts'), passes: 4 }
    expect(afterRunningAgain(failing('a.test.ts'), again)).to.deep.equal(failing('a.test.ts'))
  })
})
