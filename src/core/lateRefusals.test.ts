import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { LateRefusals } from './lateRefusals.ts'

describe('LateRefusals', () => {
  async function resolvedCount(...waits: Promise<void>[]): Promise<number> {
    let count = 0
    for (const wait of waits) void wait.then(() => (count += 1))
    await new Promise((done) => setImmediate(done))
    return count
  }

  it('delays a refusal by one second', async () => {
    const clock = new ManualClock()
    const wait = new LateRefusals(clock).wait()
    await clock.advance(999)
    expect(await resolvedCount(wait)).to.equal(0)
    await clock.advance(1)
    expect(await resolvedCount(wait)).to.equal(1)
  })

  it('ends the delay when the caller disconnects', async () => {
    const refusals = new LateRefusals(new ManualClock())
    const aborting = new AbortController()
    const wait = refusals.wait(aborting.signal)
    aborting.abort()
    expect(await resolvedCount(wait, refusals.wait(aborting.signal))).to.equal(2)
  })

  it('refuses without a delay if 1,000 callers already wait', async () => {
    const clock = new ManualClock()
    const refusals = new LateRefusals(clock)
    const waiting = Array.from({ length: 1_000 }, () => refusals.wait())
    expect(await resolvedCount(...waiting)).to.equal(0)
    expect(await resolvedCount(refusals.wait())).to.equal(1)
    await clock.advance(1_000)
    expect(await resolvedCount(...waiting)).to.equal(1_000)
    expect(await resolvedCount(refusals.wait())).to.equal(0)
  })
})
