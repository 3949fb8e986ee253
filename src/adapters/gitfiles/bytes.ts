/** Reads the encodings of pack files, from an offset on. @throws RangeError beyond the end */
export class ByteReader {
  at: number
  readonly #from: Buffer

  constructor(from: Buffer, at = 0) {
    this.#from = from
    this.at = at
  }

  get isAtEnd(): boolean {
    return this.at >= this.#from.length
  }

  byte(): number {
    const byte = this.#from[this.at]
    if (byte === undefined) throw new RangeError('The pack ends within an object.')
    this.at += 1
    return byte
  }

  /** Reads a size: seven bits per byte, lowest first. */
  size(): number {
    let size = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte()
      size += (byte & 0x7f) * factor
      if (!Number.isSafeInteger(size)) throw new RangeError('A size is too large.')
      if ((byte & 0x80) === 0) return size
    }
  }

  /** Reads the distance to a delta's base: highest bits first, and each number in only one encoding. */
  distance(max: number): number {
    let distance = -1
    for (;;) {
      const byte = this.byte()
      distance = (distance + 1) * 128 + (byte & 0x7f)
      if (distance > max) throw new RangeError('A base object lies before the start of the pack.')
      if ((byte & 0x80) === 0) return distance
    }
  }

  id(): string {
    this.at += 20
    return this.#from.toString('hex', this.at - 20, this.at)
  }

  /** Reads a number of which only the bytes flagged in `present` are stored, lowest first. */
  bytes(present: number, count: number): number {
    let value = 0
    for (let index = 0; index < count; index += 1) if ((present >> index) & 1) value += this.byte() * 256 ** index
    return value
  }
}
