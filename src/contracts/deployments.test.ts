import { expect } from 'chai'
import { lastLogLines } from './deployments.ts'

describe('the last lines of a log', () => {
  const cases: [string, string, string[]][] = [
    ['of no text are none', '', []],
    ['of one empty line are that line', '\n', ['']],
    ['of fewer lines are all', 'a\nb\n', ['a', 'b']],
    ['end with one that has no end', 'a\nb', ['a', 'b']],
    ['of as many lines are all', 'a\nb\nc\n', ['a', 'b', 'c']],
    ['of more lines are the end', 'a\nb\nc\nd\n', ['b', 'c', 'd']],
    ['of empty lines are so many of them', '\n\n\n\n\n', ['', '', '']],
    ['begin with an empty one if there are as many', '\nb\nc', ['', 'b', 'c']],
  ]
  for (const [title, text, lines] of cases) {
    it(title, () => expect(lastLogLines(Buffer.from(text), 3)).to.deep.equal(lines))
  }

  it('of bytes that are no text are no longer than these: the log would not hold them', () => {
    const [line = ''] = lastLogLines(Buffer.alloc(1000, 0xff), 3)
    expect(Buffer.byteLength(line)).to.equal(1000)
  })
})
