import type { Clock, Timer } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'
import { everRuns, isTimeZone, lastRun, nextRun } from '../crds/schedule.ts'

/** Timers that are due are found here, and fired by whoever starts this. */

export type Scheduled = {
  key: string
  enabled: boolean
  /** Nothing was due before. */
  createdAt: string
  triggers: readonly Pick<FunctionTrigger, 'name' | 'kind' | 'schedule' | 'timeZone'>[]
  /** By trigger: the last time that it fired for. */
  lastRuns: Readonly<Record<string, string>>
}

export type Due = { key: string; trigger: string; scheduledAt: string }

/** What is due now, of missed times the last one only; and when the next one is. */
export function dueTimers(functions: readonly Scheduled[], now: number): { due: Due[]; next: number | undefined } {
  const due: Due[] = []
  let next: number | undefined
  for (const { key, enabled, createdAt, triggers, lastRuns } of functions) {
    if (!enabled) continue
    for (const { name, kind, schedule, timeZone } of triggers) {
      if (kind !== 'Timer' || schedule === undefined || !everRuns(schedule) || !isTimeZone(timeZone)) continue
      const scheduledAt = lastRun(schedule, now, timeZone)
      const since = Date.parse(lastRuns[name] ?? createdAt)
      if (scheduledAt !== null && Date.parse(scheduledAt) > since) due.push({ key, trigger: name, scheduledAt })
      const following = nextRun(schedule, now, timeZone)
      if (following !== null) next = Math.min(next ?? Number.POSITIVE_INFINITY, Date.parse(following))
    }
  }
  return { due, next }
}

export type TimersOptions = {
  clock: Clock
  functions: () => readonly Scheduled[]
  /** Stores that it has fired, which `functions` shows as soon as this resolves. */
  note: (due: Due) => Promise<void>
  /** Calls the function. What it throws is told already. */
  call: (due: Due) => Promise<void>
  log: Pick<Log, 'warn'>
}

/** Timers of the process count to 24 days. */
const A_DAY = 86_400_000
/** Milliseconds after which what could not be noted is tried again. */
const AGAIN = 1_000

/** Fires what is due. One timer of the process for all: the one of the next moment. */
export class Timers {
  readonly #options: TimersOptions
  /** What is being noted: functions may change meanwhile, and it is due still. */
  readonly #underWay = new Set<string>()
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: TimersOptions) {
    this.#options = options
  }

  /** Looks again: at the start, when a moment has come, and when functions have changed. */
  look(): void {
    if (this.#isStopped) return
    const { clock, functions } = this.#options
    const now = clock.now()
    const { due, next } = dueTimers(functions(), now)
    for (const each of due) void this.#fire(each)
    this.#lookIn(next === undefined ? undefined : Math.min(next - now, A_DAY))
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** First it is written that it has fired: after a crash a time is rather missed than called twice. */
  async #fire(due: Due): Promise<void> {
    const { note, call, log } = this.#options
    const id = JSON.stringify([due.key, due.trigger, due.scheduledAt])
    if (this.#underWay.has(id)) return
    this.#underWay.add(id)
    try {
      await note(due)
    } catch (error) {
      log.warn({ ...due, error: messageOf(error) }, 'A timer could not be noted, and did not fire; trying again.')
      this.#lookIn(AGAIN)
      return
    } finally {
      this.#underWay.delete(id)
    }
    await call(due)
  }

  #lookIn(milliseconds: number | undefined): void {
    this.#timer?.cancel()
    if (this.#isStopped || milliseconds === undefined) return
    this.#timer = this.#options.clock.setTimeout(() => this.look(), milliseconds)
  }
}
