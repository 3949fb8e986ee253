import { expect } from 'chai'
import { ManualClock, settle } from '../../../test/make/clock.ts'
import { CallerThrottle } from './callerThrottle.ts'

/** 10 a second, bursts of 5. */
function paced(longest = 2_000) {
  const clock = new ManualClock()
  const pace = new CallerThrottle({ perSecond: 10, burst: 5, longest }, clock)
  const done: string[] = []
  const take = (key: string) => {
    const turn = pace.take(key)
    if (turn === undefined) done.push(key)
    else void turn.then(() => done.push(key))
  }
  return { clock, take, done, countOf: (key: string) => done.filter((other) => other === key).length }
}

describe('CallerThrottle', () => {
  it('passes a burst of 5 at once and the rest at 10 a second', async () => {
    const { clock, take, countOf } = paced()
    for (let at = 0; at < 20; at += 1) take('anna')
    expect(countOf('anna')).to.equal(5)
    await clock.advance(500)
    expect(countOf('anna')).to.equal(10)
    await clock.advance(1_000)
    expect(countOf('anna')).to.equal(20)
  })

  it('delays no other caller', async () => {
    const { take, countOf } = paced()
    for (let at = 0; at < 20; at += 1) take('anna')
    take('ben')
    expect(countOf('ben')).to.equal(1)
  })

  it('delays no request longer than `longest`, and forgives the excess', async () => {
    const { clock, take, countOf } = paced(1_000)
    for (let at = 0; at < 1_000; at += 1) take('anna')
    await clock.advance(1_000)
    expect(countOf('anna')).to.equal(1_000)
    await clock.advance(1_500)
    take('anna')
    expect(countOf('anna')).to.equal(1_001)
  })

  it('restores the burst, and no more, after a minute without requests', async () => {
    const { clock, take, countOf } = paced()
    take('anna')
    await clock.advance(60_000)
    for (let at = 0; at < 10; at += 1) take('anna')
    await settle()
    expect(countOf('anna')).to.equal(6)
  })
})
