import { expect } from 'chai'
import { ManualClock, settle } from '../../../test/make/clock.ts'
import { TokenBucket } from './limits.ts'
import { UnauthenticatedRequests } from './unauthenticatedRequests.ts'

describe('UnauthenticatedRequests', () => {
  let clock: ManualClock
  let requests: UnauthenticatedRequests
  let most: number
  beforeEach(() => {
    clock = new ManualClock()
    // A burst of 3, then 1 a second.
    requests = new UnauthenticatedRequests(new TokenBucket({ perSecond: 1, burst: 3 }), () => clock.monotonic())
    most = 0
  })

  /** Sends so many requests at once, each checked for a turn of the event loop. @returns how many were checked */
  async function send(count: number, isProved: (at: number) => boolean, key = 'a') {
    let inFlight = 0
    const one = async (at: number) => {
      const wait = await requests.begin(key)
      if (wait !== undefined) return 'refused'
      inFlight += 1
      most = Math.max(most, inFlight)
      await settle()
      inFlight -= 1
      requests.end(key, isProved(at))
      return 'checked'
    }
    const outcomes = await Promise.all(Array.from({ length: count }, (_, at) => one(at)))
    return outcomes.filter((what) => what === 'checked').length
  }

  it('admits all 50 proved requests, at most 3 at a time', async () => {
    expect(await send(50, () => true)).to.equal(50)
    expect(most).to.equal(3)
    expect(await send(50, () => true)).to.equal(50)
  })

  it('admits 3 unproved requests and refuses the rest until the rate allows more', async () => {
    expect(await send(50, () => false)).to.equal(3)
    expect(await send(1, () => true)).to.equal(0)
    await clock.advance(2_000)
    expect(await send(50, () => false)).to.equal(2)
  })

  it('admits proved requests beside 2 forged ones', async () => {
    expect(await send(50, (at) => at !== 1 && at !== 3)).to.equal(50)
    expect(most).to.equal(3)
    expect(await send(50, () => false)).to.equal(1)
  })

  it('counts each address separately', async () => {
    await send(50, () => false)
    expect(await send(50, () => true, 'b')).to.equal(50)
  })

  it('returns the milliseconds until the next request may come', async () => {
    await send(3, () => false)
    expect(await requests.begin('a')).to.equal(1_000)
  })

  it('limits waiting requests to 1000, and refuses them once the rate is used up', async () => {
    const [first] = await Promise.all([requests.begin('a'), requests.begin('a'), requests.begin('a')])
    expect(first).to.equal(undefined)
    const waiting = Array.from({ length: 1_000 }, () => requests.begin('a'))
    expect(await requests.begin('a')).to.equal(1_000)
    for (let count = 0; count < 3; count += 1) requests.end('a', false)
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set([1_000]))
  })
})
