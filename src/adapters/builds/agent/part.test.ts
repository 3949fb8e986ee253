import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { endOfOwn } from '../../../../test/make/ownProcess.ts'
import { BuildRefusal } from '../../../contracts/builds/files.ts'
import type { BuildFailure } from '../../../contracts/builds/progress.ts'
import { buildPathsUnder } from './buildPaths.ts'
import { runPart } from './part.ts'

describe('runPart', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'freehold-part-'))
    mkdirSync(join(root, 'dev'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  const endOf = async (failure: BuildFailure) => {
    const source = () => Promise.reject(new BuildRefusal(failure, 'It failed.'))
    const status = await runPart('source', buildPathsUnder(root), { source })
    return [status, JSON.parse(readFileSync(join(root, 'dev/termination-log'), 'utf8'))]
  }

  it('exits with 1 and a termination message if the source is the cause', async () =>
    expect(await endOf('CommandFailed')).to.deep.equal([1, { failure: 'CommandFailed', message: 'It failed.' }]))

  it('exits with 70 and a termination message if the builder is the cause', async () =>
    expect(await endOf('BuilderFailed')).to.deep.equal([70, { failure: 'BuilderFailed', message: 'It failed.' }]))

  it('exits with 70 if the program itself fails', () => {
    const program = join(import.meta.dirname, 'main.ts')
    const { status, stderr } = endOfOwn([program, 'source', root])
    expect(status, stderr).to.equal(70)
    expect(stderr).to.include('order.json')
  })
})
