import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ImageRegistry } from '../../src/adapters/registry/port.ts'

/** An image as a client pushes it: a layer with this text. @returns the digest of its manifest */
export type PushImage = (repository: string, tag: string | undefined, text: string) => Promise<string> | string

/** What every registry must do, the fake and the real one alike. */
export function imageRegistryContract(open: () => { registry: ImageRegistry; push: PushImage }) {
  let registry: ImageRegistry
  let push: PushImage
  let repository: string
  beforeEach(() => {
    const opened = open()
    registry = opened.registry
    push = opened.push
    repository = `${randomUUID()}/group/containerinstances/web`
  })

  it('returns nothing for an empty repository', async () => {
    expect(await registry.tags(repository)).to.deep.equal([])
    expect(await registry.manifest(repository, 'latest')).to.equal(undefined)
    expect(await registry.digestOf(repository, 'latest')).to.equal(undefined)
    expect(await registry.digests(repository)).to.deep.equal([])
    expect(await registry.repositories()).not.to.include(repository)
  })

  it('returns a pushed image by tag and by digest', async () => {
    const digest = await push(repository, 'v1', 'one')
    expect(await registry.repositories()).to.include(repository)
    expect(await registry.tags(repository)).to.deep.equal(['v1'])
    expect(await registry.digestOf(repository, 'v1')).to.equal(digest)
    const byTag = await registry.manifest(repository, 'v1')
    expect(byTag).to.deep.include({ digest, references: [] })
    expect(byTag?.sizeBytes).to.be.greaterThan(3)
    expect(await registry.manifest(repository, digest)).to.deep.equal(byTag)
    const details = await registry.details(repository, byTag?.configuration ?? '')
    expect(details.platform).to.equal('linux/amd64')
  })

  it('lists the repositories of a folder, and none whose name only begins alike', async () => {
    const boundary = randomUUID()
    const own = [`${boundary}/shop/apps/web`, `${boundary}/shop/jobs/report`]
    const others = ['shop-a/apps/web', 'shop0/apps/web', 'sho/apps/web', 'tea/apps/web'].map(
      (end) => `${boundary}/${end}`,
    )
    for (const name of [...others, ...own]) await push(name, 'v1', 'one')
    expect((await registry.repositories(`${boundary}/shop`)).sort()).to.deep.equal(own)
    expect(await registry.repositories(`${boundary}/tea`)).to.deep.equal([`${boundary}/tea/apps/web`])
    expect(await registry.repositories(`${boundary}/none`)).to.deep.equal([])
  })

  it('keeps a manifest whose tag was moved', async () => {
    const first = await push(repository, 'v1', 'one')
    const second = await push(repository, 'v1', 'two')
    expect(await registry.digestOf(repository, 'v1')).to.equal(second)
    expect(await registry.digests(repository)).to.have.members([first, second])
    expect((await registry.manifest(repository, first))?.digest).to.equal(first)
  })

  it('removes a manifest with its tags, idempotently, and no other one', async () => {
    const [first, second] = [await push(repository, 'v1', 'one'), await push(repository, 'v2', 'two')]
    await registry.remove(repository, first)
    await registry.remove(repository, first)
    expect(await registry.tags(repository)).to.deep.equal(['v2'])
    expect(await registry.manifest(repository, first)).to.equal(undefined)
    expect((await registry.manifest(repository, 'v2'))?.digest).to.equal(second)
    expect(await registry.digests(repository)).to.deep.equal([second])
  })

  it('measures the data of a folder, each layer once, and until it is swept', async () => {
    const boundary = repository.split('/')[0] ?? ''
    expect(await registry.bytesOf(boundary)).to.equal(0)
    const gone = await push(repository, 'v1', 'one')
    const one = (await registry.bytesOf(boundary)) ?? 0
    expect(one).to.be.greaterThan(3)
    await push(repository, 'again', 'one')
    expect(await registry.bytesOf(boundary)).to.equal(one)
    await push(repository, 'v2', 'two')
    expect(await registry.bytesOf(boundary)).to.be.greaterThan(one)
    await registry.remove(repository, gone)
    await registry.sweep({ busy: new Set(), before: Date.now() + 60_000 })
    expect(await registry.bytesOf(boundary)).to.be.within(1, one + 20)
    expect(await registry.bytesOf(randomUUID())).to.equal(0)
  })

  it('sweeps unused blobs, except in busy repositories and new ones', async () => {
    const [gone, kept] = [await push(repository, 'v1', 'one'), await push(repository, 'v2', 'two')]
    await registry.remove(repository, gone)
    const later = Date.now() + 60_000
    expect(await registry.sweep({ busy: new Set(), before: 0 })).to.deep.equal({ freedBytes: 0 })
    await registry.sweep({ busy: new Set([...(await registry.repositories())]), before: later })
    const swept = await registry.sweep({ busy: new Set(), before: later })
    expect(swept?.freedBytes).to.be.greaterThan(3)
    expect((await registry.manifest(repository, kept))?.digest).to.equal(kept)
    expect(await registry.sweep({ busy: new Set(), before: later })).to.deep.equal({ freedBytes: 0 })
  })
}
