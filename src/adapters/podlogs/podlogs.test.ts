import { expect } from 'chai'
import { FakePodLogs } from './fake.ts'
import { lastBytes } from './port.ts'

async function* chunks(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}
const end = async (most: number, ...texts: string[]) => Buffer.from(await lastBytes(chunks(...texts), most)).toString()

describe('the end of a log', () => {
  const cases: [string, number, string[], string][] = [
    ['is all of a short one', 100, ['one\n', 'two\n'], 'one\ntwo\n'],
    ['is nothing of nothing', 100, [], ''],
    ['is all if it fits exactly', 8, ['one\n', 'two\n'], 'one\ntwo\n'],
    ['begins at the start of a line', 6, ['one\ntwo\n'], 'two\n'],
    ['crosses chunks', 9, ['one\ntw', 'o\nthr', 'ee\n'], 'three\n'],
    ['is the end of the line if one line is longer', 4, ['abcdefgh'], 'efgh'],
  ]
  for (const [title, most, texts, expected] of cases) {
    it(title, async () => expect(await end(most, ...texts)).to.equal(expected))
  }

  it('holds little of a long one', async () => {
    async function* long(): AsyncIterable<Uint8Array> {
      for (let line = 0; line < 20_000; line += 1) yield Buffer.from(`${line} ${'x'.repeat(1000)}\n`)
    }
    const kept = await lastBytes(long(), 10_000)
    expect(kept.length).to.be.within(8_000, 10_000)
    expect(Buffer.from(kept).toString()).to.match(/^\d+ x/)
  })
})

describe('the fake of pod logs', () => {
  const source = { namespace: 'a', pod: 'b', container: 'c' }
  const read = async (logs: FakePodLogs, window = {}) => {
    const found = await logs.open(source, window)
    return found === undefined ? undefined : Buffer.from(await lastBytes(found, 1e6)).toString()
  }

  it('has no log of what wrote nothing', async () => expect(await read(new FakePodLogs())).to.equal(undefined))

  it('gives as many lines from the end as are asked for', async () => {
    const logs = new FakePodLogs()
    logs.write(source, 'one\ntwo\nthree\n')
    expect(await read(logs)).to.equal('one\ntwo\nthree\n')
    expect(await read(logs, { tailLines: 2 })).to.equal('two\nthree\n')
    expect(await read(logs, { tailLines: 0 })).to.equal('')
  })
})
