import { expect } from 'chai'
import {
  BYTES_PER_COUNTED_OBJECT,
  countedObjectsIn,
  fullLabelValue,
  isFull,
  isFullLabelValueFor,
  isFullWith,
} from './objectCount.ts'

describe('countedObjectsIn, isFullWith and fullLabelValue', () => {
  const object = (bytes: number, filling = 'x') => {
    const empty = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' }, spec: { text: '' } }
    const rest = bytes - JSON.stringify(empty).length
    return { ...empty, spec: { text: filling.repeat(rest / Buffer.byteLength(filling)) } }
  }

  for (const [what, stored, counts] of [
    ['a small object', object(400), 1],
    ['an object of exactly one unit', object(BYTES_PER_COUNTED_OBJECT), 1],
    ['an object of one byte more', object(BYTES_PER_COUNTED_OBJECT + 1), 2],
    ['an object of 1 MB', object(1_000_000), 62],
    ['multi-byte text', object(3 * BYTES_PER_COUNTED_OBJECT, '物'), 3],
  ] as const)
    it(`count ${what} as ${counts}`, () => expect(countedObjectsIn(stored)).to.equal(counts))

  for (const [held, limit, wasFull, full] of [
    [0, 5000, false, false],
    [4999, 5000, false, false],
    [5000, 5000, false, true],
    [5003, 5000, true, true],
    [4951, 5000, true, true],
    [4950, 5000, true, false],
    [1, 1, false, true],
    [0, 1, true, false],
  ] as const)
    it(`return ${full} for ${held} of ${limit} objects after ${wasFull}`, () =>
      expect(isFullWith(held, limit, wasFull)).to.equal(full))

  it('recognise a mark by its limit', () => {
    expect(fullLabelValue(5003, 5000)).to.match(/^[a-z0-9-]{1,63}$/)
    expect(isFullLabelValueFor(fullLabelValue(5003, 5000), 5000)).to.equal(true)
    expect(isFullLabelValueFor(fullLabelValue(5003, 5000), 500)).to.equal(false)
    expect(isFull({ metadata: { name: 'a', labels: { 'freehold.dev/full': '1-of-1' } } })).to.equal(true)
    expect(isFull({ metadata: { name: 'a' } })).to.equal(false)
    expect(isFull(undefined)).to.equal(false)
  })
})
