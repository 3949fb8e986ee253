import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { linesBackwards } from './lines.ts'

describe('linesBackwards', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lines-'))
  })
  after(() => rm(folder, { recursive: true }))

  async function read(lines: readonly string[], maxBytes = Number.POSITIVE_INFINITY): Promise<string[]> {
    const file = join(folder, 'log')
    await writeFile(file, lines.join('\n'))
    const found: string[] = []
    for await (const line of linesBackwards(file, maxBytes)) if (line !== '') found.push(line)
    return found
  }

  it('returns lines longer than a chunk, and characters that span two chunks, unchanged', async () => {
    const lines = ['first', 'é'.repeat(400_001), 'a'.repeat(262_143), 'b'.repeat(262_144), '€'.repeat(300_000), 'last']
    expect(await read(lines)).to.deep.equal(lines.toReversed())
  })

  it('omits a line that begins before the size limit', async () => {
    expect(await read(['c'.repeat(1_000_000), 'd'.repeat(400_000), 'last'], 900_000)).to.deep.equal([
      'last',
      'd'.repeat(400_000),
    ])
  })
})
