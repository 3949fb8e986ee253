import { expect } from 'chai'
import { lastRun, nextRun } from './schedule.ts'

const MINUTE = 60_000
const A_DAY = 1_440 * MINUTE

/** From an hour before, over the day, by both ways of asking. */
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

describe('a schedule where clocks are set', () => {
  const cases: [sentence: string, schedule: string, zone: string, from: string, runs: string][] = [
    [
      'runs at a time that is left out as if they were not',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T22:00Z',
      '01:30',
    ],
    ['runs once at a time that is shown twice', '30 2 * * *', 'Europe/Berlin', '2026-10-24T22:00Z', '00:30'],
    ['runs once at two times of that hour', '0,30 1 * * *', 'America/New_York', '2026-11-01T03:00Z', '05:00 05:30'],
    ['runs at its hour after that', '0 3 * * *', 'Europe/Berlin', '2026-10-24T22:00Z', '02:00'],
    [
      'goes through both hours where it runs every hour',
      '0 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:30Z',
      '00:00 01:00 02:00 03:00 04:00 05:00 06:00 07:00 08:00 09:00 10:00 11:00',
    ],
    ['runs where they are set by half an hour', '0 3 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00Z', '16:30'],
    ['runs at the half hour that is left out', '15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00Z', '15:45'],
    ['runs where they are set at midnight', '15 0 * * *', 'Africa/Cairo', '2026-04-23T20:00Z', '22:15'],
    ['runs where nobody sets them', '30 2 * * *', 'Asia/Kathmandu', '2026-03-28T20:00Z', '20:45'],
  ]
  for (const [sentence, schedule, zone, from, runs] of cases) {
    it(sentence, () => {
      const { ahead, passed } = runsOf(schedule, zone, from)
      expect(ahead.join(' ')).to.equal(runs)
      expect(passed.join(' '), 'as they pass').to.equal(runs)
    })
  }
})
