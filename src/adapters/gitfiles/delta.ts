/** A number of seven bits a byte, the lowest first, and where it ends. */
export function sizeAt(bytes: Buffer, start: number): { size: number; next: number } {
  let [size, at] = [0, start]
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]
    if (byte === undefined || shift > 42) return { size: Number.NaN, next: at }
    size += (byte & 0x7f) * 2 ** shift
    if (!(byte & 0x80)) return { size, next: at }
  }
}

/**
 * Applies what a pack says of an object that is like another one: pieces to copy from that one, and pieces that are new
 * (gitformat-pack, "Deltified representation").
 *
 * @returns undefined for a change that is broken, or of something else
 */
export function applyDelta(base: Buffer, delta: Buffer): Buffer | undefined {
  const source = sizeAt(delta, 0)
  const target = sizeAt(delta, source.next)
  if (source.size !== base.length || !Number.isSafeInteger(target.size)) return undefined
  const result = Buffer.alloc(target.size)
  let [at, written] = [target.next, 0]
  /** The bytes that the lower bits of a command announce: a number, the lowest byte first. */
  const announced = (command: number, bits: readonly number[]) =>
    bits.reduce((sum, bit, index) => (command & bit ? sum + (delta[at++] ?? 0) * 256 ** index : sum), 0)
  while (at < delta.length) {
    const command = delta[at++] ?? 0
    const isCopy = (command & 0x80) !== 0
    const from = isCopy ? announced(command, [1, 2, 4, 8]) : at
    const length = isCopy ? announced(command, [16, 32, 64]) || 0x10000 : command
    const origin = isCopy ? base : delta
    // Zero is reserved; nothing else has a length of zero.
    if (length === 0 || from + length > origin.length || written + length > target.size) return undefined
    origin.copy(result, written, from, from + length)
    written += length
    if (!isCopy) at += length
  }
  return written === target.size ? result : undefined
}
