import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { runMocha } from './mocha.ts'

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
