import { DAY_MS } from './clock.ts'

/** Milliseconds. Clocks change on a quarter of an hour, so that an offset holds for the whole quarter. */
const QUARTER_MS = 900_000
/** Offsets in the cache. A schedule of every minute needs some hundred on a day when clocks change. */
const OFFSETS_MAX = 5_000

/** Formats in the cache: each takes tens of kilobytes, and tenants name the zones. */
const FORMATS_MAX = 100

const formats = new Map<string, Intl.DateTimeFormat>()
const known = new Map<string, number>()

/** Returns how far a zone is ahead of UTC at a moment, in milliseconds. @throws RangeError for an unknown zone */
export function offsetAt(zone: string, moment: number): number {
  if (zone === 'UTC') return 0
  const key = `${zone} ${Math.floor(moment / QUARTER_MS)}`
  const offset = known.get(key) ?? readOffset(zone, moment)
  if (known.size >= OFFSETS_MAX) known.clear()
  known.set(key, offset)
  return offset
}

function readOffset(zone: string, moment: number): number {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  if (formats.size >= FORMATS_MAX) formats.clear()
  formats.set(zone, format)
  const name = format.formatToParts(moment).find(({ type }) => type === 'timeZoneName')?.value
  const [, sign, hours = '0', minutes = '0'] = /([+-])(\d\d):(\d\d)/.exec(name ?? '') ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

/**
 * Returns when the clocks of a zone show a time: once, twice if they are set back, never if they are set forward.
 *
 * @param localTime the time that they show, as if it were UTC
 * @returns the moments in order, and in `unset` when the clocks would show the time if they had not been changed
 */
export function momentsOf(zone: string, localTime: number): { moments: number[]; unset: number } {
  // No zone changes its clocks twice within two days.
  const before = offsetAt(zone, localTime - DAY_MS)
  const offsets = new Set([before, offsetAt(zone, localTime + DAY_MS)])
  const moments = [...offsets].map((offset) => localTime - offset).filter((at) => at + offsetAt(zone, at) === localTime)
  return { moments: moments.sort((one, other) => one - other), unset: localTime - before }
}
