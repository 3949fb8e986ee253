import { expect } from 'chai'
import { type LogLine, LogLineReader, lastLines, mergeByArrival, mergeLogsByTime, parseLogLine } from './logs.ts'

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}
const at = (second: number, text: string): LogLine => ({
  timestamp: `2026-01-02T03:04:${String(second).padStart(2, '0')}.000000000Z`,
  text,
})
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('parseLogLine', () => {
  const cases: [string, string, string | null, string][] = [
    [
      'separates the time and the text',
      '2026-01-02T03:04:05.123456789Z hello',
      '2026-01-02T03:04:05.123456789Z',
      'hello',
    ],
    ['pads the time to nine digits', '2026-01-02T03:04:05.5Z hello', '2026-01-02T03:04:05.500000000Z', 'hello'],
    ['converts the time to UTC', '2026-01-02T03:04:05.000000001+02:00 x', '2026-01-02T01:04:05.000000001Z', 'x'],
    ['accepts whole seconds', '2026-01-02T03:04:05Z x', '2026-01-02T03:04:05.000000000Z', 'x'],
    ['accepts an empty text', '2026-01-02T03:04:05Z ', '2026-01-02T03:04:05.000000000Z', ''],
    ['keeps spaces and times in the text', '2026-01-02T03:04:05Z  2027', '2026-01-02T03:04:05.000000000Z', ' 2027'],
    ['returns a line with an invalid time as text', '2026-13-45T03:04:05+02:00 x', null, '2026-13-45T03:04:05+02:00 x'],
    ['returns a line without a time as text', 'hello 2026-01-02T03:04:05Z', null, 'hello 2026-01-02T03:04:05Z'],
  ]
  for (const [title, line, timestamp, text] of cases) {
    it(title, () => expect(parseLogLine(line)).to.deep.equal({ timestamp, text }))
  }
})

describe('LogLineReader', () => {
  const texts = (...chunks: (string | Uint8Array)[]) => {
    const reader = new LogLineReader()
    const lines = chunks.flatMap((chunk) => reader.push(Buffer.from(chunk as string)))
    return [...lines, ...reader.end()].map(({ text }) => text)
  }
  const euro = Buffer.from('€')

  it('joins lines that are split between chunks', () =>
    expect(texts('on', 'e\ntw', 'o\n')).to.deep.equal(['one', 'two']))
  it('accepts a last line without a line break', () => expect(texts('one\ntwo')).to.deep.equal(['one', 'two']))
  it('keeps empty lines', () => expect(texts('\n\none\n')).to.deep.equal(['', '', 'one']))
  it('joins characters that are split between chunks', () =>
    expect(texts(euro.subarray(0, 1), euro.subarray(1), '\n')).to.deep.equal(['€']))
  it('splits a line without an end into parts of less than 80,000 characters', () => {
    const reader = new LogLineReader()
    const found = reader.push(Buffer.from('2026-01-02T03:04:05Z start '))
    for (let count = 0; count < 100; count += 1) found.push(...reader.push(Buffer.alloc(10_000, 'x')))
    expect(found.length).to.be.within(10, 20)
    for (const { text, timestamp } of found) {
      expect(text.length).to.be.below(80_000)
      expect(timestamp).to.equal('2026-01-02T03:04:05.000000000Z')
    }
  })
})

describe('mergeLogsByTime and mergeByArrival', () => {
  it('sort lines by time', async () => {
    const [a, b] = [
      [at(1, 'a1'), at(4, 'a4')],
      [at(2, 'b2'), at(3, 'b3'), at(5, 'b5')],
    ]
    const merged = await all(mergeLogsByTime([each(a), each(b), each([])]))
    expect(merged.map(({ text }) => text)).to.deep.equal(['a1', 'b2', 'b3', 'a4', 'b5'])
  })

  it('keep the order of equal times, and lines without a time after the one before', async () => {
    const [a, b] = [[at(1, 'a1'), { timestamp: null, text: 'more' }, at(2, 'a2')], [at(2, 'b2')]]
    const merged = await all(mergeLogsByTime([each(a), each(b)]))
    expect(merged.map(({ text }) => text)).to.deep.equal(['a1', 'more', 'a2', 'b2'])
  })

  it('yield followed lines as they arrive', async () => {
    const late = Promise.withResolvers<void>()
    async function* slow() {
      await late.promise
      yield 'slow'
    }
    const found: string[] = []
    for await (const text of mergeByArrival([slow(), each(['one', 'two'])])) {
      found.push(text)
      if (text === 'two') late.resolve()
    }
    expect(found).to.deep.equal(['one', 'two', 'slow'])
  })
})

describe('lastLines', () => {
  const lines = (count: number) => each(Array.from({ length: count }, (_, index) => at(0, String(index))))

  it('keeps all of as many lines', async () => {
    const { kept, truncated } = await lastLines(lines(3), 3)
    expect([kept.map(({ text }) => text), truncated]).to.deep.equal([['0', '1', '2'], false])
  })
  it('drops older lines and reports that', async () => {
    const { kept, truncated } = await lastLines(lines(5000), 2)
    expect([kept.map(({ text }) => text), truncated]).to.deep.equal([['4998', '4999'], true])
  })
  it('keeps none if none are requested', async () => {
    const { kept, truncated } = await lastLines(lines(3), 0)
    expect([kept, truncated]).to.deep.equal([[], true])
  })
  it('limits the text to 4 MiB', async () => {
    const long = Array.from({ length: 100 }, () => at(0, 'x'.repeat(100_000)))
    const { kept, truncated } = await lastLines(each(long), 10_000)
    expect([kept.length, truncated]).to.deep.equal([41, true])
  })
})
