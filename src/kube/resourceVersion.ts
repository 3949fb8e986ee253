import { compareTexts } from '../core/textOrder.ts'

const DIGITS = /^(0|[1-9][0-9]*)$/

/**
 * Returns a negative number, zero or a positive number if resource version `a` is older than, the same as or newer than
 * `b`. Versions are decimal integers of any length, comparable within one type (KEP-5504); they never become floats.
 *
 * @throws RangeError if one is not such a number: guessing an order could move a cache backwards
 */
export function compareResourceVersions(a: string, b: string): number {
  if (!DIGITS.test(a) || !DIGITS.test(b)) throw new RangeError(`Resource versions "${a}" and "${b}" have no order.`)
  return a.length - b.length || compareTexts(a, b)
}

/** Whether `version` is newer than `than`; any version is newer than undefined. */
export function isNewerResourceVersion(version: string, than: string | undefined): boolean {
  return than === undefined || compareResourceVersions(version, than) > 0
}
