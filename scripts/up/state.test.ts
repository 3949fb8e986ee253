import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { forgetData } from './state.ts'

describe('the data of earlier runs', () => {
  it('is forgotten whole: repositories and mails too, and nothing of others', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-data-'))
    try {
      for (const name of ['etcd', 'githost', 'mails', 'objectstore', 'registry', 'photos']) {
        await mkdir(join(folder, name))
        await writeFile(join(folder, name, 'content'), 'x')
      }
      await forgetData(folder)
      expect(await readdir(folder)).to.deep.equal(['photos'])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
