import { expect } from 'chai'
import { escapedPart, parseJsonPointer } from './jsonPointer.ts'

describe('a JSON Pointer', () => {
  const parts: [part: string, escaped: string][] = [
    ['name', 'name'],
    ['a/b', 'a~1b'],
    ['m~n', 'm~0n'],
    ['~1', '~01'],
    ['', ''],
  ]
  for (const [part, escaped] of parts) {
    it(`writes "${part}" as "${escaped}", and reads it back`, () => {
      expect(escapedPart(part)).to.equal(escaped)
      expect(parseJsonPointer(`/spec/${escaped}`)).to.deep.equal(['spec', part])
    })
  }
  it('to the whole has no parts', () => expect(parseJsonPointer('')).to.deep.equal([]))
})
