import { expect } from 'chai'
import { versionOf } from './rows.ts'
import { shownValue, VALUE_MAX_BYTES } from './values.ts'

const bytes = (size: number, letter = 'a') => Buffer.alloc(size, letter).toString('base64')

describe('shownValue of large values', () => {
  const longText = (letter: string) => shownValue('text', letter.repeat(VALUE_MAX_BYTES + 1))

  it('changes the version of the row with the value, also for the same size', () => {
    expect(longText('a')).to.deep.equal({ truncated: true, sizeBytes: VALUE_MAX_BYTES + 1 })
    expect(versionOf([1, longText('a')])).to.equal(versionOf([1, longText('a')]))
    expect(versionOf([1, longText('a')])).to.not.equal(versionOf([1, longText('b')]))
  })

  // Records truncates values over 1 MiB. A client must be able to read what it writes in 1 MiB.
  for (const size of [VALUE_MAX_BYTES - 1, VALUE_MAX_BYTES])
    it(`returns a value of ${size} bytes`, () => {
      expect(shownValue('binary', bytes(size))).to.equal(bytes(size))
      expect(shownValue('text', 'a'.repeat(size))).to.equal('a'.repeat(size))
    })

  for (const more of [1, 2, 3])
    it(`returns the size of a value of 1 MiB and ${more} bytes`, () => {
      const sizeBytes = VALUE_MAX_BYTES + more
      expect(shownValue('binary', bytes(sizeBytes))).to.deep.equal({ truncated: true, sizeBytes })
    })

  it('measures bytes, not characters', () => {
    const sizeBytes = VALUE_MAX_BYTES + 2
    expect(shownValue('text', 'ü'.repeat(sizeBytes / 2))).to.deep.equal({ truncated: true, sizeBytes })
  })
})
