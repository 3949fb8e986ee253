import { expect } from 'chai'
import { ObjectCounter } from './objectCounter.ts'

describe('ObjectCounter', () => {
  let tally: ObjectCounter
  beforeEach(() => {
    tally = new ObjectCounter()
  })

  it('adds counts of kinds and namespaces and subtracts removed objects', () => {
    tally.assign('one', 'b/groups')
    tally.assign('two', 'b/groups')
    tally.count('one', 'jobs', 3)
    tally.count('two', 'jobs', 4)
    tally.count('two', 'apps', 1)
    expect(tally.heldIn('b/groups')).to.equal(8)
    tally.count('two', 'jobs', 2)
    tally.count('two', 'apps', 0)
    expect(tally.heldIn('b/groups')).to.equal(5)
    expect(tally.namespacesOf('b/groups')).to.deep.equal(['one', 'two'])
  })

  it('counts objects once their namespace is placed', () => {
    tally.count('one', 'jobs', 3)
    expect(tally.heldIn('b')).to.equal(0)
    tally.assign('one', 'b')
    expect(tally.heldIn('b')).to.equal(3)
  })

  it('counts each pool separately', () => {
    tally.assign('boundary-b', 'b')
    tally.assign('one', 'b/groups')
    tally.count('boundary-b', 'templates', 2)
    tally.count('one', 'jobs', 3)
    expect([tally.heldIn('b'), tally.heldIn('b/groups')]).to.deep.equal([2, 3])
  })

  it('moves the counts of a namespace that is placed elsewhere and forgets removed ones', () => {
    tally.assign('one', 'b')
    tally.count('one', 'jobs', 3)
    tally.assign('one', 'c')
    expect([tally.heldIn('b'), tally.heldIn('c')]).to.deep.equal([0, 3])
    tally.assign('one', undefined)
    expect([tally.heldIn('c'), tally.pools, tally.poolOf('one')]).to.deep.equal([0, [], undefined])
    tally.assign('one', 'c')
    expect(tally.heldIn('c')).to.equal(3)
  })
})
