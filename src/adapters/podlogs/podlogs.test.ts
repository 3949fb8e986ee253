import { Readable } from 'node:stream'
import { expect } from 'chai'
import { podLogsContract } from '../../../test/suites/podLogsContract.ts'
import { kubePodLogs } from './client.ts'
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

describe('pod logs of a container that writes faster than it is read', () => {
  const source = { namespace: 'a', pod: 'fast', container: 'c' }
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `${at}\n`)

  const read = async (tailLines: number, texts: readonly string[]) => {
    // The node goes on with what comes meanwhile.
    const body = Readable.from(texts.map((text) => Buffer.from(text)))
    const logs = kubePodLogs({ request: async () => ({ status: 200, body }) as never }, { isPlayed: false })
    const parts: Uint8Array[] = []
    for await (const chunk of (await logs.open(source, { tailLines })) ?? []) parts.push(chunk)
    return { text: Buffer.concat(parts).toString(), isClosed: body.destroyed }
  }

  it('end with the last line that there was', async () => {
    expect(await read(3, lines(1_000))).to.deep.equal({ text: '0\n1\n2\n', isClosed: true })
    expect(await read(3, [lines(1_000).join('')])).to.deep.equal({ text: '0\n1\n2\n', isClosed: true })
    expect(await read(0, lines(1_000))).to.deep.equal({ text: '', isClosed: true })
  })

  it('are whole if there are fewer', async () => {
    expect(await read(10, ['0\n1', '\n2'])).to.deep.equal({ text: '0\n1\n2', isClosed: true })
  })
})

describe('the fake of pod logs', () => {
  const logs = new FakePodLogs()
  const running = { namespace: 'a', pod: 'running', container: 'c' }
  const restarted = { ...running, pod: 'restarted' }
  const at = (second: number, text: string) => `2026-01-02T03:04:0${second}.000000000Z ${text}\n`
  before(() => {
    logs.write(running, at(1, 'one') + at(2, 'two') + at(3, 'three'))
    logs.write(restarted, at(1, 'before'))
    logs.end(restarted)
    logs.write(restarted, at(2, 'after'))
  })
  const goOn = async () => {
    logs.write(running, at(4, 'four'))
    logs.end(running)
  }
  podLogsContract(() => ({ logs, running, restarted, goOn }))
})
