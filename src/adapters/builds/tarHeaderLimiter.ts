import type { Header } from 'tar-stream'
import { ArchiveRefusedError } from '../../contracts/builds/archive.ts'

/** Enough for a name, a link target and attributes. */
const MOST_BEFORE_AN_ENTRY = 32 * 1024
/** Zero blocks pad and end an archive, but each of them takes time to read. */
const MOST_BETWEEN_ENTRIES = 1024 ** 2
const SLICE = 4_096
const ZEROS = Buffer.alloc(SLICE)

/**
 * Bounds the headers before each entry: the tar reader holds them in memory, and copies global headers for every entry.
 */
export class TarHeaderLimiter {
  #given = 0
  #endOfEntry = 0
  #headers = 0
  #between = 0

  /** Called with each entry that the reader has found, before its content. */
  found({ byteOffset = 0, type, size = 0 }: Header & { byteOffset?: number }): void {
    this.#headers = 0
    this.#between = 0
    // The reader ignores the size of a folder and reads a header right after it.
    this.#endOfEntry = byteOffset + (type === 'directory' ? 0 : Math.ceil(size / 512) * 512)
  }

  /** Yields slices for the reader. It must process each before it takes the next. @throws ArchiveRefusedError */
  *slices(chunk: Buffer): Generator<Buffer> {
    for (let at = 0; at < chunk.length; ) {
      const content = this.#endOfEntry - this.#given
      const slice = chunk.subarray(at, at + (content > 0 ? content : SLICE))
      if (content <= 0) this.#count(slice)
      this.#given += slice.length
      at += slice.length
      yield slice
    }
  }

  #count(slice: Buffer): void {
    this.#between += slice.length
    if (!slice.equals(ZEROS.subarray(0, slice.length))) this.#headers += slice.length
    if (this.#headers > MOST_BEFORE_AN_ENTRY)
      throw new ArchiveRefusedError(`It has more than ${MOST_BEFORE_AN_ENTRY} bytes of headers before one entry.`)
    if (this.#between > MOST_BETWEEN_ENTRIES)
      throw new ArchiveRefusedError(`It has more than ${MOST_BETWEEN_ENTRIES} bytes that belong to no entry.`)
  }
}
