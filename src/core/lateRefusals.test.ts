import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { LateRefusals } from './lateRefusals.ts'

describe('refusals of whoever asks for too much', () => {
  async function told(...waits: Promise<void>[]): Promise<number> {
    let count = 0
    for (const wait of waits) void wait.then(() => (count += 1))
    await new Promise((done) => setImmediate(done))
    return count
  }

  it('come a second late', async () => {
    const clock = new ManualClock()
    const wait = new LateRefusals(clock).wait()
    await clock.advance(999)
    expect(await told(wait)).to.equal(0)
    await clock.advance(1)
    expect(await told(wait)).to.equal(1)
  })

  it('do not wait for a caller that has gone', async () => {
    const refusals = new LateRefusals(new ManualClock())
    const gone = new AbortController()
    const wait = refusals.wait(gone.signal)
    gone.abort()
    expect(await told(wait, refusals.wait(gone.signal))).to.equal(2)
  })

  it('come at once where a thousand wait already', async () => {
    const clock = new ManualClock()
    const refusals = new LateRefusals(clock)
    const waiting = Array.from({ length: 1_000 }, () => refusals.wait())
    expect(await told(...waiting)).to.equal(0)
    expect(await told(refusals.wait())).to.equal(1)
    await clock.advance(1_000)
    expect(await told(...waiting)).to.equal(1_000)
    expect(await told(refusals.wait())).to.equal(0)
  })
})
