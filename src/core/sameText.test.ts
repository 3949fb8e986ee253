import { expect } from 'chai'
import { isSameText } from './sameText.ts'

describe('isSameText', () => {
  it('compares the whole text', () => {
    expect(isSameText('ab', 'ab')).to.equal(true)
    expect(isSameText('ab', 'ac')).to.equal(false)
    expect(isSameText('ab', 'abc')).to.equal(false)
  })

  it('distinguishes bytes of similar letters', () => expect(isSameText('ä', 'ae')).to.equal(false))
})
