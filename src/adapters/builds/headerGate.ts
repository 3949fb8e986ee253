import type { Header } from 'tar-stream'
import { ArchiveRefused } from '../../contracts/builds/archive.ts'

/** A name, a target and attributes have room in it. */
const MOST_BEFORE_AN_ENTRY = 32 * 1024
/** Zeros fill up blocks, and end an archive; each is looked at. */
const MOST_BETWEEN_ENTRIES = 1024 ** 2
const SLICE = 4_096
const ZEROS = Buffer.alloc(SLICE)

/**
 * Bounds what headers before one entry may take: the reader of archives holds them in memory, and copies those that hold for
 * all entries for each of them.
 */
export class HeaderGate {
  #given = 0
  #endOfEntry = 0
  #headers = 0
  #between = 0

  /** An entry was read up to its content. */
  found({ byteOffset = 0, type, size = 0 }: Header & { byteOffset?: number }): void {
    this.#headers = 0
    this.#between = 0
    // The reader takes what follows a folder for the next header, whatever its size says.
    this.#endOfEntry = byteOffset + (type === 'directory' ? 0 : Math.ceil(size / 512) * 512)
  }

  /** What the reader is given, each when it has looked at the one before. @throws ArchiveRefused */
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
      throw new ArchiveRefused(`It has more than ${MOST_BEFORE_AN_ENTRY} bytes of headers before one entry.`)
    if (this.#between > MOST_BETWEEN_ENTRIES)
      throw new ArchiveRefused(`It has more than ${MOST_BETWEEN_ENTRIES} bytes that belong to no entry.`)
  }
}
