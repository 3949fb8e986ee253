import { expect } from 'chai'
import { BodyBudget } from './limits.ts'

const MIB = 1_048_576

describe('how much of large bodies a caller may have read', () => {
  it('is a burst, and then so much a second', () => {
    const budget = new BodyBudget()
    for (let count = 0; count < 4; count += 1) expect(budget.take('a', MIB, 0)).to.equal(undefined)
    expect(budget.take('a', MIB, 0)).to.equal(1)
    expect(budget.take('a', MIB, 500)).to.equal(1)
    expect(budget.take('a', MIB, 1_000)).to.equal(undefined)
    expect(budget.take('a', MIB, 1_000)).to.equal(1)
  })

  it('is saved up to the burst, and no further', () => {
    const budget = new BodyBudget()
    budget.take('a', MIB, 0)
    for (let count = 0; count < 4; count += 1) expect(budget.take('a', MIB, 3_600_000)).to.equal(undefined)
    expect(budget.take('a', 2 * MIB, 3_600_000)).to.equal(2)
  })

  it('lets one longer body through, and has the next one wait for it', () => {
    const budget = new BodyBudget()
    expect(budget.take('a', 20 * MIB, 0)).to.equal(undefined)
    expect(budget.take('a', MIB, 0)).to.equal(17)
    expect(budget.take('a', MIB, 17_000)).to.equal(undefined)
    expect(budget.take('a', 20 * MIB, 17_000)).to.equal(4)
  })

  it('is each caller’s own, and small bodies cost nothing', () => {
    const budget = new BodyBudget()
    for (let count = 0; count < 4; count += 1) budget.take('a', MIB, 0)
    expect(budget.take('b', MIB, 0)).to.equal(undefined)
    for (let count = 0; count < 1_000; count += 1) expect(budget.take('a', BodyBudget.FREE, 0)).to.equal(undefined)
  })
})
