import { expect } from 'chai'
import { releaseFeedContract } from '../../../test/suites/releaseFeedContract.ts'
import { type ChartRegistry, startChartRegistry } from '../../../test/worlds/chartRegistry.ts'
import { OutgoingError } from '../outgoing/port.ts'
import { createReleaseFeed } from './client.ts'
import { FakeReleaseFeed } from './fake.ts'
import { mirrorFetch } from './mirror.ts'

describe('FakeReleaseFeed', () => {
  releaseFeedContract(() => {
    const feed = new FakeReleaseFeed()
    return {
      feed,
      push: (...pushed) => feed.push(...pushed),
      away: () => Object.assign(feed, { failure: 'Unreachable' }),
    }
  })
})

describe('createReleaseFeed', () => {
  let registry: ChartRegistry
  beforeEach(async () => {
    registry = await startChartRegistry()
  })
  afterEach(() => registry.stop())
  const feedOf = () =>
    createReleaseFeed({ fetch: mirrorFetch, mirror: { url: `${registry.url}/copies/`, fetch: mirrorFetch } })

  releaseFeedContract(() => ({
    feed: feedOf(),
    push: (_url, ...pushed) => registry.push('copies/shop', ...pushed),
    away: () => Object.assign(registry, { isAway: true }),
  }))

  it('locates charts in the mirror if there is one', () => {
    const host = new URL(registry.url).host
    expect(feedOf().locate('oci://quay.io/a/b/shop')).to.deep.equal({
      ...{ url: `oci://${host}/copies/shop`, isInsecure: true },
    })
    const direct = createReleaseFeed({ fetch: mirrorFetch })
    expect(direct.locate('oci://quay.io/a/shop')).to.deep.equal({ url: 'oci://quay.io/a/shop', isInsecure: false })
  })

  it('returns no release for an image that is not a chart', async () => {
    registry.pushImage('copies/shop', '1.0.0')
    expect(await feedOf().release('oci://quay.io/shop', '1.0.0')).to.equal(undefined)
  })

  it('reports Refused for an address that may not be called', async () => {
    const fetch = () => Promise.reject(new OutgoingError('NotAllowed', 'The address is not allowed: it is inside.'))
    const found = await createReleaseFeed({ fetch })
      .versions('oci://inside.local/a')
      .catch((error) => error)
    expect([found.reason, found.message]).to.deep.equal(['Refused', 'The address is not allowed: it is inside.'])
  })
})
