import { expect } from 'chai'
import { BODY_RATE, requestRate, TokenBucket } from './limits.ts'

const MIB = 1_048_576

describe('how much of large bodies a caller may have read', () => {
  it('is a burst, and then so much a second', () => {
    const budget = new TokenBucket(BODY_RATE)
    for (let count = 0; count < 4; count += 1) expect(budget.take('a', MIB, 0)).to.equal(undefined)
    expect(budget.take('a', MIB, 0)).to.equal(1_000)
    expect(budget.take('a', MIB, 500)).to.equal(500)
    expect(budget.take('a', MIB, 1_000)).to.equal(undefined)
    expect(budget.take('a', MIB, 1_000)).to.equal(1_000)
  })

  it('is saved up to the burst, and no further', () => {
    const budget = new TokenBucket(BODY_RATE)
    budget.take('a', MIB, 0)
    for (let count = 0; count < 4; count += 1) expect(budget.take('a', MIB, 3_600_000)).to.equal(undefined)
    expect(budget.take('a', 2 * MIB, 3_600_000)).to.equal(2_000)
  })

  it('lets one longer body through, and has the next one wait for it', () => {
    const budget = new TokenBucket(BODY_RATE)
    expect(budget.take('a', 20 * MIB, 0)).to.equal(undefined)
    expect(budget.take('a', MIB, 0)).to.equal(17_000)
    expect(budget.take('a', MIB, 17_000)).to.equal(undefined)
    expect(budget.take('a', 20 * MIB, 17_000)).to.equal(4_000)
  })

  it('is each caller’s own', () => {
    const budget = new TokenBucket(BODY_RATE)
    for (let count = 0; count < 4; count += 1) budget.take('a', MIB, 0)
    expect(budget.take('b', MIB, 0)).to.equal(undefined)
  })
})

describe('how many requests a caller may send', () => {
  const passed = (budget: TokenBucket, count: number, now: number) =>
    Array.from({ length: count }, () => budget.take('a', 1, now)).filter((seconds) => seconds === undefined).length

  it('is a sixth of a minute at once, and the rest over the minute', () => {
    const budget = new TokenBucket(requestRate(6_000))
    expect(passed(budget, 3_000, 0)).to.equal(1_000)
    expect(passed(budget, 3_000, 1_000)).to.equal(100)
  })

  it('is all of a few at once, and says when the next one passes', () => {
    const budget = new TokenBucket(requestRate(20))
    expect(passed(budget, 30, 0)).to.equal(20)
    expect(budget.take('a', 1, 0)).to.equal(3_000)
    expect(passed(budget, 30, 3_000)).to.equal(1)
  })
})

describe('what a caller owes for long answers', () => {
  it('is waited for by the next request, whatever that asks for', () => {
    const budget = new TokenBucket({ perSecond: MIB, burst: 8 * MIB })
    for (let count = 0; count < 12; count += 1) budget.owe('a', MIB, 0)
    expect(budget.until('a', 0, 0)).to.equal(4_000)
    expect(budget.until('b', 0, 0)).to.equal(undefined)
    expect(budget.until('a', 0, 4_000)).to.equal(undefined)
  })
})

describe('a question for what is left', () => {
  it('writes nothing down, so that nobody pushes out what another owes by asking', () => {
    const budget = new TokenBucket({ perSecond: 1, burst: 1 }, 2)
    budget.owe('debtor', 10, 0)
    for (const stranger of ['a', 'b', 'c']) expect(budget.until(stranger, 0, 0)).to.equal(undefined)
    expect(budget.until('debtor', 0, 0)).to.equal(9_000)
  })

  it('is answered for what a refused amount did not take', () => {
    const budget = new TokenBucket({ perSecond: 1, burst: 2 })
    budget.take('a', 1, 0)
    expect(budget.take('a', 2, 0)).to.equal(1_000)
    expect(budget.until('a', 1, 0)).to.equal(undefined)
  })
})
