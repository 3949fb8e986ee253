import type { SlicedWork } from '../../core/slices.ts'
import { ByteReader } from './bytes.ts'

/** Commands between two yields: a command may copy 16 MiB, but most copy a few bytes. */
const COMMANDS_PER_SLICE = 1_024

/**
 * Applies a delta to its base (gitformat-pack, "Deltified representation").
 *
 * @param allow throws if the result may not be that large
 * @throws RangeError if the delta does not fit its base
 */
export function* applyDelta(base: Buffer, delta: Buffer, allow: (size: number) => void): SlicedWork<Buffer> {
  const reader = new ByteReader(delta)
  if (reader.size() !== base.length) throw new RangeError('A delta belongs to another object.')
  const size = reader.size()
  allow(size)
  const whole = Buffer.alloc(size)
  let at = 0
  const put = (from: Buffer, start: number, length: number) => {
    if (length === 0 || start + length > from.length || at + length > size)
      throw new RangeError('A delta reaches beyond its objects.')
    at += from.copy(whole, at, start, start + length)
  }
  for (let count = 1; !reader.isAtEnd; count += 1) {
    if (count % COMMANDS_PER_SLICE === 0) yield
    const command = reader.byte()
    if ((command & 0x80) === 0) {
      put(delta, reader.at, command)
      reader.at += command
      continue
    }
    const start = reader.bytes(command, 4)
    const length = reader.bytes(command >> 4, 3)
    put(base, start, length === 0 ? 0x1_0000 : length)
  }
  if (at !== size) throw new RangeError('A delta ends too early.')
  return whole
}
