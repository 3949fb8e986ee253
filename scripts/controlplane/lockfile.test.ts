import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { holderOf, tryLock } from './lockfile.ts'

describe('tryLock', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-lock-'))
    path = join(folder, 'lock')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('succeeds once for 20 concurrent callers, and leaves only the lock file', async () => {
    const taken = await Promise.all(Array.from({ length: 20 }, () => tryLock(path)))
    expect(taken.filter((release) => release !== undefined)).to.have.length(1)
    expect((await holderOf(path))?.pid).to.equal(process.pid)
    expect(await readdir(folder)).to.deep.equal(['lock'])
  })

  it('succeeds again after a release', async () => {
    const release = await tryLock(path)
    await release?.()
    expect(await holderOf(path)).to.equal(undefined)
    expect(await tryLock(path)).to.be.a('function')
  })

  const dead: [string, string][] = [
    ['of a dead process', JSON.stringify({ pid: process.pid, identity: 'another boot:1' })],
    ['with truncated content', '{"pid": 1'],
    ['without content', ''],
  ]
  for (const [title, content] of dead) {
    it(`takes over a lock file ${title} for one of 20 callers`, async () => {
      await writeFile(path, content)
      const taken = await Promise.all(Array.from({ length: 20 }, () => tryLock(path)))
      expect(taken.filter((release) => release !== undefined)).to.have.length(1)
    })
  }
})
