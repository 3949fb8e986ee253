import { expect } from 'chai'
import { admit, chooseCopy, copiesNeeded, type Limits, MAX_WAITING_CALLS, nextScale, type Scale } from './decisions.ts'

const limits = (given: Partial<Limits> = {}): Limits => ({
  concurrency: 10,
  minReplicas: 0,
  maxReplicas: 5,
  idle: 60_000,
  enabled: true,
  ...given,
})

describe('the copies that calls need', () => {
  const cases: [sentence: string, inFlight: number, waiting: number, given: Partial<Limits>, expected: number][] = [
    ['none while nobody calls', 0, 0, {}, 0],
    ['one for the first call', 0, 1, {}, 1],
    ['one for as many as it serves at once', 4, 6, {}, 1],
    ['another for one call more', 5, 6, {}, 2],
    ['never more than allowed', 0, 500, {}, 5],
    ['one for each call if it serves one at once', 1, 2, { concurrency: 1 }, 3],
    ['none if it is switched off', 3, 3, { enabled: false }, 0],
  ]
  for (const [sentence, inFlight, waiting, given, expected] of cases) {
    it(sentence, () => expect(copiesNeeded({ inFlight, waiting }, limits(given))).to.equal(expected))
  }
})

describe('the scale of a function', () => {
  const settled = (desired: number): Scale => ({ desired, peak: 0, lowSince: undefined })
  const cases: [sentence: string, before: Scale, needed: number, given: Partial<Limits>, expected: unknown][] = [
    ['goes up at once', settled(0), 3, {}, [3, undefined]],
    ['goes up to the fewest that always run', settled(0), 0, { minReplicas: 2 }, [2, undefined]],
    ['stays while as many are needed', settled(2), 2, {}, [2, undefined]],
    ['waits for the idle time before it goes down', settled(3), 0, {}, [3, 160_000]],
    ['counts that time from when fewer would do', { desired: 3, peak: 1, lowSince: 80_000 }, 0, {}, [3, 140_000]],
    ['sleeps after it', { desired: 1, peak: 0, lowSince: 40_000 }, 0, {}, [0, undefined]],
    ['goes down to what was needed at most meanwhile', { desired: 5, peak: 2, lowSince: 40_000 }, 1, {}, [2, 160_000]],
    ['keeps the fewest that always run', { desired: 3, peak: 0, lowSince: 0 }, 0, { minReplicas: 1 }, [1, undefined]],
    ['forgets the idle time when all are needed', { desired: 2, peak: 1, lowSince: 0 }, 2, {}, [2, undefined]],
    ['is nothing at once when it is switched off', settled(4), 0, { enabled: false, minReplicas: 2 }, [0, undefined]],
  ]
  for (const [sentence, before, needed, given, expected] of cases) {
    it(sentence, () => {
      const { scale, lookAt } = nextScale(before, needed, limits(given), 100_000)
      expect([scale.desired, lookAt]).to.deep.equal(expected)
    })
  }
})

describe('the copy that a call goes to', () => {
  const copies = [
    { address: 'a', inFlight: 2 },
    { address: 'b', inFlight: 1 },
    { address: 'c', inFlight: 3 },
  ]
  it('is the one with the fewest', () => expect(chooseCopy(copies, 3)?.address).to.equal('b'))
  it('is none if all are full', () => expect(chooseCopy(copies, 1)).to.equal(undefined))
  it('is none without copies', () => expect(chooseCopy([], 1)).to.equal(undefined))
})

describe('a call that arrives', () => {
  it('waits for its turn', () => expect(admit({ waiting: 999 }, limits())).to.equal('wait'))
  it('is refused if too many wait', () => expect(admit({ waiting: MAX_WAITING_CALLS }, limits())).to.equal('refuse'))
  it('is not served by what is switched off', () =>
    expect(admit({ waiting: 0 }, limits({ enabled: false }))).to.equal('disabled'))
})
