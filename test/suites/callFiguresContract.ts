import { expect } from 'chai'
import type { Figures } from '../../src/activator/figures.ts'
import type { CallFigures } from '../../src/adapters/calls/port.ts'
import { BUCKET_SECONDS, KEPT_SECONDS, MOST_SAMPLES } from '../../src/contracts/functionCalls.ts'
import type { ManualClock } from '../make/clock.ts'

/** An activator that counts, by a clock that the test moves, and a facade's way to what it counted. */
export type CountingWorld = {
  clock: ManualClock
  figures: Figures
  calls: CallFigures
  /** Nobody counts any more. */
  end(): Promise<void>
}

/** What every way to the figures of the activator must do. */
export function callFiguresContract(open: () => CountingWorld) {
  const call = { milliseconds: 12.5, isError: false, wasCold: true }

  it('tells what was counted of a function, and of no other', async () => {
    const { clock, figures, calls } = open()
    const at = clock.now() / 1000
    figures.called('space/home.hello', call)
    figures.called('space/home.other', call)
    figures.throttled('space/home.hello')
    expect(await calls.of('space', 'home.hello')).to.deep.equal({
      since: at,
      until: at + 1,
      buckets: [{ at, invocations: 1, errors: 0, throttles: 1, coldStarts: 1, durations: [12.5] }],
    })
  })

  it('tells that nothing was counted of a function that nobody called, or that is none', async () => {
    const { calls } = open()
    for (const name of ['home.idle', '..', 'a/b', '%', 'é', '?x=1', '#'])
      expect((await calls.of('space', name))?.buckets, name).to.deep.equal([])
  })

  it('tells all of a function that is called without end', async () => {
    const { clock, figures, calls } = open()
    const long = { milliseconds: 899_999.9, isError: true, wasCold: false }
    for (let second = 0; second <= KEPT_SECONDS; second += BUCKET_SECONDS) {
      for (let sample = 0; sample < MOST_SAMPLES; sample += 1) figures.called('space/home.busy', long)
      if (second < KEPT_SECONDS) await clock.advance(BUCKET_SECONDS * 1000)
    }
    const { buckets = [] } = (await calls.of('space', 'home.busy')) ?? {}
    expect(buckets.length).to.equal(KEPT_SECONDS / BUCKET_SECONDS + 1)
    expect(buckets.every(({ durations }) => durations.length === MOST_SAMPLES)).to.equal(true)
  })

  it('knows nothing where nobody counts', async () => {
    const { calls, end } = open()
    await end()
    expect(await calls.of('space', 'home.hello')).to.equal(undefined)
  })
}
