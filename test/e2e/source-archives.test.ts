import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { pack } from 'tar-stream'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { findRegistry } from '../../scripts/registry/find.ts'
import { sourceArchives } from '../../src/adapters/builds/archives.ts'
import { ArchiveRefusedError } from '../../src/contracts/builds/archive.ts'
import { startRealRegistry } from '../worlds/realRegistry.ts'

async function archiveOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const tar = pack()
  for (const [name, content] of Object.entries(files)) tar.entry({ name }, content)
  tar.finalize()
  return gzipSync(await buffer(tar as unknown as Readable))
}

describe('sourceArchives with a real registry', () => {
  let running: Awaited<ReturnType<typeof startRealRegistry>> | undefined
  before(async function () {
    const program = await findRegistry(silentProgress, new AbortController().signal)
    if (program === undefined) this.skip()
    running = await startRealRegistry(program)
  })
  after(() => running?.stop())

  const repository = () => `${randomUUID()}/shop/apps/web`
  function archives(mostBytes?: number) {
    if (running === undefined) throw new Error('No registry runs.')
    const { url, tokenFor } = running
    return sourceArchives({ url, tokenFor, ...(mostBytes !== undefined && { maxBytes: mostBytes }) })
  }
  async function stored(name: string): Promise<string[]> {
    const digests = await running?.registry.digests(name)
    return [...(digests ?? [])]
  }
  async function refusal(keeping: Promise<unknown>): Promise<string> {
    const error = await keeping.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (!(error instanceof ArchiveRefusedError)) throw error
    return error.message
  }

  it('stores an archive unchanged, and returns the same reference for the same bytes', async () => {
    const name = repository()
    const bytes = await archiveOf({ 'package.json': '{}', 'data.txt': randomBytes(3_000_000).toString('hex') })
    const kept = await archives().keep(name, Readable.from([bytes.subarray(0, 70_000), bytes.subarray(70_000)]))
    expect(kept).to.include({ sizeBytes: bytes.length, files: 2 })
    const again = await archives().keep(name, Readable.from([bytes]))
    expect(again).to.deep.equal(kept)
    expect(kept.reference).to.equal(`${name}@${(await stored(name))[0]}`)
    const token = await running?.tokenFor('repository', name, ['pull'])
    const answer = await fetch(`${running?.url}/v2/${name}/blobs/${kept.digest}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).to.equal(true)
  })

  it('rejects an archive with a path outside of it, and stores nothing', async () => {
    const name = repository()
    const bytes = await archiveOf({ '../outside': 'x', 'long.txt': randomBytes(2_000_000).toString('hex') })
    expect(await refusal(archives().keep(name, Readable.from([bytes])))).to.include('leads out of the archive')
    expect(await stored(name)).to.deep.equal([])
  })

  it('rejects an archive that is too long', async () => {
    const bytes = await archiveOf({ a: randomBytes(4_000).toString('hex') })
    expect(await refusal(archives(1_000).keep(repository(), Readable.from([bytes])))).to.include(
      'longer than 1000 bytes',
    )
  })
})
