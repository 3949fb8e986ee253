import { expect } from 'chai'
import { ManualClock, settle } from '../../../test/make/clock.ts'
import { TokenBucket } from './limits.ts'
import { UnauthenticatedRequests } from './unauthenticatedRequests.ts'

describe('requests that may show who sends them', () => {
  let clock: ManualClock
  let requests: UnauthenticatedRequests
  let most: number
  beforeEach(() => {
    clock = new ManualClock()
    // Three at once, then one a second.
    requests = new UnauthenticatedRequests(new TokenBucket({ perSecond: 1, burst: 3 }), () => clock.monotonic())
    most = 0
  })

  /** So many at once, each of which is looked at for a turn. */
  async function send(count: number, isProved: (at: number) => boolean, key = 'a') {
    let underway = 0
    const one = async (at: number) => {
      const wait = await requests.begin(key)
      if (wait !== undefined) return 'refused'
      underway += 1
      most = Math.max(most, underway)
      await settle()
      underway -= 1
      requests.end(key, isProved(at))
      return 'looked at'
    }
    const said = await Promise.all(Array.from({ length: count }, (_, at) => one(at)))
    return said.filter((what) => what === 'looked at').length
  }

  it('all come through if all show it, and no more together than there may be at once', async () => {
    expect(await send(50, () => true)).to.equal(50)
    expect(most).to.equal(3)
    expect(await send(50, () => true)).to.equal(50)
  })

  it('use up what there is if none shows it, and the rest is refused', async () => {
    expect(await send(50, () => false)).to.equal(3)
    expect(await send(1, () => true)).to.equal(0)
    await clock.advance(2_000)
    expect(await send(50, () => false)).to.equal(2)
  })

  it('come through between forged ones as long as those have not used it up', async () => {
    expect(await send(50, (at) => at !== 1 && at !== 3)).to.equal(50)
    expect(most).to.equal(3)
    expect(await send(50, () => false)).to.equal(1)
  })

  it('of one address take nothing of another', async () => {
    await send(50, () => false)
    expect(await send(50, () => true, 'b')).to.equal(50)
  })

  it('hear how long they have to wait', async () => {
    await send(3, () => false)
    expect(await requests.begin('a')).to.equal(1_000)
  })

  it('do not wait without bound', async () => {
    const [first] = await Promise.all([requests.begin('a'), requests.begin('a'), requests.begin('a')])
    expect(first).to.equal(undefined)
    const waiting = Array.from({ length: 1_000 }, () => requests.begin('a'))
    expect(await requests.begin('a')).to.equal(1_000)
    for (let count = 0; count < 3; count += 1) requests.end('a', false)
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set([1_000]))
  })
})
