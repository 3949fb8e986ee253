import { expect } from 'chai'
import { lastLogLines } from './deployments.ts'

describe('lastLogLines', () => {
  const cases: [string, string, string[]][] = [
    ['returns nothing for an empty text', '', []],
    ['returns one empty line', '\n', ['']],
    ['returns all of fewer lines', 'a\nb\n', ['a', 'b']],
    ['returns a last line without a line break', 'a\nb', ['a', 'b']],
    ['returns all of as many lines', 'a\nb\nc\n', ['a', 'b', 'c']],
    ['returns the last of more lines', 'a\nb\nc\nd\n', ['b', 'c', 'd']],
    ['returns the last of several empty lines', '\n\n\n\n\n', ['', '', '']],
    ['returns an empty first line', '\nb\nc', ['', 'b', 'c']],
  ]
  for (const [title, text, lines] of cases) {
    it(title, () => expect(lastLogLines(Buffer.from(text), 3)).to.deep.equal(lines))
  }

  it('replaces invalid UTF-8 without making the line longer', () => {
    const [line = ''] = lastLogLines(Buffer.alloc(1000, 0xff), 3)
    expect(Buffer.byteLength(line)).to.equal(1000)
  })
})
