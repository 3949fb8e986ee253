import { expect } from 'chai'
import { BODY_RATE, requestRate, TokenBucket, toRetryAfterSeconds } from './limits.ts'

const MIB = 1_048_576

describe('TokenBucket with BODY_RATE', () => {
  it('allows a burst of 4 MiB, then 1 MiB a second', () => {
    const budget = new TokenBucket(BODY_RATE)
    for (let count = 0; count < 4; count += 1) expect(budget.take('a', MIB, 0)).to.equal(undefined)
    expect(budget.take('a', MIB, 0)).to.equal(1_000)
    expect(budget.take('a', MIB, 500)).to.equal(500)
    expect(budget.take('a', MIB, 1_000)).to.equal(undefined)
    expect(budget.take('a', MIB, 1_000)).to.equal(1_000)
  })

  it('refills up to the burst only', () => {
    const budget = new TokenBucket(BODY_RATE)
    budget.take('a', MIB, 0)
    for (let count = 0; count < 4; count += 1) expect(budget.take('a', MIB, 3_600_000)).to.equal(undefined)
    expect(budget.take('a', 2 * MIB, 3_600_000)).to.equal(2_000)
  })

  it('allows one body above the burst, and delays the next one accordingly', () => {
    const budget = new TokenBucket(BODY_RATE)
    expect(budget.take('a', 20 * MIB, 0)).to.equal(undefined)
    expect(budget.take('a', MIB, 0)).to.equal(17_000)
    expect(budget.take('a', MIB, 17_000)).to.equal(undefined)
    expect(budget.take('a', 20 * MIB, 17_000)).to.equal(4_000)
  })

  it('counts each key separately', () => {
    const budget = new TokenBucket(BODY_RATE)
    for (let count = 0; count < 4; count += 1) budget.take('a', MIB, 0)
    expect(budget.take('b', MIB, 0)).to.equal(undefined)
  })
})

describe('TokenBucket with requestRate', () => {
  const admitted = (budget: TokenBucket, count: number, now: number) =>
    Array.from({ length: count }, () => budget.take('a', 1, now)).filter((seconds) => seconds === undefined).length

  it('allows a sixth of 6000 a minute at once and 100 a second after that', () => {
    const budget = new TokenBucket(requestRate(6_000))
    expect(admitted(budget, 3_000, 0)).to.equal(1_000)
    expect(admitted(budget, 3_000, 1_000)).to.equal(100)
  })

  it('allows 60 of 120 a minute at once', () =>
    expect(admitted(new TokenBucket(requestRate(120)), 200, 0)).to.equal(60))

  it('allows all of 20 a minute at once, and returns the wait for the next one', () => {
    const budget = new TokenBucket(requestRate(20))
    expect(admitted(budget, 30, 0)).to.equal(20)
    expect(budget.take('a', 1, 0)).to.equal(3_000)
    expect(admitted(budget, 30, 3_000)).to.equal(1)
  })
})

describe('toRetryAfterSeconds', () => {
  it('rounds up, to one second at least', () =>
    expect([0, 1, 1_000, 1_001, 60_000].map(toRetryAfterSeconds)).to.deep.equal([1, 1, 1, 2, 60]))
})

describe('TokenBucket.owe', () => {
  it('delays the next request of the same key by the debt', () => {
    const budget = new TokenBucket({ perSecond: MIB, burst: 8 * MIB })
    for (let count = 0; count < 12; count += 1) budget.owe('a', MIB, 0)
    expect(budget.until('a', 0, 0)).to.equal(4_000)
    expect(budget.until('b', 0, 0)).to.equal(undefined)
    expect(budget.until('a', 0, 4_000)).to.equal(undefined)
  })
})

describe('TokenBucket.until', () => {
  it('stores nothing, so that other keys evict no debt', () => {
    const budget = new TokenBucket({ perSecond: 1, burst: 1 }, 2)
    budget.owe('debtor', 10, 0)
    for (const stranger of ['a', 'b', 'c']) expect(budget.until(stranger, 0, 0)).to.equal(undefined)
    expect(budget.until('debtor', 0, 0)).to.equal(9_000)
  })

  it('ignores an amount that take refused', () => {
    const budget = new TokenBucket({ perSecond: 1, burst: 2 })
    budget.take('a', 1, 0)
    expect(budget.take('a', 2, 0)).to.equal(1_000)
    expect(budget.until('a', 1, 0)).to.equal(undefined)
  })
})
