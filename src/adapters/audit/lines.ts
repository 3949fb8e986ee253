import { open } from 'node:fs/promises'

const BLOCK_BYTES = 256 * 1024

/**
 * The lines of the end of a file, last first, at most so many bytes of them; none of a file that is not there. Others
 * have their turn between two blocks.
 */
export async function* linesBackwards(path: string, maxBytes: number): AsyncGenerator<string> {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - maxBytes)
    // Bytes, because a block may begin within a character.
    let rest: Buffer = Buffer.alloc(0)
    for (let at = size; at > start; ) {
      const length = Math.min(BLOCK_BYTES, at - start)
      at -= length
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
      const block = Buffer.concat([buffer.subarray(0, bytesRead), rest])
      const cut = block.indexOf('\n')
      // What stands before the first end of a line is the end of a line of the block before.
      const isWhole = at === 0
      rest = isWhole ? Buffer.alloc(0) : block.subarray(0, cut < 0 ? block.length : cut)
      const lines = isWhole ? block : cut < 0 ? Buffer.alloc(0) : block.subarray(cut + 1)
      yield* lines.toString('utf8').split('\n').reverse()
    }
  } finally {
    await file.close()
  }
}
