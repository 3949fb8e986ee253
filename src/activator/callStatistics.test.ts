import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { CALL_SAMPLES_MAX } from '../contracts/functionCalls.ts'
import { CallStatistics } from './callStatistics.ts'

const NOON = Date.UTC(2026, 10, 22, 12)
const SECOND = NOON / 1000
const quick = { milliseconds: 10, isError: false, wasCold: false }

describe('CallStatistics', () => {
  const start = (epoch = NOON) => {
    const clock = new ManualClock(epoch)
    return { clock, figures: new CallStatistics(clock) }
  }

  it('covers the time since its creation, in whole seconds, to the current second', async () => {
    const { clock, figures } = start(NOON + 7_400)
    await clock.advance(60_000)
    const { since, until, buckets } = figures.of('a/b.c')
    expect([since - SECOND, until - SECOND, buckets]).to.deep.equal([7, 68, []])
  })

  it('counts in buckets of 15 seconds, separately for each function', async () => {
    const { clock, figures } = start()
    figures.called('a/b.c', quick)
    figures.called('a/b.c', { milliseconds: 20.06, isError: true, wasCold: true })
    figures.throttled('a/b.c')
    await clock.advance(15_000)
    figures.called('a/b.c', quick)
    figures.called('a/b.other', quick)
    const nothing = { errors: 0, throttles: 0, coldStarts: 0 }
    expect(figures.of('a/b.c').buckets).to.deep.equal([
      { at: SECOND, invocations: 2, errors: 1, throttles: 1, coldStarts: 1, durations: [10, 20.1] },
      { at: SECOND + 15, invocations: 1, ...nothing, durations: [10] },
    ])
  })

  for (const [which, random, durations] of [
    ['a later one in the place of an earlier one', 0, [20, ...Array(CALL_SAMPLES_MAX - 1).fill(10)]],
    ['not every later one', 0.999, Array(CALL_SAMPLES_MAX).fill(10)],
  ] as const)
    it(`samples ${which}`, () => {
      const figures = new CallStatistics(new ManualClock(NOON), () => random)
      for (let call = 0; call < CALL_SAMPLES_MAX; call += 1) figures.called('a/b.c', quick)
      figures.called('a/b.c', { ...quick, milliseconds: 20 })
      expect(figures.of('a/b.c').buckets[0]?.durations).to.deep.equal(durations)
    })

  it('counts 1000 calls of a bucket, with at most 256 durations', () => {
    const { figures } = start()
    for (let call = 0; call < 1000; call += 1) figures.called('a/b.c', quick)
    const [bucket] = figures.of('a/b.c').buckets
    expect([bucket?.invocations, bucket?.durations.length]).to.deep.equal([1000, 256])
  })

  it('keeps buckets for 61 minutes, and not longer', async () => {
    const { clock, figures } = start()
    figures.called('a/b.c', quick)
    await clock.advance(3660_000)
    expect([figures.of('a/b.c').since - SECOND, figures.of('a/b.c').buckets.length]).to.deep.equal([0, 1])
    await clock.advance(15_000)
    expect([figures.of('a/b.c').since - SECOND, figures.of('a/b.c').buckets.length]).to.deep.equal([15, 0])
  })

  it('returns at most 245 buckets', async () => {
    const { clock, figures } = start()
    for (let step = 0; step < 300; step += 1) {
      figures.called('a/b.c', quick)
      await clock.advance(15_000)
    }
    const { buckets } = figures.of('a/b.c')
    expect(buckets.length).to.equal(244)
    figures.called('a/b.c', quick)
    expect(figures.of('a/b.c').buckets.length).to.equal(245)
  })

  it('forgets a function', () => {
    const { figures } = start()
    figures.called('a/b.c', quick)
    figures.called('a/b.other', quick)
    figures.forget('a/b.c')
    expect([figures.of('a/b.c').buckets.length, figures.of('a/b.other').buckets.length]).to.deep.equal([0, 1])
  })

  it('drops a call that ends after its function was forgotten', async () => {
    const { clock, figures } = start()
    figures.forget('a/b.c')
    figures.called('a/b.c', quick)
    await clock.advance(3_700_000)
    figures.called('a/b.other', quick)
    expect(figures.size).to.equal(1)
  })
})
