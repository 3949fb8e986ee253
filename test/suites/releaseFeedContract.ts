import { expect } from 'chai'
import { FeedError, type ReleaseFeed } from '../../src/adapters/releases/port.ts'

export type FeedUnderTest = {
  feed: ReleaseFeed
  push(url: string, version: string, annotations?: Readonly<Record<string, string>>, isSigned?: boolean): void
  /** From then on it does not answer. */
  away(): void
}

/** What the controllers rely on, for registries in memory and real protocols. */
export function releaseFeedContract(start: () => Promise<FeedUnderTest> | FeedUnderTest): void {
  const url = 'oci://charts.example.com/team/shop'
  let under: FeedUnderTest
  beforeEach(async () => {
    under = await start()
  })

  it('returns nothing for a missing repository', async () => {
    expect(await under.feed.versions(url)).to.deep.equal([])
    expect(await under.feed.release(url, '1.0.0')).to.equal(undefined)
  })

  it('lists versions, newest first, and skips other tags', async () => {
    for (const tag of ['1.9.0', '1.10.0', 'latest', '1.10.0-rc.1', 'v2.0.0']) under.push(url, tag)
    expect(await under.feed.versions(url)).to.deep.equal(['v2.0.0', '1.10.0', '1.10.0-rc.1', '1.9.0'])
  })

  it('returns annotations, digest and signature of a version', async () => {
    under.push(url, '1.20.0', { 'lifecycle.freehold.dev/pins': 'a=1.0.0' }, true)
    under.push(url, '1.21.0')
    const release = await under.feed.release(url, '1.20.0')
    expect(release).to.include({ version: '1.20.0', isSigned: true })
    expect(release?.annotations).to.include({ 'lifecycle.freehold.dev/pins': 'a=1.0.0' })
    expect(release?.digest).to.match(/^sha256:[0-9a-f]{64}$/)
    expect(await under.feed.release(url, '1.21.0')).to.include({ isSigned: false })
  })

  it('throws Unreachable if the registry does not answer', async () => {
    under.push(url, '1.0.0')
    under.away()
    const error = await under.feed.versions(url).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(FeedError).and.include({ reason: 'Unreachable' })
  })
}
