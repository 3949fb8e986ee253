/** Milliseconds. No zone sets its clocks twice in two of them. */
export const A_DAY = 86_400_000

/** Clocks are set at a quarter of an hour. */
const QUARTER = 900_000
/** Of a schedule of every minute on a day when clocks are set some hundred are asked for. */
const KNOWN_MAX = 5_000

/** Each takes tens of kilobytes, and tenants name the zones. */
const FORMATS_MAX = 100

const formats = new Map<string, Intl.DateTimeFormat>()
const known = new Map<string, number>()

/** By how much the clocks of a zone are ahead of UTC at a moment, in milliseconds. @throws RangeError for an unknown zone */
export function offsetAt(zone: string, moment: number): number {
  if (zone === 'UTC') return 0
  const key = `${zone} ${Math.floor(moment / QUARTER)}`
  const offset = known.get(key) ?? readOffset(zone, moment)
  if (known.size >= KNOWN_MAX) known.clear()
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
 * When the clocks of a zone show a time: once, twice where they are set back, never where they are set forward.
 *
 * @param shown the time that they show, as if it were UTC
 * @returns the moments in order, and the one at which clocks that nobody had set would show it
 */
export function momentsOf(zone: string, shown: number): { moments: number[]; unset: number } {
  const before = offsetAt(zone, shown - A_DAY)
  const offsets = new Set([before, offsetAt(zone, shown + A_DAY)])
  const moments = [...offsets].map((offset) => shown - offset).filter((at) => at + offsetAt(zone, at) === shown)
  return { moments: moments.sort((one, other) => one - other), unset: shown - before }
}
