import { expect } from 'chai'
import { lastRun, nextRun } from './schedule.ts'

const MINUTE = 60_000
const A_DAY = 1_440 * MINUTE

/** Runs within half a day, by nextRun and by lastRun. */
function runsOf(schedule: string, zone: string, from: string): { ahead: string[]; passed: string[] } {
  const [begin, end] = [Date.parse(from), Date.parse(from) + A_DAY / 2]
  const ahead: string[] = []
  for (let at = begin; ; ) {
    const next = nextRun(schedule, at, zone) ?? ''
    at = Date.parse(next)
    if (!(at <= end)) break
    ahead.push(next.slice(11, 16))
  }
  const passed: string[] = []
  let last = begin
  for (let now = begin; now <= end; now += MINUTE) {
    const run = lastRun(schedule, now, zone) ?? ''
    if (Date.parse(run) <= last) continue
    last = Date.parse(run)
    passed.push(run.slice(11, 16))
  }
  return { ahead, passed }
}

describe('nextRun and lastRun across a change of clocks', () => {
  const cases: [sentence: string, schedule: string, zone: string, from: string, runs: string][] = [
    [
      'run at a skipped time as if the clocks had not changed',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T22:00Z',
      '01:30',
    ],
    ['run once at a repeated time', '30 2 * * *', 'Europe/Berlin', '2026-10-24T22:00Z', '00:30'],
    ['run once at each of two repeated times', '0,30 1 * * *', 'America/New_York', '2026-11-01T03:00Z', '05:00 05:30'],
    ['run at the hour after a repeated one', '0 3 * * *', 'Europe/Berlin', '2026-10-24T22:00Z', '02:00'],
    [
      'run in both repeated hours of an hourly schedule',
      '0 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:30Z',
      '00:00 01:00 02:00 03:00 04:00 05:00 06:00 07:00 08:00 09:00 10:00 11:00',
    ],
    ['run after a change of half an hour', '0 3 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00Z', '16:30'],
    ['run at a skipped half hour', '15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00Z', '15:45'],
    ['run on a change at midnight', '15 0 * * *', 'Africa/Cairo', '2026-04-23T20:00Z', '22:15'],
    ['run in a zone without changes', '30 2 * * *', 'Asia/Kathmandu', '2026-03-28T20:00Z', '20:45'],
  ]
  for (const [sentence, schedule, zone, from, runs] of cases) {
    it(sentence, () => {
      const { ahead, passed } = runsOf(schedule, zone, from)
      expect(ahead.join(' ')).to.equal(runs)
      expect(passed.join(' '), 'by lastRun').to.equal(runs)
    })
  }
})
