import { webcrypto } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import type { SourceFile } from '../../contracts/functionSources.ts'
import { pausing } from '../../core/slices.ts'

/** One time for all files: the same files are the same archive, and its hash says so. */
const TIME = new Date('2000-01-01T00:00:00Z')

/** The files as a zip, in the order of their paths. Compressed beside the main thread; the sum of each file is made on it. */
export async function archiveOf(files: readonly SourceFile[]): Promise<{ bytes: Buffer; hash: string }> {
  const zip = new ZipFile()
  const pause = pausing()
  for (const { path, content } of files.toSorted((one, other) => (one.path < other.path ? -1 : 1))) {
    await pause()
    zip.addBuffer(content, path, { mtime: TIME, mode: 0o100644, forceDosTimestamp: true })
  }
  zip.end()
  const bytes = await buffer(zip.outputStream)
  const sum = await webcrypto.subtle.digest('SHA-256', bytes)
  return { bytes, hash: Buffer.from(sum).toString('hex') }
}
