import { expect } from 'chai'
import { isSameText } from './sameText.ts'

describe('texts that are compared in constant time', () => {
  it('compare hashes whole', () => {
    expect(isSameText('ab', 'ab')).to.equal(true)
    expect(isSameText('ab', 'ac')).to.equal(false)
    expect(isSameText('ab', 'abc')).to.equal(false)
  })

  it('differ in bytes that look alike', () => expect(isSameText('ä', 'ae')).to.equal(false))
})
