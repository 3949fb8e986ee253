import type { Clock, Timer } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'
import { everRuns, isTimeZone, lastRun, nextRun } from '../crds/schedule.ts'

/** Finds timers that are due, and fires them through callbacks. */

export type ScheduledFunction = {
  key: string
  enabled: boolean
  createdAt: string
  /** Whether the spec, and with it the timers, is as it was created. */
  isUnchanged: boolean
  triggers: readonly Pick<FunctionTrigger, 'name' | 'kind' | 'schedule' | 'timeZone'>[]
  /** By trigger: the last scheduled time that fired. */
  lastRuns: Readonly<Record<string, string>>
  /** By trigger: the known schedule, and since when it applies. */
  known: Readonly<Record<string, KnownTimer>>
}

export type KnownTimer = { schedule: string; since: string }

export type DueRun = { key: string; trigger: string; scheduledAt: string }

const scheduleOf = ({ schedule, timeZone }: ScheduledFunction['triggers'][number]) => `${schedule} ${timeZone}`

/** Milliseconds of clock skew allowed between replicas. A later time was written by a clock that was wrong. */
const MAX_CLOCK_SKEW_MS = 3_600_000

/**
 * Returns the schedules of new or changed timers, and null for removed ones; undefined if nothing changed. Without
 * `since`, a timer added to a function of last week would be due at once. A timer fired by a clock that ran ahead
 * starts over; otherwise it would wait until that time comes.
 */
export function changedTimers(
  { createdAt, isUnchanged, triggers, known, lastRuns }: ScheduledFunction,
  now: number,
): Record<string, KnownTimer | null> | undefined {
  const timestamp = new Date(now).toISOString()
  const isFuture = (time: string | undefined) => time !== undefined && Date.parse(time) > now + MAX_CLOCK_SKEW_MS
  const hasFutureTime = (name: string) => isFuture(lastRuns[name]) || isFuture(known[name]?.since)
  const timers = triggers.filter(({ kind }) => kind === 'Timer')
  const changed = timers.filter(
    (timer) => known[timer.name]?.schedule !== scheduleOf(timer) || hasFutureTime(timer.name),
  )
  const removed = Object.keys(known).filter((name) => timers.every((timer) => timer.name !== name))
  if (changed.length + removed.length === 0) return undefined
  return Object.fromEntries([
    ...changed.map((timer) => {
      const since = isUnchanged && !hasFutureTime(timer.name) ? createdAt : timestamp
      return [timer.name, { schedule: scheduleOf(timer), since }] as const
    }),
    ...removed.map((name) => [name, null] as const),
  ])
}

/** The last and the next time of a schedule, seen from now. */
type Times = { readonly from: number; readonly last: string | null; readonly next: number | undefined }

/**
 * Caches the times of each schedule until its next time: functions change far more often, and each change looks at all
 * schedules.
 */
export class ScheduleTimes {
  #previous = new Map<string, Times>()
  #current = new Map<string, Times>()

  at(schedule: string, timeZone: string, now: number): Times {
    const key = `${schedule} ${timeZone}`
    const known = this.#previous.get(key) ?? this.#current.get(key)
    const holds = known !== undefined && known.from <= now && now < (known.next ?? Number.POSITIVE_INFINITY)
    const times = holds ? known : timesOf(schedule, timeZone, now)
    this.#current.set(key, times)
    return times
  }

  /** Evicts schedules that were not used since the last call. */
  forget(): void {
    this.#previous = this.#current
    this.#current = new Map()
  }
}

function timesOf(schedule: string, timeZone: string, now: number): Times {
  if (!everRuns(schedule) || !isTimeZone(timeZone)) return { from: now, last: null, next: undefined }
  const following = nextRun(schedule, now, timeZone)
  const next = following === null ? undefined : Date.parse(following)
  return { from: now, last: lastRun(schedule, now, timeZone), next }
}

/** Returns the runs that are due (of missed ones only the latest), and the time of the next one. */
export function dueTimers(
  functions: readonly ScheduledFunction[],
  now: number,
  times = new ScheduleTimes(),
): { due: DueRun[]; next: number | undefined } {
  const due: DueRun[] = []
  let next: number | undefined
  for (const { key, enabled, triggers, lastRuns, known } of functions) {
    if (!enabled) continue
    for (const timer of triggers) {
      const { name, kind, schedule, timeZone } = timer
      if (kind !== 'Timer' || schedule === undefined) continue
      if (known[name]?.schedule !== scheduleOf(timer)) continue
      const { last: scheduledAt, next: following } = times.at(schedule, timeZone, now)
      const since = Math.max(Date.parse(known[name].since), Date.parse(lastRuns[name] ?? known[name].since))
      if (scheduledAt !== null && Date.parse(scheduledAt) > since) due.push({ key, trigger: name, scheduledAt })
      if (following !== undefined) next = Math.min(next ?? Number.POSITIVE_INFINITY, following)
    }
  }
  return { due, next }
}

export type TimersOptions = {
  clock: Clock
  functions: () => readonly ScheduledFunction[]
  /** Stores what `changedTimers` returned; `functions` then shows it. */
  recordSchedules: (key: string, timers: Readonly<Record<string, KnownTimer | null>>) => Promise<void>
  /** Records a run; `functions` shows it once this resolves. */
  recordRun: (due: DueRun) => Promise<void>
  /** Calls the function. Errors are already logged. */
  call: (due: DueRun) => Promise<void>
  log: Pick<Log, 'warn'>
}

/** Maximum milliseconds between checks: process timers miss clock changes and time in which the machine sleeps. */
const MAX_CHECK_INTERVAL_MS = 60_000
/** Milliseconds before a failed status write is retried. */
const WRITE_RETRY_MS = 1_000

/** Fires timers that are due, with a single process timer set to the next one. */
export class Timers {
  readonly #options: TimersOptions
  /** Status writes in flight. Functions may change meanwhile, and would still show the run as due. */
  readonly #inFlightWrites = new Set<string>()
  readonly #times = new ScheduleTimes()
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: TimersOptions) {
    this.#options = options
  }

  /** Checks all timers: at start, when one is due, and when functions changed. */
  check(): void {
    if (this.#isStopped) return
    const { clock, functions } = this.#options
    const now = clock.now()
    const all = functions()
    const { due, next } = dueTimers(all, now, this.#times)
    this.#times.forget()
    this.#scheduleCheck(next === undefined ? undefined : Math.min(next - now, MAX_CHECK_INTERVAL_MS))
    for (const each of due) void this.#fire(each)
    for (const each of all) {
      const changed = changedTimers(each, now)
      if (changed !== undefined) void this.#storeSchedules(each.key, changed)
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #storeSchedules(key: string, timers: Readonly<Record<string, KnownTimer | null>>): Promise<void> {
    const id = JSON.stringify([key])
    const isStored = await this.#writeOnce(id, { key }, () => this.#options.recordSchedules(key, timers))
    if (isStored) this.check()
  }

  /** Records the run before calling: after a crash a run is missed rather than repeated. */
  async #fire(due: DueRun): Promise<void> {
    const { recordRun, call } = this.#options
    const id = JSON.stringify([due.key, due.trigger, due.scheduledAt])
    if (await this.#writeOnce(id, due, () => recordRun(due))) await call(due)
  }

  /** Returns whether this call wrote it. A failed write is retried shortly. */
  async #writeOnce(id: string, fields: object, write: () => Promise<void>): Promise<boolean> {
    if (this.#inFlightWrites.has(id)) return false
    this.#inFlightWrites.add(id)
    try {
      await write()
      return true
    } catch (error) {
      const message = 'The state of a timer could not be stored, so it did not fire; trying again.'
      this.#options.log.warn({ ...fields, error: messageOf(error) }, message)
      this.#scheduleCheck(WRITE_RETRY_MS)
      return false
    } finally {
      this.#inFlightWrites.delete(id)
    }
  }

  #scheduleCheck(milliseconds: number | undefined): void {
    this.#timer?.cancel()
    if (this.#isStopped || milliseconds === undefined) return
    this.#timer = this.#options.clock.setTimeout(() => this.check(), milliseconds)
  }
}
