import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { TimeShare } from './timeShare.ts'

describe('TimeShare', () => {
  it('lets work take its share of the time, after a burst', async () => {
    const clock = new ManualClock()
    const share = new TimeShare(clock, 0.2)
    let done = 0
    const work = async () => {
      while (done < 20) {
        done += 1
        await share.spend(10)
      }
    }
    void work()
    await clock.advance(0)
    expect(done, 'at once: 100 ms').to.equal(11)
    await clock.advance(49)
    expect(done).to.equal(11)
    await clock.advance(101)
    expect(done, 'one in 50 ms').to.equal(14)
  })

  it('never makes work wait that is below its share', async () => {
    const clock = new ManualClock()
    const share = new TimeShare(clock, 0.2)
    for (let count = 0; count < 100; count += 1) {
      expect(share.spend(10)).to.equal(undefined)
      await clock.advance(50)
    }
  })
})
