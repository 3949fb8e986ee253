import { open } from 'node:fs/promises'
import { unlessAbsent } from '../../core/unlessAbsent.ts'

const BLOCK_BYTES = 256 * 1024

/**
 * Yields the last lines of a file, last first, up to `maxBytes`; none if there is no file. The event loop is free
 * between blocks.
 */
export async function* linesBackwards(path: string, maxBytes: number): AsyncGenerator<string> {
  const file = await unlessAbsent(open(path, 'r'))
  if (file === undefined) return
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - maxBytes)
    // What follows of a line that begins in an earlier block, last first. Bytes, because a block may begin in the middle
    // of a character; joined once, because a line may have many blocks.
    let rest: Buffer[] = []
    for (let at = size; at > start; ) {
      const length = Math.min(BLOCK_BYTES, at - start)
      at -= length
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
      const block = buffer.subarray(0, bytesRead)
      const cut = block.indexOf('\n')
      if (at > 0 && cut < 0) {
        rest.push(block)
        continue
      }
      const begin = at === 0 ? 0 : cut + 1
      const lines = Buffer.concat([block.subarray(begin), ...rest.reverse()])
      rest = at === 0 ? [] : [block.subarray(0, cut)]
      yield* lines.toString('utf8').split('\n').reverse()
    }
  } finally {
    await file.close()
  }
}
