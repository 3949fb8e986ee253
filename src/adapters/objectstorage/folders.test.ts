import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { storeFolders } from './folders.ts'

describe('storeFolders', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'store-'))
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  async function fill(bucket: string, parts = ['objects', 'versions', 'metadata']) {
    for (const part of parts) {
      await mkdir(join(root, part, bucket, 'p/q'), { recursive: true })
      const folder = Buffer.concat([Buffer.from(join(root, part, bucket, '/')), Buffer.of(0xff, 0xfe)])
      await mkdir(folder, { recursive: true })
      await writeFile(Buffer.concat([folder, Buffer.of(0x2f, 0x80, 0x01)]), 'x')
    }
  }
  const content = async () =>
    Object.fromEntries(
      await Promise.all(
        (await readdir(root)).sort().map(async (name) => [name, (await readdir(join(root, name))).sort()] as const),
      ),
    )

  it('removes a bucket whose file names are any bytes, and keeps the others', async () => {
    for (const bucket of ['acc.one', 'acc.one2', 'acc.two']) await fill(bucket)
    const folders = storeFolders(root)
    expect(await folders.has('acc.one')).to.equal(true)
    await folders.remove('acc.one', 'owner-1')
    expect(await folders.has('acc.one')).to.equal(false)
    const others = ['acc.one2', 'acc.two']
    expect(await content()).to.deep.equal({ metadata: others, objects: others, removed: [], versions: others })
  })

  it('removes a bucket without versions and metadata', async () => {
    await fill('one', ['objects'])
    await storeFolders(root).remove('one', 'owner-1')
    expect(await content()).to.deep.equal({ objects: [], removed: [] })
  })

  it('does not follow symbolic links', async () => {
    await mkdir(join(root, 'elsewhere'))
    await writeFile(join(root, 'elsewhere/kept'), 'x')
    await fill('one')
    await symlink(join(root, 'elsewhere'), join(root, 'objects/one/link'))
    await storeFolders(root).remove('one', 'owner-1')
    expect(await readdir(join(root, 'elsewhere'))).to.deep.equal(['kept'])
  })

  for (const [when, moved] of [
    ['before anything was moved', []],
    ['after the objects were moved', ['objects']],
    ['after the versions were moved', ['objects', 'versions']],
    ['after everything was moved', ['objects', 'versions', 'metadata']],
  ] as const)
    it(`completes a removal that was interrupted ${when}`, async () => {
      await fill('one')
      const place = join(root, 'removed/one_owner-1')
      await mkdir(place, { recursive: true })
      for (const part of moved) await rename(join(root, part, 'one'), join(place, part))
      const folders = storeFolders(root)
      expect(await folders.isLeaving('one', 'owner-1')).to.equal(true)
      expect(await folders.isLeaving('one', 'owner-2'), "another owner's bucket").to.equal(false)
      await folders.remove('one', 'owner-1')
      expect(await folders.isLeaving('one', 'owner-1')).to.equal(false)
      expect(await content()).to.deep.equal({ metadata: [], objects: [], removed: [], versions: [] })
    })

  for (const name of ['', '.', '..', '../one', 'a/b', 'a..b', 'a\0b', 'One', '-one', 'one_two', 'a\\b'])
    it(`rejects an invalid bucket name: ${JSON.stringify(name)}`, async () => {
      await fill('one')
      const before = await content()
      const folders = storeFolders(root)
      for (const call of [
        () => folders.has(name),
        () => folders.remove(name, 'owner-1'),
        () => folders.remove('one', name),
        () => folders.isLeaving(name, 'owner-1'),
      ])
        expect(await call().catch((error: Error) => error.message)).to.contain('is no name')
      expect(await content()).to.deep.equal(before)
    })
})
