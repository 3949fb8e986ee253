import { Readable } from 'node:stream'
import { expect } from 'chai'
import { podLogsContract } from '../../../test/suites/podLogsContract.ts'
import { kubePodLogs } from './client.ts'
import { FakePodLogs } from './fake.ts'
import { lastBytes } from './port.ts'

async function* chunks(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}
const end = async (maxBytes: number, ...texts: string[]) =>
  Buffer.from(await lastBytes(chunks(...texts), maxBytes)).toString()

describe('lastBytes', () => {
  const cases: [string, number, string[], string][] = [
    ['returns all of a short log', 100, ['one\n', 'two\n'], 'one\ntwo\n'],
    ['returns nothing for an empty log', 100, [], ''],
    ['returns all of a log that fits exactly', 8, ['one\n', 'two\n'], 'one\ntwo\n'],
    ['begins at the start of a line', 6, ['one\ntwo\n'], 'two\n'],
    ['joins chunks', 9, ['one\ntw', 'o\nthr', 'ee\n'], 'three\n'],
    ['returns the end of a line that is longer than the limit', 4, ['abcdefgh'], 'efgh'],
  ]
  for (const [title, maxBytes, texts, expected] of cases) {
    it(title, async () => expect(await end(maxBytes, ...texts)).to.equal(expected))
  }

  it('keeps at most the limit of a long log', async () => {
    async function* long(): AsyncIterable<Uint8Array> {
      for (let line = 0; line < 20_000; line += 1) yield Buffer.from(`${line} ${'x'.repeat(1000)}\n`)
    }
    const kept = await lastBytes(long(), 10_000)
    expect(kept.length).to.be.within(8_000, 10_000)
    expect(Buffer.from(kept).toString()).to.match(/^\d+ x/)
  })
})

describe('kubePodLogs, with a number of lines', () => {
  const source = { namespace: 'a', pod: 'fast', container: 'c' }
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `${at}\n`)

  const read = async (tailLines: number, texts: readonly string[]) => {
    // The node keeps sending lines that are written meanwhile.
    const body = Readable.from(texts.map((text) => Buffer.from(text)))
    const logs = kubePodLogs({ request: async () => ({ status: 200, body }) as never }, { isSimulated: false })
    const parts: Uint8Array[] = []
    for await (const chunk of (await logs.open(source, { tailLines })) ?? []) parts.push(chunk)
    return { text: Buffer.concat(parts).toString(), isClosed: body.destroyed }
  }

  it('closes the log after the last requested line', async () => {
    expect(await read(3, lines(1_000))).to.deep.equal({ text: '0\n1\n2\n', isClosed: true })
    expect(await read(3, [lines(1_000).join('')])).to.deep.equal({ text: '0\n1\n2\n', isClosed: true })
    expect(await read(0, lines(1_000))).to.deep.equal({ text: '', isClosed: true })
  })

  it('returns fewer lines if there are no more', async () => {
    expect(await read(10, ['0\n1', '\n2'])).to.deep.equal({ text: '0\n1\n2', isClosed: true })
  })
})

describe('FakePodLogs', () => {
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
