import { expect } from 'chai'
import { versionOf } from './rows.ts'
import { shownValue, VALUE_MAX_BYTES } from './values.ts'

const bytes = (size: number, letter = 'a') => Buffer.alloc(size, letter).toString('base64')

describe('a value that is too long to be shown', () => {
  const longText = (letter: string) => shownValue('text', letter.repeat(VALUE_MAX_BYTES + 1))

  it('has another version of its row when it changes, also to one of the same size', () => {
    expect(longText('a')).to.deep.equal({ truncated: true, sizeBytes: VALUE_MAX_BYTES + 1 })
    expect(versionOf([1, longText('a')])).to.equal(versionOf([1, longText('a')]))
    expect(versionOf([1, longText('a')])).to.not.equal(versionOf([1, longText('b')]))
  })

  // Records: values over 1 MiB. What a client writes in 1 MiB it must be able to read.
  for (const size of [VALUE_MAX_BYTES - 1, VALUE_MAX_BYTES])
    it(`is none of ${size} bytes`, () => {
      expect(shownValue('binary', bytes(size))).to.equal(bytes(size))
      expect(shownValue('text', 'a'.repeat(size))).to.equal('a'.repeat(size))
    })

  for (const more of [1, 2, 3])
    it(`says how many bytes it has: 1 MiB and ${more}`, () => {
      const sizeBytes = VALUE_MAX_BYTES + more
      expect(shownValue('binary', bytes(sizeBytes))).to.deep.equal({ truncated: true, sizeBytes })
    })

  it('is measured in bytes, not in characters', () => {
    const sizeBytes = VALUE_MAX_BYTES + 2
    expect(shownValue('text', 'ü'.repeat(sizeBytes / 2))).to.deep.equal({ truncated: true, sizeBytes })
  })
})
