import { expect } from 'chai'
import { CronSchedule, everRuns, lastRun, nextRun } from './schedule.ts'

const NOON = Date.parse('2026-01-07T12:00:00Z')

describe('a schedule', () => {
  const PARTS: readonly (readonly string[])[] = [
    ['*', '5', '05', '*/15', '0-30', '0-30/10', '50/5'],
    ['*', '2', '02', '*/6', '1-3', '20/2'],
    ['*', '1', '01', '*/9', '1-15', '25/3', '31'],
    ['*', '1', '01', '*/5', '1-6', '7/2'],
    ['*', '0', '7', '07', '*/2', '0-7', '1-7/3', '5/2', '7/2'],
  ]
  for (const [at, parts] of PARTS.entries()) {
    const fields = ['minute', 'hour', 'day', 'month', 'day of the week']
    it(`that is taken has its times, whatever its ${fields[at]} says twice`, () => {
      for (const one of parts)
        for (const other of parts) {
          const schedule = PARTS.map((_, field) => (field === at ? `${one},${other}` : '*')).join(' ')
          expect(CronSchedule.safeParse(schedule).success, schedule).to.equal(true)
          expect(everRuns(schedule), schedule).to.equal(true)
          expect(Date.parse(nextRun(schedule, NOON) ?? ''), schedule).to.be.greaterThan(NOON)
          expect(Date.parse(lastRun(schedule, NOON) ?? ''), schedule).to.be.at.most(NOON)
        }
    })
  }

  const cases: [schedule: string, next: string][] = [
    ['0 2 * * 0,7', '2026-01-11T02:00:00.000Z'],
    ['0,0 2 * * *', '2026-01-08T02:00:00.000Z'],
    ['0-40/20,20 13 * * *', '2026-01-07T13:00:00.000Z'],
    ['30 12 1-31,7 * *', '2026-01-07T12:30:00.000Z'],
    ['0 2 * 2,02 *', '2026-02-01T02:00:00.000Z'],
    ['0 2 1 * 7,1-3', '2026-01-11T02:00:00.000Z'],
  ]
  for (const [schedule, next] of cases)
    it(`"${schedule}" runs next at ${next}`, () => expect(nextRun(schedule, NOON)).to.equal(next))
})
