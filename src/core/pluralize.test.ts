import { expect } from 'chai'
import { describeReadyCount, pluralize, pluralizeVerb } from './pluralize.ts'

describe('pluralize, pluralizeVerb and describeReadyCount', () => {
  for (const [count, words] of [
    [0, '0 snapshots'],
    [1, '1 snapshot'],
    [2, '2 snapshots'],
    [21, '21 snapshots'],
  ] as const)
    it(`return ${words}`, () => expect(pluralize(count, 'snapshot')).to.equal(words))

  it('use the given plural', () => {
    expect([0, 1, 2].map((count) => pluralize(count, 'copy', 'copies'))).to.deep.equal([
      '0 copies',
      '1 copy',
      '2 copies',
    ])
  })

  it('use the verb that agrees with the count', () => {
    expect([0, 1, 2].map((count) => pluralizeVerb(count, 'holds', 'hold'))).to.deep.equal(['hold', 'holds', 'hold'])
  })

  it('agree with the total count, not with the ready count', () => {
    expect(describeReadyCount(0, 1, 'copy', 'copies')).to.equal('0 of 1 copy is ready')
    expect(describeReadyCount(1, 3, 'copy', 'copies')).to.equal('1 of 3 copies are ready')
    expect(describeReadyCount(2, 1, 'copy', 'copies')).to.equal('1 of 1 copy is ready')
    expect(describeReadyCount(0, 0, 'peer')).to.equal('0 of 0 peers are ready')
  })
})
