import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { currentFile } from './currentFile.ts'

describe('a file that is replaced while the process runs', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-file-'))
  })
  after(() => rm(folder, { recursive: true }))

  it('counts as it is now, and as it was while it is missing or empty', async () => {
    const path = join(folder, 'secret')
    await writeFile(path, 'first\n')
    const current = currentFile(path)
    expect(current()).to.equal('first')
    for (const text of ['', ' \n']) {
      await writeFile(path, text)
      expect(current()).to.equal('first')
    }
    await rm(path)
    expect(current()).to.equal('first')
    await writeFile(path, 'second\n')
    expect(current()).to.equal('second')
    await writeFile(path, '')
    expect(current()).to.equal('second')
  })
})
