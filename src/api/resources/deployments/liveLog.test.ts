import { expect } from 'chai'
import { lastLogLines } from '../../../contracts/deployments.ts'
import { systemClock } from '../../../core/clock.ts'
import { linesOfBuild } from './liveLog.ts'

describe('the log of a build that runs', () => {
  /** What its first container wrote, in chunks of that size, as lines. */
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

  it('holds no line without an end in memory: a container may write for ever without a line break', async () => {
    const lines = await linesOf('x'.repeat(5_000_000), 10_000)
    expect(lines.join('')).to.have.length(5_000_000)
    expect(Math.max(...lines.map(({ length }) => length))).to.equal(65_536)
  })

  for (const size of [7_919, 65_536, 1_000_000])
    it(`has the lines that are kept of it, in chunks of ${size} bytes`, async () => {
      const wholes = [0, 1, 65_535, 65_536, 65_537, 131_072, 0, 200_000, 3].map((length) => 'ä'.repeat(length))
      for (const text of [wholes.join('\n'), `${wholes.join('\n')}\n`])
        expect(await linesOf(text, size)).to.deep.equal(lastLogLines(Buffer.from(text), 1_000))
    })
})
