import { expect } from 'chai'
import { BoundaryBloomFilter } from './boundaryBloomFilter.ts'

const COUNT = 5_000
const BOUNDARIES = 500

describe('BoundaryBloomFilter', () => {
  const pair = (principal: number, boundary: number) => ({ principal: { number: principal }, scope: { boundary } })
  const holder = (boundary: number, life: number) => boundary * 7 + life * 1_000_000
  const assignments = new Map<string, ReturnType<typeof pair>>()
  const reach = new BoundaryBloomFilter(assignments)
  const come = (life: number) => {
    for (let number = 0; number < COUNT; number += 1) {
      const boundary = number % BOUNDARIES
      const assignment = pair(holder(number, life), boundary)
      assignments.set(String(number), assignment)
      reach.add(assignment)
    }
  }
  const strangers = () => {
    let held = 0
    for (let number = 0; number < COUNT; number += 1)
      if (reach.mayHold(holder(number, 0), BOUNDARIES + (number % BOUNDARIES))) held += 1
    return held / COUNT
  }

  it('contains every assignment, and less than 15% of others', () => {
    come(0)
    for (const { principal, scope } of assignments.values())
      expect(reach.mayHold(principal.number, scope.boundary)).to.equal(true)
    expect(strangers()).to.be.lessThan(0.15)
  })

  it('contains every assignment after 20 replacements of each, and less than 15% of removed ones', () => {
    for (let life = 1; life <= 20; life += 1) come(life)
    for (const { principal, scope } of assignments.values())
      expect(reach.mayHold(principal.number, scope.boundary)).to.equal(true)
    expect(strangers()).to.be.lessThan(0.15)
  })
})
