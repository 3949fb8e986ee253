import { mkdir, open, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract, type Header } from 'tar-stream'
import {
  type AdmittedEntry,
  ARCHIVE_LIMITS,
  type ArchiveLimits,
  ArchiveRefusedError,
  ArchiveValidator,
} from '../../contracts/builds/archive.ts'
import { createPauser } from '../../core/slices.ts'
import { TarHeaderLimiter } from './tarHeaderLimiter.ts'

/** Bytes that headers and padding may take besides the files. */
const HEADERS_MAX_BYTES = 128 * 1024 ** 2
/** Chunk size of gunzip: with the default of 16 KiB a large file takes twice as long. */
const CHUNK_BYTES = 128 * 1024
export type Unpacked = { readonly files: number; readonly bytes: number }

/**
 * Reads a tar.gz and checks each entry before reading its content.
 *
 * @param into a new folder to unpack into; undefined only checks
 * @throws ArchiveRefusedError
 */
export async function unpack(
  archive: Readable,
  into: string | undefined,
  limits: ArchiveLimits = ARCHIVE_LIMITS,
): Promise<Unpacked> {
  const judge = new ArchiveValidator(limits)
  const maxBytes = limits.bytes + HEADERS_MAX_BYTES
  const unpacked = { files: 0, bytes: 0 }
  let read = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      read += chunk.length
      next(read > maxBytes ? new ArchiveRefusedError(`Unpacked it is longer than ${limits.bytes} bytes.`) : null, chunk)
    },
  })
  const take = async (header: Header, content: AsyncIterable<Uint8Array>) => {
    const admitted = judge.admit(entryOf(header))
    if (admitted.kind === 'file') {
      unpacked.files += 1
      unpacked.bytes += header.size ?? 0
    }
    if (into !== undefined) await write(into, admitted, header, content)
  }
  try {
    await pipeline(archive, createGunzip({ chunkSize: CHUNK_BYTES }), bounded, (source) => forEachEntry(source, take))
  } catch (error) {
    throw !(error instanceof ArchiveRefusedError) && isUnreadable(error)
      ? new ArchiveRefusedError('It is not a whole tar.gz.')
      : error
  }
  if (unpacked.files === 0) throw new ArchiveRefusedError('It contains no file.')
  return unpacked
}

/** Reads the entries in turn. The tar reader's streams are not Node streams, so errors are forwarded by hand. */
async function forEachEntry(
  source: AsyncIterable<Buffer>,
  take: (header: Header, content: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  // With this mark, `drain` means that the reader has processed everything it was given.
  const reader = extract({ highWaterMark: 1 } as object)
  const closed = new Promise<void>((done) => reader.once('close', () => done()))
  const headerLimiter = new TarHeaderLimiter()
  // Keeps the first error: those that follow from it say less.
  let failed: unknown
  const fail = (error: Error) => {
    failed ??= error
    reader.destroy(error)
  }
  reader.on('error', fail)
  const writeAll = async () => {
    for await (const chunk of source) {
      for (const slice of headerLimiter.slices(chunk)) {
        if (reader.destroyed) return
        if (reader.write(slice)) continue
        await Promise.race([closed, new Promise<void>((done) => reader.once('drain', () => done()))])
      }
    }
    reader.end(undefined)
  }
  const written = writeAll().catch(fail)
  const pause = createPauser()
  try {
    for await (const entry of reader) {
      // Thousands of small files may come in one chunk.
      await pause()
      headerLimiter.found(entry.header)
      await take(entry.header, entry as AsyncIterable<Uint8Array>)
      entry.resume()
    }
    await written
  } catch (error) {
    throw failed ?? error
  }
  if (failed !== undefined) throw failed
}

const entryOf = ({ name, type, size, linkname }: Header) => ({ path: name, type, size: size ?? 0, target: linkname })

function isUnreadable(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return code.startsWith('Z_') || code === 'ERR_STREAM_PREMATURE_CLOSE' || /tar|header|Unexpected end/i.test(message)
}

async function write(
  into: string,
  { kind, path }: AdmittedEntry,
  header: Header,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const place = join(into, path)
  if (kind === 'folder') await mkdir(place, { recursive: true })
  if (kind !== 'file' && kind !== 'link') return
  await mkdir(dirname(place), { recursive: true })
  if (kind === 'link') return symlink(header.linkname ?? '', place)
  // Keeps only the executable bit: no owners, no setuid.
  const mode = ((header.mode ?? 0) & 0o100) === 0 ? 0o644 : 0o755
  const file = await open(place, 'wx', mode)
  try {
    for await (const chunk of content) await file.writeFile(chunk)
  } finally {
    await file.close()
  }
}
