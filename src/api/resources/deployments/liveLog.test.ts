import { expect } from 'chai'
import { lastLogLines } from '../../../contracts/deployments.ts'
import { systemClock } from '../../../core/clock.ts'
import { linesOfBuild } from './liveLog.ts'

describe('linesOfBuild', () => {
  /** @returns the lines of a container that writes the text in chunks of this size */
  async function linesOf(text: string, size: number): Promise<string[]> {
    const bytes = Buffer.from(text)
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    let opened = 0
    const podLogs = { open: async () => (opened++ === 0 ? chunks() : undefined) }
    const services = { deployments: { podOf: () => 'pod' }, podLogs, clock: systemClock }
    const context = { services, query: { follow: false }, whilePermitted: new AbortController().signal }
    const lines: string[] = []
    const record = { metadata: { namespace: 'n', name: 'd' } }
    for await (const some of linesOfBuild(context as never, record as never, () => true)) {
      expect(some.number).to.equal(lines.length)
      lines.push(...some.lines)
    }
    return lines
  }

  it('splits a line of 5 MB into lines of at most 64 KiB', async () => {
    const lines = await linesOf('x'.repeat(5_000_000), 10_000)
    expect(lines.join('')).to.have.length(5_000_000)
    expect(Math.max(...lines.map(({ length }) => length))).to.equal(65_536)
  })

  for (const size of [7_919, 65_536, 1_000_000])
    it(`returns the same lines as lastLogLines, in chunks of ${size} bytes`, async () => {
      const wholes = [0, 1, 65_535, 65_536, 65_537, 131_072, 0, 200_000, 3].map((length) => 'ä'.repeat(length))
      for (const text of [wholes.join('\n'), `${wholes.join('\n')}\n`])
        expect(await linesOf(text, size)).to.deep.equal(lastLogLines(Buffer.from(text), 1_000))
    })
})
