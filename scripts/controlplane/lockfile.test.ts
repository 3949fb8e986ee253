import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { holderOf, tryLock } from './lockfile.ts'

describe('a lock file', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-lock-'))
    path = join(folder, 'lock')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('is held by one of many who want it at once, and leaves nothing else behind', async () => {
    const taken = await Promise.all(Array.from({ length: 20 }, () => tryLock(path)))
    expect(taken.filter((release) => release !== undefined)).to.have.length(1)
    expect((await holderOf(path))?.pid).to.equal(process.pid)
    expect(await readdir(folder)).to.deep.equal(['lock'])
  })

  it('can be taken again when it was given up', async () => {
    const release = await tryLock(path)
    await release?.()
    expect(await holderOf(path)).to.equal(undefined)
    expect(await tryLock(path)).to.be.a('function')
  })

  const dead: [string, string][] = [
    ['whose holder is gone', JSON.stringify({ pid: process.pid, identity: 'another boot:1' })],
    ['that was cut off', '{"pid": 1'],
    ['that is empty', ''],
  ]
  for (const [title, content] of dead) {
    it(`${title} is taken over by one of many`, async () => {
      await writeFile(path, content)
      const taken = await Promise.all(Array.from({ length: 20 }, () => tryLock(path)))
      expect(taken.filter((release) => release !== undefined)).to.have.length(1)
    })
  }
})
