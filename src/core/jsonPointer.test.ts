import { expect } from 'chai'
import { escapedPart, parseJsonPointer } from './jsonPointer.ts'

describe('escapedPart and parseJsonPointer', () => {
  const parts: [part: string, escaped: string][] = [
    ['name', 'name'],
    ['a/b', 'a~1b'],
    ['m~n', 'm~0n'],
    ['~1', '~01'],
    ['', ''],
  ]
  for (const [part, escaped] of parts) {
    it(`escape "${part}" as "${escaped}" and read it back`, () => {
      expect(escapedPart(part)).to.equal(escaped)
      expect(parseJsonPointer(`/spec/${escaped}`)).to.deep.equal(['spec', part])
    })
  }
  it('return no parts for the whole document', () => expect(parseJsonPointer('')).to.deep.equal([]))
})
