import { open } from 'node:fs/promises'

const BLOCK_BYTES = 256 * 1024

/**
 * Yields the last lines of a file, last first, up to `maxBytes`; none if there is no file. The event loop is free
 * between blocks.
 */
export async function* linesBackwards(path: string, maxBytes: number): AsyncGenerator<string> {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - maxBytes)
    // Kept as bytes, because a block may begin in the middle of a character.
    let rest: Buffer = Buffer.alloc(0)
    for (let at = size; at > start; ) {
      const length = Math.min(BLOCK_BYTES, at - start)
      at -= length
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
      const block = Buffer.concat([buffer.subarray(0, bytesRead), rest])
      const cut = block.indexOf('\n')
      // Bytes before the first line feed belong to a line that begins in the block before.
      const isWhole = at === 0
      rest = isWhole ? Buffer.alloc(0) : block.subarray(0, cut < 0 ? block.length : cut)
      const lines = isWhole ? block : cut < 0 ? Buffer.alloc(0) : block.subarray(cut + 1)
      yield* lines.toString('utf8').split('\n').reverse()
    }
  } finally {
    await file.close()
  }
}
