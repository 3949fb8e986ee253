import { expect } from 'chai'
import { BoundaryBloomFilter } from './boundaryBloomFilter.ts'

const COUNT = 5_000
const BOUNDARIES = 500

describe('the reach of assignments', () => {
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

  it('holds every assignment, and hardly anything else', () => {
    come(0)
    for (const { principal, scope } of assignments.values())
      expect(reach.mayHold(principal.number, scope.boundary)).to.equal(true)
    expect(strangers()).to.be.lessThan(0.15)
  })

  it('holds every assignment after each was replaced many times, and forgets those that are gone', () => {
    for (let life = 1; life <= 20; life += 1) come(life)
    for (const { principal, scope } of assignments.values())
      expect(reach.mayHold(principal.number, scope.boundary)).to.equal(true)
    expect(strangers()).to.be.lessThan(0.15)
  })
})
