import { expect } from 'chai'
import { describeReadyCount, pluralize, pluralizeVerb } from './pluralize.ts'

describe('a number with its noun', () => {
  for (const [count, words] of [
    [0, '0 snapshots'],
    [1, '1 snapshot'],
    [2, '2 snapshots'],
    [21, '21 snapshots'],
  ] as const)
    it(`is ${words}`, () => expect(pluralize(count, 'snapshot')).to.equal(words))

  it('has the plural that its noun names', () => {
    expect([0, 1, 2].map((count) => pluralize(count, 'copy', 'copies'))).to.deep.equal([
      '0 copies',
      '1 copy',
      '2 copies',
    ])
  })

  it('has a verb that agrees', () => {
    expect([0, 1, 2].map((count) => pluralizeVerb(count, 'holds', 'hold'))).to.deep.equal(['hold', 'holds', 'hold'])
  })

  it('agrees with how many there are to be, not with how many are ready', () => {
    expect(describeReadyCount(0, 1, 'copy', 'copies')).to.equal('0 of 1 copy is ready')
    expect(describeReadyCount(1, 3, 'copy', 'copies')).to.equal('1 of 3 copies are ready')
    expect(describeReadyCount(2, 1, 'copy', 'copies')).to.equal('1 of 1 copy is ready')
    expect(describeReadyCount(0, 0, 'peer')).to.equal('0 of 0 peers are ready')
  })
})
