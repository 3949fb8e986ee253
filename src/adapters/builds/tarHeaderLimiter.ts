import type { Header } from 'tar-stream'
import { ArchiveRefusedError } from '../../contracts/builds/archive.ts'

/** Enough for a name, a link target and attributes. */
const MAX_HEADER_BYTES = 32 * 1024
/** Zero blocks pad and end an archive, but each of them takes time to read. */
const MAX_NON_ENTRY_BYTES = 1024 ** 2
const SLICE_BYTES = 4_096
const ZEROS = Buffer.alloc(SLICE_BYTES)

/**
 * Bounds the headers before each entry: the tar reader holds them in memory, and copies global headers for every entry.
 */
export class TarHeaderLimiter {
  #receivedBytes = 0
  #endOfEntry = 0
  #headerBytes = 0
  #nonEntryBytes = 0

  /** Called with each entry that the reader has found, before its content. */
  found({ byteOffset = 0, type, size = 0 }: Header & { byteOffset?: number }): void {
    this.#headerBytes = 0
    this.#nonEntryBytes = 0
    // The reader ignores the size of a folder and reads a header right after it.
    this.#endOfEntry = byteOffset + (type === 'directory' ? 0 : Math.ceil(size / 512) * 512)
  }

  /** Yields slices for the reader. It must process each before it takes the next. @throws ArchiveRefusedError */
  *slices(chunk: Buffer): Generator<Buffer> {
    for (let at = 0; at < chunk.length; ) {
      const content = this.#endOfEntry - this.#receivedBytes
      const slice = chunk.subarray(at, at + (content > 0 ? content : SLICE_BYTES))
      if (content <= 0) this.#count(slice)
      this.#receivedBytes += slice.length
      at += slice.length
      yield slice
    }
  }

  #count(slice: Buffer): void {
    this.#nonEntryBytes += slice.length
    if (!slice.equals(ZEROS.subarray(0, slice.length))) this.#headerBytes += slice.length
    if (this.#headerBytes > MAX_HEADER_BYTES)
      throw new ArchiveRefusedError(`It has more than ${MAX_HEADER_BYTES} bytes of headers before one entry.`)
    if (this.#nonEntryBytes > MAX_NON_ENTRY_BYTES)
      throw new ArchiveRefusedError(`It has more than ${MAX_NON_ENTRY_BYTES} bytes that belong to no entry.`)
  }
}
