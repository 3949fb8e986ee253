import { type Clock, timestamp } from '../../core/clock.ts'
import { nextRun } from '../../crds/schedule.ts'

/** Returns when a schedule is due next, in the time format of records; null if never. */
export function nextRunAt({ clock }: { clock: Clock }, schedule: string, timeZone?: string): string | null {
  const next = nextRun(schedule, clock.now(), timeZone)
  return next === null ? null : timestamp(Date.parse(next))
}
