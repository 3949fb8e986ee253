/** What admission says of objects for which there is no room, and how the facade reads it. */

/** The admission policies: of a boundary with too many objects, and of an object that is too large. */
export const FULL_POLICY = 'freehold-full'
export const SIZE_POLICY = 'freehold-size'

/** The part with the numbers, in any language that puts texts together. */
export const heldOfMost = (held: string, most: string) => ['has ', held, ' objects of at most ', most] as const
const HELD = new RegExp(heldOfMost('(\\d+)', '(\\d+)').join(''))

export function readHeld(message: string): { used: number; limit: number } | undefined {
  const [, used, limit] = HELD.exec(message) ?? []
  return limit === undefined ? undefined : { used: Number(used), limit: Number(limit) }
}

export const bytesOfMost = (bytes: string, most: string) => ['has ', bytes, ' bytes of at most ', most] as const
const BYTES = new RegExp(bytesOfMost('\\d+', '(\\d+)').join(''))

export function readBytesMost(message: string): number | undefined {
  const [, most] = BYTES.exec(message) ?? []
  return most === undefined ? undefined : Number(most)
}
