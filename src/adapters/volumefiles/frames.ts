/**
 * How bytes are sent whose end must be told from a lost connection: each piece behind its length, four bytes, the most
 * significant first; length 0 is the end. The first piece is the request or the answer, as JSON.
 */
export function frame(bytes: Uint8Array): Buffer[] {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(bytes.length)
  return [length, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]
}

export const END = Buffer.alloc(4)

/** Longer pieces are nobody's. */
const LONGEST = 64 * 1024 * 1024

/** Reads pieces again from chunks that end anywhere. Large pieces are handed on in parts. */
export class Frames {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** One whole piece; undefined at the end. @throws Error if the chunks end first, or if it has more bytes */
  async whole(most = LONGEST): Promise<Buffer | undefined> {
    const length = await this.#length(most)
    if (length === 0) return undefined
    return Buffer.concat(await Array.fromAsync(this.#parts(length)), length)
  }

  /** All bytes until the end. @throws Error if the chunks end first */
  async *bytes(): AsyncGenerator<Buffer> {
    for (let length = await this.#length(); length > 0; length = await this.#length()) yield* this.#parts(length)
  }

  /** So many bytes, as they come. */
  async *#parts(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.#rest.length === 0) this.#rest = await this.#more()
      const part = this.#take(Math.min(left, this.#rest.length))
      left -= part.length
      yield part
    }
  }

  async #length(most = LONGEST): Promise<number> {
    while (this.#rest.length < 4) this.#rest = Buffer.concat([this.#rest, await this.#more()])
    const length = this.#take(4).readUInt32BE()
    if (length > most) throw new Error('A piece is too long.')
    return length
  }

  #take(count: number): Buffer {
    const part = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    return part
  }

  async #more(): Promise<Buffer> {
    const { done, value } = await this.#chunks.next()
    if (done === true) throw new Error('The bytes ended early.')
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
}
