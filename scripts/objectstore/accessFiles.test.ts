import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { AccessEntry } from '../../src/adapters/objectstorage/accessEntry.ts'
import { AccessFiles } from './accessFiles.ts'

const A_YEAR = 365 * 86_400_000
const entry = { Bucket: 'shop', Requester: 'key', HttpStatus: 200 } as AccessEntry

describe('AccessFiles', () => {
  let folder: string
  let objects: string
  let files: AccessFiles
  beforeEach(async () => {
    const home = await mkdtemp(join(tmpdir(), 'freehold-access-'))
    ;[folder, objects] = [join(home, 'access'), join(home, 'objects')]
    for (const each of [folder, join(objects, 'shop')]) await mkdir(each, { recursive: true })
    files = new AccessFiles({ folder, objects, fileBytes: 1_000 })
    await files.append(entry)
  })
  afterEach(() => rm(join(folder, '..'), { recursive: true }))

  it('keeps the log of an existing bucket for a year', async () => {
    await files.sweep(Date.now() + A_YEAR)
    expect(await readdir(folder)).to.deep.equal(['shop_done.jsonl'])
  })

  it('removes the log of a deleted bucket after a year, and does not write it again', async () => {
    await rm(join(objects, 'shop'), { recursive: true })
    await files.sweep(Date.now())
    expect(await readdir(folder)).to.deep.equal(['shop_done.jsonl'])
    await files.sweep(Date.now() + A_YEAR)
    expect(await readdir(folder)).to.deep.equal([])
    await files.append(entry)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('removes the former logs of all buckets after a year', async () => {
    const former = [`${folder}.jsonl`, `${folder}.jsonl.1`]
    for (const file of former) await writeFile(file, '{}')
    const left = async () => (await readdir(join(folder, '..'))).filter((name) => name.includes('jsonl'))
    await files.sweep(Date.now())
    expect(await left()).to.have.length(2)
    await files.sweep(Date.now() + A_YEAR)
    expect(await left()).to.deep.equal([])
  })
})
