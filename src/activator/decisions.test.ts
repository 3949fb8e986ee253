import { expect } from 'chai'
import {
  admit,
  chooseCopy,
  copiesNeeded,
  type Limits,
  MAX_WAITING_CALLS,
  nextScale,
  type Scale,
  settledScale,
} from './decisions.ts'

const limits = (given: Partial<Limits> = {}): Limits => ({
  concurrency: 10,
  minReplicas: 0,
  maxReplicas: 5,
  idle: 60_000,
  enabled: true,
  ...given,
})

describe('copiesNeeded', () => {
  const cases: [sentence: string, inFlight: number, waiting: number, given: Partial<Limits>, expected: number][] = [
    ['is 0 without calls', 0, 0, {}, 0],
    ['is 1 for the first call', 0, 1, {}, 1],
    ['is 1 for as many calls as one copy serves', 4, 6, {}, 1],
    ['is 2 for one call more', 5, 6, {}, 2],
    ['is maxReplicas for more calls than they serve', 0, 500, {}, 5],
    ['is 1 for each call with a concurrency of 1', 1, 2, { concurrency: 1 }, 3],
    ['is 0 for a disabled function', 3, 3, { enabled: false }, 0],
  ]
  for (const [sentence, inFlight, waiting, given, expected] of cases) {
    it(sentence, () => expect(copiesNeeded({ inFlight, waiting }, limits(given))).to.equal(expected))
  }
})

describe('nextScale', () => {
  const cases: [sentence: string, before: Scale, needed: number, given: Partial<Limits>, expected: unknown][] = [
    ['scales up at once', settledScale(0), 3, {}, [3, undefined]],
    ['scales up to minReplicas', settledScale(0), 0, { minReplicas: 2 }, [2, undefined]],
    ['keeps the scale while it is needed', settledScale(2), 2, {}, [2, undefined]],
    ['waits for the idle time before it scales down', settledScale(3), 0, {}, [3, 160_000, 0]],
    [
      'counts the idle time from when fewer copies sufficed',
      { desired: 3, peak: 1, lowSince: 80_000 },
      0,
      {},
      [3, 140_000, 1],
    ],
    ['scales to zero after the idle time', { desired: 1, peak: 0, lowSince: 40_000 }, 0, {}, [0, undefined]],
    ['scales down to the peak of the idle time', { desired: 5, peak: 2, lowSince: 40_000 }, 1, {}, [2, 160_000, 1]],
    ['scales down to minReplicas', { desired: 3, peak: 0, lowSince: 0 }, 0, { minReplicas: 1 }, [1, undefined]],
    ['resets the idle time when all copies are needed', { desired: 2, peak: 1, lowSince: 0 }, 2, {}, [2, undefined]],
    [
      'scales a disabled function to zero at once',
      settledScale(4),
      0,
      { enabled: false, minReplicas: 2 },
      [0, undefined],
    ],
  ]
  for (const [sentence, before, needed, given, expected] of cases) {
    it(sentence, () => {
      const { scale, checkAt: lookAt } = nextScale(before, needed, limits(given), 100_000)
      const lookedAt = lookAt === undefined ? [lookAt] : [lookAt, scale.peak]
      expect([scale.desired, ...lookedAt]).to.deep.equal(expected)
      expect(scale).to.deep.equal(
        lookAt === undefined
          ? settledScale(scale.desired)
          : { desired: scale.desired, peak: scale.peak, lowSince: lookAt - 60_000 },
      )
    })
  }
})

describe('chooseCopy', () => {
  const copies = [
    { address: 'a', inFlight: 2 },
    { address: 'b', inFlight: 1 },
    { address: 'c', inFlight: 3 },
  ]
  it('returns the copy with the fewest calls', () => expect(chooseCopy(copies, 3)?.address).to.equal('b'))
  it('returns the first of several', () =>
    expect(chooseCopy([...copies, { address: 'd', inFlight: 1 }], 3)?.address).to.equal('b'))
  it('returns undefined if all copies are full', () => expect(chooseCopy(copies, 1)).to.equal(undefined))
  it('returns undefined without copies', () => expect(chooseCopy([], 1)).to.equal(undefined))
})

describe('admit', () => {
  it('returns wait for a call that can be queued', () => expect(admit({ waiting: 999 }, limits())).to.equal('wait'))
  it('returns refuse if the queue is full', () =>
    expect(admit({ waiting: MAX_WAITING_CALLS }, limits())).to.equal('refuse'))
  it('returns disabled for a disabled function', () =>
    expect(admit({ waiting: 0 }, limits({ enabled: false }))).to.equal('disabled'))
})
