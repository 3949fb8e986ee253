import { expect } from 'chai'
import { CronSchedule, everRuns, lastRun, nextRun, normalizeSchedule } from './schedule.ts'

const NOON = Date.parse('2026-01-07T12:00:00Z')

describe('CronSchedule, everRuns, nextRun and lastRun', () => {
  const PARTS: readonly (readonly string[])[] = [
    ['*', '5', '05', '*/15', '0-30', '0-30/10', '50/5'],
    ['*', '2', '02', '*/6', '1-3', '20/2'],
    ['*', '1', '01', '*/9', '1-15', '25/3', '31'],
    ['*', '1', '01', '*/5', '1-6', '7/2'],
    ['*', '0', '7', '07', '*/2', '0-7', '1-7/3', '5/2', '7/2'],
  ]
  for (const [at, parts] of PARTS.entries()) {
    const fields = ['minute', 'hour', 'day', 'month', 'day of the week']
    it(`accept repeated values of the ${fields[at]}`, () => {
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
    ['0 2 1 * *,3', '2026-02-01T02:00:00.000Z'],
  ]
  for (const [schedule, next] of cases)
    it(`return ${next} as the next run of "${schedule}"`, () => expect(nextRun(schedule, NOON)).to.equal(next))

  const WEEKDAYS = ['*', '*/1', '*/2', '1', '0-6', '7/2']
  for (const weekday of [...WEEKDAYS, ...WEEKDAYS.flatMap((one) => WEEKDAYS.map((other) => `${one},${other}`))])
    it(`accept only schedules that ever run, with the day of the week "${weekday}"`, () => {
      const isOpen = weekday.split(',').some((part) => part === '*' || part === '*/1')
      for (const [days, comes] of [
        ['29 2', true],
        ['31 4,5', true],
        ['30 2', !isOpen],
        ['31 2', !isOpen],
        ['31,30 2', !isOpen],
        ['31 2,4', !isOpen],
        ['31 4-6/2', !isOpen],
      ] as const) {
        const schedule = `0 0 ${days} ${weekday}`
        expect(CronSchedule.safeParse(schedule).success, schedule).to.equal(comes)
        expect(everRuns(schedule), schedule).to.equal(comes)
        expect(nextRun(schedule, NOON) !== null, schedule).to.equal(comes)
        expect(lastRun(schedule, NOON) !== null, schedule).to.equal(comes)
      }
    })

  for (const schedule of ['', 'daily', '30-10 * * * *', '* * * * 5-1', '0 0 31 2 *', '0 2 * JAN *', '*/0 * * * *'])
    it(`return null for the stored schedule "${schedule}"`, () => {
      expect([nextRun(schedule, NOON), lastRun(schedule, NOON)]).to.deep.equal([null, null])
    })
})

/** As robfig/cron 3.0.1 (Velero) and 1.2.0 (CloudNativePG) run the normalized schedule. */
describe('normalizeSchedule', () => {
  const cases: [schedule: string, told: string, next: string][] = [
    ['0 2 * * *', '0 2 * * *', '01-08T02:00 01-09T02:00 01-10T02:00'],
    ['0 2 * * 7', '0 2 * * 0', '01-11T02:00 01-18T02:00 01-25T02:00'],
    ['0 2 * * 5-7', '0 2 * * 0,5,6', '01-09T02:00 01-10T02:00 01-11T02:00'],
    ['0 2 * * 1-7/2', '0 2 * * 0,1,3,5', '01-09T02:00 01-11T02:00 01-12T02:00'],
    ['0 2 * * 0,7', '0 2 * * 0', '01-11T02:00 01-18T02:00 01-25T02:00'],
    ['0 2 * * 1-5', '0 2 * * 1-5', '01-08T02:00 01-09T02:00 01-12T02:00'],
    ['0 2 * * 7/2', '0 2 * * 0', '01-11T02:00 01-18T02:00 01-25T02:00'],
    ['0 2 * * 5/2', '0 2 * * 5', '01-09T02:00 01-16T02:00 01-23T02:00'],
    ['0 2 * * 1/3', '0 2 * * 1,4', '01-08T02:00 01-12T02:00 01-15T02:00'],
    ['0 2 * * */2', '0 2 * * 0,2,4,6', '01-08T02:00 01-10T02:00 01-11T02:00'],
    ['0 2 */9 * *', '0 2 1,10,19,28 * *', '01-10T02:00 01-19T02:00 01-28T02:00'],
    ['0 2 */9 * 5', '0 2 1,10,19,28 * 5', '01-09T02:00 01-10T02:00 01-16T02:00'],
    ['0 2 1 * 5', '0 2 1 * 5', '01-09T02:00 01-16T02:00 01-23T02:00'],
    ['0 2 1 * */1', '0 2 1 * *', '02-01T02:00 03-01T02:00 04-01T02:00'],
    ['0 2 */1 * 5', '0 2 * * 5', '01-09T02:00 01-16T02:00 01-23T02:00'],
    ['0 2 1-31 * 5', '0 2 1-31 * 5', '01-08T02:00 01-09T02:00 01-10T02:00'],
    ['0 2 1 * 0-6', '0 2 1 * 0-6', '01-08T02:00 01-09T02:00 01-10T02:00'],
    ['0 2 1,*,3 * 5', '0 2 * * 5', '01-09T02:00 01-16T02:00 01-23T02:00'],
    ['0 2 25/3 * *', '0 2 25,28,31 * *', '01-25T02:00 01-28T02:00 01-31T02:00'],
    ['*/15 7 7 7 */2', '*/15 7 7 7 0,2,4,6', '07-02T07:00 07-02T07:15 07-02T07:30'],
    ['50/5 20/2 * */5 *', '50/5 20/2 * */5 *', '01-07T20:50 01-07T20:55 01-07T22:50'],
  ]
  for (const [schedule, normalized, next] of cases)
    it(`converts "${schedule}" to "${normalized}" with the same runs`, () => {
      expect(CronSchedule.safeParse(schedule).success).to.equal(true)
      expect(normalizeSchedule(schedule)).to.equal(normalized)
      const times: string[] = []
      for (let now = NOON; times.length < 3; now = Date.parse(times.at(-1) ?? ''))
        times.push(nextRun(schedule, now) ?? '')
      expect(times.map((time) => time.slice(5, 16)).join(' ')).to.equal(next)
      expect(lastRun(schedule, Date.parse(times[2] ?? ''))).to.equal(times[2])
    })

  for (const schedule of [
    '@daily',
    '0 2 ? * *',
    '0 2 * JAN *',
    '0 2 * * SUN',
    '0 2 L * *',
    '0 2 * * 5#2',
    '0 0 2 * * *',
  ])
    it(`CronSchedule rejects ${schedule}`, () => {
      expect(CronSchedule.safeParse(schedule).success).to.equal(false)
      expect(everRuns(schedule)).to.equal(false)
    })
})
