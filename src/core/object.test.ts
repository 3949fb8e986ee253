import { expect } from 'chai'
import { allButNewest, byAge } from './object.ts'

const at = (name: string, minute?: number) => ({
  metadata: { name, ...(minute !== undefined && { creationTimestamp: `2026-01-01T00:0${minute}:00Z` }) },
})
const names = (objects: readonly { metadata: { name: string } }[]) => objects.map(({ metadata }) => metadata.name)

describe('objects by their age', () => {
  const OBJECTS = [at('second', 2), at('third', 3), at('first', 1)]

  it('sort with the oldest first, by name within one second, and with what was never stored before all', () => {
    const objects = [...OBJECTS, at('another first', 1), at('unstored')]
    expect(names(objects.sort(byAge))).to.deep.equal(['unstored', 'another first', 'first', 'second', 'third'])
  })

  const KEPT: [string, number, string[]][] = [
    ['all of them where none is kept, the newest first', 0, ['third', 'second', 'first']],
    ['the oldest where all others are kept', 2, ['first']],
    ['nothing where as many are kept as there are', 3, []],
    ['nothing where more are kept than there are', 50, []],
  ]
  for (const [sentence, kept, surplus] of KEPT)
    it(`leave ${sentence}`, () => expect(names(allButNewest(OBJECTS, kept))).to.deep.equal(surplus))
})
