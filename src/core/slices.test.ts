import { expect } from 'chai'
import { turnsDuring } from '../../test/make/turns.ts'
import { createPauser, runInSlices, runUnsliced, type SlicedWork } from './slices.ts'

describe('runInSlices, createPauser and runUnsliced', () => {
  /** Each step takes this many milliseconds. */
  function* steps(clock: { now: number }, ...lengths: number[]): SlicedWork<number> {
    for (const length of lengths) {
      clock.now += length
      yield
    }
    return clock.now
  }
  async function turnsOf(...lengths: number[]): Promise<number> {
    const clock = { now: 0 }
    return (await turnsDuring(() => runInSlices(steps(clock, ...lengths), () => clock.now))).turns
  }

  it('yield to other tasks after each long step', async () => expect(await turnsOf(9, 9, 9)).to.equal(3))
  it('yield once after several short steps', async () => expect(await turnsOf(1, 1, 1, 1, 1, 1, 1, 1)).to.equal(2))
  it('do not yield during short work', async () => expect(await turnsOf(1, 1)).to.equal(0))
  it('yield after each step of several concurrent works', async () => {
    const clock = { now: 0 }
    let done = 0
    const counted = function* (): SlicedWork<void> {
      for (const length of [9, 9, 9]) {
        done += 1
        clock.now += length
        yield
      }
    }
    let isOver = false
    const seen: number[] = []
    const sample = () => {
      seen.push(done)
      done = 0
      if (!isOver) setImmediate(sample)
    }
    setImmediate(sample)
    await Promise.all(Array.from({ length: 10 }, () => runInSlices(counted(), () => clock.now)))
    isOver = true
    expect(Math.max(...seen)).to.equal(1)
  })
  it('yield after each step of concurrent works with their own awaits', async () => {
    const clock = { now: 0 }
    let done = 0
    const waiting = async () => {
      const pause = createPauser(() => clock.now)
      for (const length of [9, 9, 9]) {
        await pause()
        done += 1
        clock.now += length
        await Promise.resolve()
      }
    }
    const seen: number[] = []
    let isOver = false
    const sample = () => {
      seen.push(done)
      done = 0
      if (!isOver) setImmediate(sample)
    }
    await Promise.all([1, 2, 3, 4].map(waiting).concat(new Promise<void>((go) => setImmediate(() => go(sample())))))
    isOver = true
    expect(Math.max(...seen.slice(1))).to.equal(1)
  })
  it('run work without yielding', () => expect(runUnsliced(steps({ now: 0 }, 9, 9))).to.equal(18))
  it('reject with the error of a step', async () => {
    const failing = function* (): SlicedWork<void> {
      yield
      throw new Error('a step')
    }
    const outcome = await runInSlices(failing()).catch((error: Error) => error.message)
    expect(outcome).to.equal('a step')
  })
})
