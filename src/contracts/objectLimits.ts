/** What admission says about objects for which there is no room, and how the facade parses it. */

/** The admission policies: against too many objects in a boundary, and against an object that is too large. */
export const OBJECT_COUNT_POLICY = 'freehold-full'
export const OBJECT_SIZE_POLICY = 'freehold-size'

/** Parts of the message with the numbers, to be joined in TypeScript or CEL. */
export const objectCountMessage = (held: string, limit: string) =>
  ['has ', held, ' objects of at most ', limit] as const
const COUNT_PATTERN = new RegExp(objectCountMessage('(\\d+)', '(\\d+)').join(''))

export function parseObjectCountMessage(message: string): { used: number; limit: number } | undefined {
  const [, used, limit] = COUNT_PATTERN.exec(message) ?? []
  return limit === undefined ? undefined : { used: Number(used), limit: Number(limit) }
}

export const objectSizeMessage = (bytes: string, limit: string) => ['has ', bytes, ' bytes of at most ', limit] as const
const SIZE_PATTERN = new RegExp(objectSizeMessage('\\d+', '(\\d+)').join(''))

export function parseObjectSizeLimit(message: string): number | undefined {
  const [, limit] = SIZE_PATTERN.exec(message) ?? []
  return limit === undefined ? undefined : Number(limit)
}
