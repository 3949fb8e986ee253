import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { fromBufferPromise } from 'yauzl'

/** A fixed time, so that the same files make the same archive. */
const FIXED_MTIME = new Date(0)

/** Turns a zip that the platform itself made into a tar.gz. The zip is held in memory, so it must be small. */
export function convertZipToTarGz(zip: Uint8Array): Readable {
  const tar = pack()
  const packed = createGzip()
  tar.on('error', (error) => packed.destroy(error))
  tar.pipe(packed as unknown as Parameters<typeof tar.pipe>[0])
  fill(tar, zip).catch((error: unknown) => packed.destroy(error as Error))
  return packed
}

async function fill(tar: ReturnType<typeof pack>, zip: Uint8Array): Promise<void> {
  const archive = await fromBufferPromise(Buffer.from(zip))
  for await (const entry of archive.eachEntry()) {
    const content = await buffer(await archive.openReadStreamPromise(entry))
    await new Promise<void>((done, failed) => {
      const written = (error?: Error | null) => (error ? failed(error) : done())
      tar.entry({ name: entry.fileName, mode: 0o644, mtime: FIXED_MTIME, size: content.length }, content, written)
    })
  }
  tar.finalize()
}
