import { webcrypto } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import type { SourceFile } from '../../contracts/functionSources.ts'
import { createPauser } from '../../core/slices.ts'
import { compareTexts } from '../../core/textOrder.ts'

/** A fixed modification time, so that the same files give the same archive and hash. */
const FIXED_MTIME = new Date('2000-01-01T00:00:00Z')

/** Returns the files as a zip, ordered by path. Compression runs on other threads, CRC on this one. */
export async function archiveOf(files: readonly SourceFile[]): Promise<{ bytes: Buffer; hash: string }> {
  const zip = new ZipFile()
  const pause = createPauser()
  for (const { path, content } of files.toSorted((one, other) => compareTexts(one.path, other.path))) {
    await pause()
    zip.addBuffer(content, path, { mtime: FIXED_MTIME, mode: 0o100644, forceDosTimestamp: true })
  }
  zip.end()
  const bytes = await buffer(zip.outputStream)
  const sum = await webcrypto.subtle.digest('SHA-256', bytes)
  return { bytes, hash: Buffer.from(sum).toString('hex') }
}
