import { createRequire } from 'node:module'
import { DAY_MS } from '../core/clock.ts'
import { momentsOf, offsetAt } from '../core/zonedTime.ts'
import { matching, withCelRules } from './fields.ts'

const listPattern = (number: string) => {
  const part = `(\\*|${number}(-${number})?)(/[1-9][0-9]?)?`
  return `${part}(,${part})*`
}
/** Minute, hour, day of the month, month, day of the week (crontab(5) without names). */
const FIELDS = ['[0-5]?[0-9]', '([01]?[0-9]|2[0-3])', '(0?[1-9]|[12][0-9]|3[01])', '(0?[1-9]|1[0-2])', '0?[0-7]']
const PATTERN = `^${FIELDS.map(listPattern).join(' ')}$`
const MESSAGE =
  'must be cron in five fields, such as 0 2 * * *: minute 0-59, hour 0-23, day 1-31, month 1-12, day of the week 0-7'

/** CEL for the first number of a part of a field (1 for a star), its last one (12 for a star), and its step. */
const first = (part: string) => `(${part}.startsWith('*') ? 1 : int(${part}.split('/')[0].split('-')[0]))`
const last = (part: string) =>
  `(${part}.startsWith('*') ? 12 : ${part}.contains('-') ? int(${part}.split('/')[0].split('-')[1]) : ${part}.contains('/') ? 12 : ${first(part)})`
const step = (part: string) => `(${part}.contains('/') ? int(${part}.split('/')[1]) : 1)`
const hasDay = (comparison: string) => `self.split(' ')[2].split(',').exists(d, ${first('d')} ${comparison})`
const hasMonth = (months: string) =>
  `self.split(' ')[3].split(',').exists(m, [${months}].exists(x, x >= ${first('m')} && x <= ${last('m')} && (x - ${first('m')}) % ${step('m')} == 0))`
/** Matches an open day of the week, where the day of the month decides alone; any part of its list may be a star. */
const OPEN_WEEKDAY = ' ([^ ]*,)?[*](/1)?(,[^ ]*)?$'
const isWellFormed = `self.matches('${PATTERN.replaceAll('\\', '\\\\')}')`

/** A cron schedule, in UTC. */
export const CronSchedule = withCelRules(
  matching(100, new RegExp(PATTERN), MESSAGE),
  {
    cel: `!${isWellFormed} || self.replace(' ', ',').split(',').all(p, !p.contains('-') || int(p.split('/')[0].split('-')[0]) <= int(p.split('/')[0].split('-')[1]))`,
    message: 'must be cron whose ranges go upwards',
    test: (text) =>
      !isCron(text) || text.split(' ').every((field, at) => field.split(',').every((part) => isValidPart(part, at))),
  },
  {
    cel: `!${isWellFormed} || !self.matches('${OPEN_WEEKDAY}') || ${hasDay('<= 29')} || (${hasDay('== 30')} && ${hasMonth('1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12')}) || ${hasMonth('1, 3, 5, 7, 8, 10, 12')}`,
    message: 'must be cron with a day that its months have',
    test: (text) => !isCron(text) || everFires(text),
  },
)

/**
 * The same in an item of a list, where the API server's CEL budget has no room for the rules: it checks the pattern,
 * and code that uses the schedule checks `everRuns`.
 */
export const ListedCronSchedule = matching(100, new RegExp(PATTERN), MESSAGE)

/** Whether a well-formed schedule ever runs: its ranges go upwards, and its months have its days. */
export const everRuns = (text: string) => isCron(text) && isParsable(text) && everFires(text)

const isCron = (text: string) => new RegExp(PATTERN).test(text)

/** Loaded when the first schedule is checked, because it comes with data of every time zone. */
const parser = () => createRequire(import.meta.url)('cron-parser') as typeof import('cron-parser')

/** Returns the next run of a schedule, RFC 3339; null if it never runs, as one that is older than the rules may. */
export function nextRun(schedule: string, now: number, zone = 'UTC'): string | null {
  if (!everRuns(schedule)) return null
  const reach = clockChangeOf(zone, now)
  const times = timesFrom(schedule, now + offsetAt(zone, now) - reach)
  for (let found = Number.POSITIVE_INFINITY; ; ) {
    const localTime = times.next().getTime()
    for (const at of runsAt(schedule, localTime, zone)) if (at > now) found = Math.min(found, at)
    if (found < Number.POSITIVE_INFINITY && localTime >= found + offsetAt(zone, found) + reach)
      return new Date(found).toISOString()
  }
}

/** Returns the last run of a schedule up to now, RFC 3339; null if it never runs. */
export function lastRun(schedule: string, now: number, zone = 'UTC'): string | null {
  if (!everRuns(schedule)) return null
  const reach = clockChangeOf(zone, now)
  // A moment later, so that a run at exactly this time counts.
  const times = timesFrom(schedule, now + offsetAt(zone, now) + reach + 1)
  for (let found = Number.NEGATIVE_INFINITY; ; ) {
    const localTime = times.prev().getTime()
    for (const at of runsAt(schedule, localTime, zone)) if (at <= now) found = Math.max(found, at)
    if (found > Number.NEGATIVE_INFINITY && localTime <= found + offsetAt(zone, found) - reach)
      return new Date(found).toISOString()
  }
}

/** Returns the milliseconds by which clocks change within a day of now: local times there are not in order. */
function clockChangeOf(zone: string, now: number): number {
  return Math.abs(offsetAt(zone, now - DAY_MS) - offsetAt(zone, now + DAY_MS))
}

/** Returns the times of a schedule from one on, in either direction, as clocks show them but as if they were UTC. */
function timesFrom(schedule: string, localTime: number) {
  const options = { currentDate: new Date(localTime), tz: 'UTC' }
  return parser().CronExpressionParser.parse(normalizeSchedule(schedule), options)
}

/**
 * If clocks are set back, a schedule runs in the first of the two equal hours; if they are set forward over its time,
 * it runs as if they were not. A schedule of every hour depends on the minutes alone and runs in both hours.
 */
function runsAt(schedule: string, localTime: number, zone: string): number[] {
  const { moments, unset } = momentsOf(zone, localTime)
  if (normalizeSchedule(schedule).split(' ')[1] === '*') return moments
  return [moments[0] ?? unset]
}

/** Whether the platform knows a time zone of this name. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function isParsable(expression: string): boolean {
  try {
    parser().CronExpressionParser.parse(normalizeSchedule(expression))
    return true
  } catch {
    return false
  }
}

/** Checks each part alone, because a number may occur twice in a list. */
function isValidPart(part: string, at: number): boolean {
  return isParsable(withOnlyField(part, at))
}

const withOnlyField = (part: string, at: number) => FIELDS.map((_, field) => (field === at ? part : '*')).join(' ')

/** Numbers that a star covers. The last one is also the end of a step that only names its first number. */
const FIELD_RANGES = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const
/** Fields that cron reads together: if both name days, either is enough. */
const [DAY_OF_MONTH, DAY_OF_WEEK] = [2, 4]

/**
 * Normalizes a schedule so that every implementation of cron understands it alike: days are a star or plain numbers,
 * Sunday is 0, and no number occurs twice. They differ on Sunday as 7 and on a star with a step.
 *
 * @throws Error for a part that has no numbers
 */
export function normalizeSchedule(schedule: string): string {
  return schedule.split(' ').map(plainField).join(' ')
}

function plainField(field: string, at: number): string {
  const parts = field.split(',')
  if (parts.some((part) => part === '*' || part === '*/1')) return '*'
  const isOfDays = at === DAY_OF_MONTH || at === DAY_OF_WEEK
  if (parts.length === 1 && !(isOfDays && /[/7]/.test(field))) return field
  const numbers = parts.flatMap((part) => numbersOf(part, FIELD_RANGES[at] ?? FIELD_RANGES[0]))
  const days = at === DAY_OF_WEEK ? numbers.map((day) => day % 7) : numbers
  return [...new Set(days)].sort((one, other) => one - other).join(',')
}

function numbersOf(part: string, [min, max]: readonly [number, number]): number[] {
  const [range = '', step = '1'] = part.split('/')
  const [from = '', to] = range === '*' ? [String(min), String(max)] : range.split('-')
  const first = Number(from)
  const last = Number(to ?? (part.includes('/') ? Math.max(first, max) : first))
  if (last < first) throw new Error(`"${part}" has no numbers.`)
  return Array.from(
    { length: Math.floor((last - first) / Number(step)) + 1 },
    (_, index) => first + index * Number(step),
  )
}

function everFires(text: string): boolean {
  if (!new RegExp(OPEN_WEEKDAY).test(text)) return true
  const [, , days = '', months = ''] = text.split(' ')
  return days.split(',').some((day) => months.split(',').some((month) => isParsable(`0 0 ${day} ${month} *`)))
}
