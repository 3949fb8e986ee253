import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { silentLog } from '../core/log.ts'
import { changedTimers, type DueRun, dueTimers, type ScheduledFunction, ScheduleTimes, Timers } from './timers.ts'

const timer = (schedule: string, timeZone = 'UTC') => ({ name: 'tick', kind: 'Timer' as const, schedule, timeZone })
const MADE = '2026-01-01T00:00:00Z'
const TENTH = timer('*/10 * * * *')
const knownOf = ({ schedule, timeZone }: typeof TENTH, since = MADE) => ({
  tick: { schedule: `${schedule} ${timeZone}`, since },
})
const scheduled = ({
  triggers = [TENTH],
  ...given
}: Partial<ScheduledFunction> & { triggers?: (typeof TENTH)[] }): ScheduledFunction => ({
  key: 'f',
  enabled: true,
  createdAt: MADE,
  isUnchanged: true,
  triggers,
  lastRuns: {},
  known: triggers[0] === undefined ? {} : knownOf(triggers[0], given.createdAt),
  ...given,
})

describe('ScheduleTimes', () => {
  it('computes the times of a schedule once until the next one, if it is used between two calls of forget', () => {
    const times = new ScheduleTimes()
    const at = (time: string) => times.at('*/10 * * * *', 'UTC', Date.parse(time))
    const first = at('2026-01-01T00:01:00Z')
    expect(first).to.deep.include({ last: '2026-01-01T00:00:00.000Z', next: Date.parse('2026-01-01T00:10:00Z') })
    times.forget()
    expect(at('2026-01-01T00:09:59Z')).to.equal(first)
    expect(at('2026-01-01T00:00:30Z'), 'after the clock was set back').to.not.equal(first)
    expect(at('2026-01-01T00:10:00Z')).to.deep.include({ last: '2026-01-01T00:10:00.000Z' })
    const last = at('2026-01-01T00:11:00Z')
    times.forget()
    times.forget()
    expect(at('2026-01-01T00:11:00Z')).to.not.equal(last)
  })
})

describe('dueTimers, changedTimers and Timers', () => {
  const at = (time: string) => Date.parse(time)
  const cases: [
    sentence: string,
    given: Parameters<typeof scheduled>[0],
    now: string,
    due: string[],
    next: string | undefined,
  ][] = [
    ['wait for the next time', {}, '2026-01-01T00:09:59Z', [], '2026-01-01T00:10:00.000Z'],
    ['are due at the time', {}, '2026-01-01T00:10:00Z', ['2026-01-01T00:10:00.000Z'], '2026-01-01T00:20:00.000Z'],
    [
      'are not due after a run',
      { lastRuns: { tick: '2026-01-01T00:10:00.000Z' } },
      '2026-01-01T00:10:01Z',
      [],
      '2026-01-01T00:20:00.000Z',
    ],
    [
      'are due for the last missed time',
      {},
      '2026-01-01T05:05:00Z',
      ['2026-01-01T05:00:00.000Z'],
      '2026-01-01T05:10:00.000Z',
    ],
    ['are not due while the function is disabled', { enabled: false }, '2026-01-01T05:05:00Z', [], undefined],
    [
      'are not due for a time before the function was created',
      { createdAt: '2026-01-01T00:10:01Z' },
      '2026-01-01T00:15:00Z',
      [],
      '2026-01-01T00:20:00.000Z',
    ],
    [
      'are not due for a time before they were added',
      { known: knownOf(TENTH, '2026-01-01T05:01:00Z') },
      '2026-01-01T05:05:00Z',
      [],
      '2026-01-01T05:10:00.000Z',
    ],
    [
      'are not due for a time before the schedule changed, even with an earlier run',
      { known: knownOf(TENTH, '2026-01-01T05:01:00Z'), lastRuns: { tick: '2026-01-01T03:33:00.000Z' } },
      '2026-01-01T05:05:00Z',
      [],
      '2026-01-01T05:10:00.000Z',
    ],
    ['are not due before they are stored', { known: {} }, '2026-01-01T05:10:00Z', [], undefined],
    [
      'are not due before a changed schedule is stored',
      { known: knownOf(timer('*/7 * * * *')) },
      '2026-01-01T05:10:00Z',
      [],
      undefined,
    ],
    [
      'use the time zone of the schedule',
      { triggers: [timer('0 8 * * *', 'Europe/Berlin')] },
      '2026-01-01T07:00:00Z',
      ['2026-01-01T07:00:00.000Z'],
      '2026-01-02T07:00:00.000Z',
    ],
    [
      'follow daylight saving time',
      { triggers: [timer('0 8 * * *', 'Europe/Berlin')], createdAt: '2026-07-01T00:00:00Z' },
      '2026-07-01T05:59:00Z',
      [],
      '2026-07-01T06:00:00.000Z',
    ],
    [
      'ignore an unknown time zone',
      { triggers: [timer('* * * * *', 'No/Where')] },
      '2026-01-01T05:05:00Z',
      [],
      undefined,
    ],
  ]
  for (const [sentence, given, now, due, next] of cases) {
    it(sentence, () => {
      const found = dueTimers([scheduled(given)], at(now))
      expect(found.due.map(({ scheduledAt }) => scheduledAt)).to.deep.equal(due)
      expect(found.next).to.equal(next === undefined ? undefined : at(next))
    })
  }

  const now = '2026-01-05T00:00:00.000Z'
  const learned: [sentence: string, given: Parameters<typeof scheduled>[0], changed: object | undefined][] = [
    ['change nothing if the timers are stored', {}, undefined],
    ['store the creation of the function as the start if it never changed', { known: {} }, knownOf(TENTH)],
    [
      'store the current time as the start if the function changed',
      { known: {}, isUnchanged: false },
      knownOf(TENTH, now),
    ],
    [
      'store a new start for another time zone',
      { known: knownOf(timer('*/10 * * * *', 'Asia/Tokyo')), isUnchanged: false },
      knownOf(TENTH, now),
    ],
    ['remove deleted timers', { triggers: [], known: knownOf(TENTH) }, { tick: null }],
    [
      'store a new start if the last run is a day in the future',
      { lastRuns: { tick: '2026-01-06T00:00:00.000Z' } },
      knownOf(TENTH, now),
    ],
    [
      'store a new start if the stored one is in the future',
      { known: knownOf(TENTH, '2026-01-06T00:00:00Z') },
      knownOf(TENTH, now),
    ],
    [
      'change nothing if the last run is seconds in the future',
      { lastRuns: { tick: '2026-01-05T00:00:30.000Z' } },
      undefined,
    ],
    ['store the timers of a disabled function', { known: {}, enabled: false }, knownOf(TENTH)],
  ]
  for (const [sentence, given, changed] of learned) {
    it(sentence, () => expect(changedTimers(scheduled(given), at(now))).to.deep.equal(changed))
  }

  /** Timers of an enabled function and of a disabled one. */
  function played(note: (due: DueRun) => Promise<void> = async () => {}) {
    const clock = new ManualClock(at('2026-01-01T00:05:00Z'))
    const called: string[] = []
    const lastRuns: Record<string, string> = {}
    const timers = new Timers({
      clock,
      log: silentLog,
      functions: () => [scheduled({ lastRuns }), scheduled({ key: 'other', lastRuns, enabled: false })],
      recordSchedules: async () => {
        throw new Error('All timers are known.')
      },
      async recordRun(due) {
        await note(due)
        lastRuns[due.trigger] = due.scheduledAt
      },
      call: async ({ scheduledAt }) => void called.push(scheduledAt.slice(11, 16)),
    })
    timers.check()
    return { clock, called, timers }
  }

  it('fire as time passes, with one timer of the process', async () => {
    const { clock, called, timers } = played()
    expect(clock.pending).to.equal(1)
    await clock.advance(30 * 60_000)
    expect(called).to.deep.equal(['00:10', '00:20', '00:30'])
    timers.stop()
    expect(clock.pending).to.equal(0)
  })

  it('fire within a minute after the clock was set forward', async () => {
    const { clock, called } = played()
    clock.jump(7 * 60_000)
    await clock.advance(60_000)
    expect(called).to.deep.equal(['00:10'])
  })

  it('fire once although functions change while the run is being recorded', async () => {
    const noted = Promise.withResolvers<void>()
    const { clock, called, timers } = played(() => noted.promise)
    await clock.advance(5 * 60_000)
    timers.check()
    timers.check()
    noted.resolve()
    await clock.advance(60_000)
    expect(called).to.deep.equal(['00:10'])
  })

  it('begin when their start is stored, which is retried', async () => {
    const clock = new ManualClock(at('2026-01-01T00:05:00Z'))
    let known: ScheduledFunction['known'] = {}
    let refusals = 2
    const called: string[] = []
    const timers = new Timers({
      clock,
      log: silentLog,
      functions: () => [scheduled({ known, isUnchanged: false })],
      async recordSchedules(_, changed) {
        refusals -= 1
        if (refusals >= 0) throw new Error('The API server is away.')
        known = changed as typeof known
      },
      recordRun: async () => {},
      call: async ({ scheduledAt }) => void called.push(scheduledAt.slice(11, 16)),
    })
    timers.check()
    await clock.advance(3_000)
    expect(known.tick?.since).to.match(/^2026-01-01T00:05:0[1-3]/)
    await clock.advance(5 * 60_000)
    expect([...new Set(called)]).to.deep.equal(['00:10'])
    timers.stop()
  })

  it('fire later if the run could not be recorded at its time', async () => {
    let refusals = 2
    const { clock, called } = played(async () => {
      refusals -= 1
      if (refusals >= 0) throw new Error('The API server is away.')
    })
    await clock.advance(5 * 60_000)
    expect(called).to.deep.equal([])
    await clock.advance(3_000)
    expect(called).to.deep.equal(['00:10'])
  })
})
