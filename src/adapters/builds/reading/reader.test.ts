import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { pack } from 'tar-stream'
import { ArchiveRefusedError } from '../../../contracts/builds/archive.ts'
import { unpack } from '../unpack.ts'
import type { ArchiveReader, ArchiveSink } from './port.ts'
import { threadedReader } from './reader.ts'

async function archiveOf(names: readonly string[]): Promise<Buffer> {
  const tar = pack()
  for (const name of names) tar.entry({ name }, `content of ${name}`)
  tar.finalize()
  return gzipSync(await buffer(tar as unknown as Readable))
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `src/${at % 100}/file-${at}.ts`)

async function give(reading: ArchiveSink, bytes: Buffer, length = 16_384): Promise<void> {
  for (let at = 0; at < bytes.length; at += length) await reading.take(bytes.subarray(at, at + length))
  reading.end()
}

describe('threadedReader', () => {
  let reader: ArchiveReader
  before(() => {
    reader = threadedReader()
  })

  it('returns the digest and the number of files of concurrent archives', async () => {
    const archives = await Promise.all([1, 20, 300].map((count) => archiveOf(numbered(count))))
    const read = archives.map(async (bytes, at) => {
      const reading = await reader.begin(`${at}`)
      await give(reading, bytes, 1_000)
      return reading.read
    })
    expect(await Promise.all(read)).to.deep.equal(
      archives.map((bytes, at) => ({
        digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
        files: [1, 20, 300][at],
      })),
    )
  })

  it("uses less than half of the main thread's CPU time, even for 15,000 small files", async () => {
    const bytes = await archiveOf(numbered(15_000))
    const mainThreadCpu = async (work: () => Promise<{ files: number }>) => {
      const began = process.threadCpuUsage()
      expect((await work()).files).to.equal(15_000)
      return process.threadCpuUsage(began).user
    }
    const beside = async () => {
      const reading = await reader.begin('a')
      await give(reading, bytes)
      return reading.read
    }
    // The first run still compiles, and collects the garbage of earlier tests.
    const [first, second] = [await mainThreadCpu(beside), await mainThreadCpu(beside)]
    expect(Math.min(first, second)).to.be.lessThan(
      (await mainThreadCpu(() => unpack(Readable.from([bytes]), undefined))) / 2,
    )
  })

  it('rejects an archive for its content before all of it has arrived', async () => {
    const bytes = await archiveOf(['../outside', ...numbered(20_000)])
    const reading = await reader.begin('a')
    void give(reading, bytes, 1_000).catch(() => {})
    expect(await reading.read.catch((error: Error) => error))
      .to.be.instanceOf(ArchiveRefusedError)
      .and.have.property('message')
      .that.includes('leads out of the archive')
    expect(() => reading.take(bytes)).to.throw('The archive is not read to its end.')
  })

  it('rejects an archive that is cut off', async () => {
    const bytes = await archiveOf(numbered(100))
    const reading = await reader.begin('a')
    await give(reading, bytes.subarray(0, bytes.length / 2))
    expect(await reading.read.catch(({ message }: Error) => message)).to.equal('It is not a whole tar.gz.')
  })

  it('queues the fifth archive of a sender without delaying other senders', async () => {
    const under = await Promise.all(Array.from({ length: 4 }, () => reader.begin('greedy')))
    let hasBegun = false
    const fifth = reader.begin('greedy').then((reading) => {
      hasBegun = true
      return reading
    })
    const other = await reader.begin('modest')
    await give(other, await archiveOf(['a']))
    expect((await other.read).files).to.equal(1)
    await setImmediate()
    expect(hasBegun).to.equal(false)
    under[0]?.cut()
    const next = await fifth
    for (const reading of [...under, next]) reading.cut()
  })

  it('starts the next queued archive of a sender when a waiting one is aborted', async () => {
    const under = await Promise.all(Array.from({ length: 4 }, () => reader.begin('sender')))
    const leaving = new AbortController()
    const aborted = reader.begin('sender', leaving.signal).catch((error: Error) => error.message)
    const next = reader.begin('sender')
    leaving.abort(new Error('the client disconnected'))
    expect(await aborted).to.equal('the client disconnected')
    under[0]?.cut()
    const waiting = await next
    for (const reading of [waiting, ...under]) reading.cut()
  })

  it('keeps no resource open that would keep the process alive', async () => {
    const reading = await reader.begin('a')
    expect(process.getActiveResourcesInfo()).to.include('MessagePort')
    reading.cut()
    await reading.read.catch(() => {})
    await setImmediate()
    expect(process.getActiveResourcesInfo()).to.not.include('MessagePort')
  })
})
