import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { DAY_MS } from '../core/clock.ts'
import { CautiousClock } from './cautiousClock.ts'

describe('CautiousClock', () => {
  const START = Date.UTC(2026, 0, 1)
  let own: ManualClock
  let clock: CautiousClock
  let said: string[]
  beforeEach(() => {
    own = new ManualClock(START)
    said = []
    const say = (_: object, message: string) => void said.push(message)
    clock = new CautiousClock({ clock: own, log: { warn: say, info: say } as never })
  })
  const answered = (ahead: number, durationSeconds = 0.1) =>
    clock.compare({ date: new Date(own.now() - ahead).toUTCString(), durationSeconds })

  it('goes by the API server while it is a day ahead of it, and by itself again afterwards', async () => {
    expect(clock.now()).to.equal(START)
    own.jump(DAY_MS)
    answered(DAY_MS)
    expect(clock.now()).to.be.within(START, START + 1_000)
    await own.advance(3_600_000)
    expect(clock.now()).to.be.within(START + 3_600_000, START + 3_601_000)
    answered(DAY_MS)
    own.jump(-DAY_MS)
    answered(0)
    expect(clock.now()).to.equal(START + 3_600_000)
    expect(said).to.deep.equal([
      'The clock is ahead of that of the API server, which is used instead.',
      'The clock is that of the API server again.',
    ])
  })

  for (const [what, ahead] of [
    ['it is less than a minute ahead', 59_000],
    ['it is behind', -DAY_MS],
  ] as const)
    it(`goes by itself if ${what}`, () => {
      answered(ahead)
      expect([clock.now(), clock.ahead, said]).to.deep.equal([START, 0, []])
    })

  it('ignores answers without a date, and those that took long', () => {
    answered(DAY_MS)
    const before = clock.now()
    answered(0, 30)
    for (const date of [undefined, '', 'yesterday']) clock.compare({ date, durationSeconds: 0 })
    expect(clock.now()).to.equal(before)
  })
})
