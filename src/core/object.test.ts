import { expect } from 'chai'
import { allButNewest, byAge } from './object.ts'

const at = (name: string, minute?: number) => ({
  metadata: { name, ...(minute !== undefined && { creationTimestamp: `2026-01-01T00:0${minute}:00Z` }) },
})
const names = (objects: readonly { metadata: { name: string } }[]) => objects.map(({ metadata }) => metadata.name)

describe('byAge and allButNewest', () => {
  const OBJECTS = [at('second', 2), at('third', 3), at('first', 1)]

  it('sort the oldest first, then by name, and unstored objects before all', () => {
    const objects = [...OBJECTS, at('another first', 1), at('unstored')]
    expect(names(objects.sort(byAge))).to.deep.equal(['unstored', 'another first', 'first', 'second', 'third'])
  })

  const KEPT: [string, number, string[]][] = [
    ['all, newest first, for 0 kept', 0, ['third', 'second', 'first']],
    ['the oldest for 2 kept', 2, ['first']],
    ['none for as many kept', 3, []],
    ['none for more kept', 50, []],
  ]
  for (const [sentence, kept, surplus] of KEPT)
    it(`return ${sentence}`, () => expect(names(allButNewest(OBJECTS, kept))).to.deep.equal(surplus))
})
