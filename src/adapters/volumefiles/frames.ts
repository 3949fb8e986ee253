/**
 * Frames a stream, so that its end differs from a lost connection: each piece is preceded by its length in four bytes,
 * big-endian; length 0 marks the end. The first piece is the request or the answer, as JSON.
 */
export function encodeFrame(bytes: Uint8Array): Buffer[] {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(bytes.length)
  return [length, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]
}

export const END_FRAME = Buffer.alloc(4)

/** Longer pieces are rejected. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024

/** Reads pieces from chunks of any size. Large pieces are passed on in parts. */
export class FrameReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Reads one whole piece; undefined at the end. @throws Error if the stream ends early or the piece is too long */
  async whole(maxBytes = MAX_FRAME_BYTES): Promise<Buffer | undefined> {
    const length = await this.#length(maxBytes)
    if (length === 0) return undefined
    return Buffer.concat(await Array.fromAsync(this.#parts(length)), length)
  }

  /** Reads all pieces up to the end. @throws Error if the stream ends early */
  async *bytes(): AsyncGenerator<Buffer> {
    for (let length = await this.#length(); length > 0; length = await this.#length()) yield* this.#parts(length)
  }

  /** Yields the next `length` bytes as they arrive. */
  async *#parts(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.#rest.length === 0) this.#rest = await this.#readChunk()
      const part = this.#take(Math.min(left, this.#rest.length))
      left -= part.length
      yield part
    }
  }

  async #length(maxBytes = MAX_FRAME_BYTES): Promise<number> {
    while (this.#rest.length < 4) this.#rest = Buffer.concat([this.#rest, await this.#readChunk()])
    const length = this.#take(4).readUInt32BE()
    if (length > maxBytes) throw new Error('A piece is too long.')
    return length
  }

  #take(count: number): Buffer {
    const part = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    return part
  }

  async #readChunk(): Promise<Buffer> {
    const { done, value } = await this.#chunks.next()
    if (done === true) throw new Error('The bytes ended early.')
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
}
