import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { type Header, pack } from 'tar-stream'
import { ArchiveRefusedError } from '../../contracts/builds/archive.ts'
import { sourceArchives } from './archives.ts'

/** A tar.gz whose first header states another size than its file has. */
async function lying(bytes: Buffer, size: number): Promise<Buffer> {
  const tar = pack()
  for (const [name, content] of Object.entries({ a: bytes, b: Buffer.from('b') }))
    tar.entry({ name } as Header, content)
  tar.finalize()
  const all = await buffer(tar as unknown as Readable)
  all.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1')
  all.fill(' ', 148, 156)
  const sum = all.subarray(0, 512).reduce((before, byte) => before + byte, 0)
  all.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return gzipSync(all)
}

/** Arrives as over a network: in pieces, between which other tasks run. */
async function* pieces(bytes: Buffer, count: number, end?: Promise<void>) {
  const length = Math.ceil(bytes.length / count)
  for (let at = 0; at < bytes.length; at += length) {
    for (let turn = 0; turn < 20; turn += 1) await setImmediate()
    yield bytes.subarray(at, at + length)
  }
  await end
}

describe('sourceArchives, given a tar.gz that states a false file size', () => {
  let registry: Server
  let archives: ReturnType<typeof sourceArchives>
  before(async () => {
    registry = createServer((request, response) => {
      request.resume().once('end', () => {
        const statuses: Record<string, number> = { POST: 202, PATCH: 202, PUT: 201 }
        response
          .writeHead(statuses[request.method ?? ''] ?? 204, { location: `/v2/x/blobs/uploads/${randomUUID()}` })
          .end()
      })
    }).listen(0, '127.0.0.1')
    await once(registry, 'listening')
    const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`
    archives = sourceArchives({ url, tokenFor: async () => 'token' })
  })
  after(() => {
    registry.closeAllConnections()
    registry.close()
  })

  const refusalOf = (archive: Readable) =>
    archives.keep('b/g/apps/web', archive).then(
      () => 'it was kept',
      (error: unknown) => (error instanceof ArchiveRefusedError ? error.message : `not refused: ${error}`),
    )

  const sizes: [sentence: string, size: number][] = [
    ['0 bytes', 0],
    ['2,100,000 bytes', 2_100_000],
    ['300 MiB, more than a file may have', 300 * 1024 ** 2],
    ['8 GiB, the largest size in a header', 8 * 1024 ** 3 - 1],
  ]
  for (const length of [3_000, 2_000_000]) {
    for (const [sentence, size] of sizes) {
      it(`rejects each of 12 concurrent uploads: ${length} bytes with a stated size of ${sentence}`, async () => {
        const archive = await lying(randomBytes(length), size)
        const sent = Array.from({ length: 12 }, (_, at) => refusalOf(Readable.from(pieces(archive, 1 + 3 * at))))
        for (const message of await Promise.all(sent))
          expect(message).to.match(/not a whole tar\.gz|longer than the 268435456 bytes/)
      })
    }
  }

  it('rejects it while its sender waits before the next piece', async () => {
    const archive = await lying(randomBytes(2_000_000), 8 * 1024 ** 3 - 1)
    const end = Promise.withResolvers<void>()
    const half = archive.subarray(0, archive.length / 2)
    expect(await refusalOf(Readable.from(pieces(half, 3, end.promise)))).to.include('longer than the 268435456 bytes')
    end.resolve()
  })
})
