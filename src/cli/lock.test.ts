import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { CommandFailure, EXIT } from './failure.ts'
import { withLock } from './lock.ts'

describe('withLock', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-lock-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const failureOf = (path: string) =>
    withLock(path, 0, async () => 'done').then(
      (result) => expect.fail(`it ran: ${result}`),
      (error: unknown) => error as CommandFailure,
    )

  it('returns the result of the work, in a folder that it creates', async () => {
    expect(await withLock(join(folder, 'state', 'login.lock'), 0, async () => 'done')).to.equal('done')
  })

  it('names the file of a folder that cannot be created, as a failure of this machine', async () => {
    await writeFile(join(folder, 'state'), '')
    const path = join(folder, 'state', 'freehold', 'login.lock')
    const failure = await failureOf(path)
    expect(failure).to.be.instanceOf(CommandFailure)
    expect(failure.exitCode).to.equal(EXIT.local)
    expect(failure.message).to.match(new RegExp(`^${path} cannot be written\\. \\(ENOTDIR`))
  })

  it('names a file that cannot be opened', async () => {
    const failure = await failureOf(folder)
    expect(failure.exitCode).to.equal(EXIT.local)
    expect(failure.message).to.match(new RegExp(`^${folder} cannot be written\\.`))
  })
})
