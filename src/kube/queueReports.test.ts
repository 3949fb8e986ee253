import { expect } from 'chai'
import { ManualClock, settle } from '../../test/make/clock.ts'
import { KeyedQueue, type QueueOptions, type QueuePass } from './queue.ts'

/** What a queue reports, and what is left of a key after it. */
describe('KeyedQueue, between passes', () => {
  let clock = new ManualClock()
  beforeEach(() => {
    clock = new ManualClock()
  })

  const broken = () => Promise.reject(new Error('broken'))
  const queueWith = (options: Partial<QueueOptions> = {}) =>
    new KeyedQueue({ name: 'test', workers: 1, clock, random: () => 0.5, handle: async () => {}, ...options })

  it('counts urgent and other keys of a party together', () => {
    const queue = queueWith()
    queue.add('a/1')
    queue.add('a/2', true)
    queue.add('b/1', true)
    expect(queue.metrics()).to.include({ depth: 3, parties: 2, deepest: 2, adds: 3 })
  })

  it('reports nothing while it is empty', async () => {
    const queue = queueWith()
    queue.start()
    await clock.advance(5_000)
    expect(queue.metrics()).to.deep.equal({
      ...{ depth: 0, parties: 0, deepest: 0, delayed: 0, working: 0 },
      ...{ failing: 0, oldestSeconds: 0, adds: 0, retries: 0 },
    })
  })

  it('counts failing keys and their retries', async () => {
    const queue = queueWith({ handle: broken })
    queue.start()
    queue.add('a/x')
    await settle()
    expect(queue.metrics()).to.include({ failing: 1, retries: 1, delayed: 1, adds: 1 })
    await clock.advance(5)
    expect(queue.metrics()).to.include({ failing: 1, retries: 2, delayed: 1, adds: 2 })
  })

  it('counts the time of a key from before it became urgent', async () => {
    const queue = queueWith()
    queue.add('a/x')
    await clock.advance(3_000)
    queue.add('a/x', true)
    expect(queue.metrics()).to.include({ depth: 1, oldestSeconds: 3 })
  })

  it('reports each pass with its times, whether it failed or not', async () => {
    const passes: QueuePass[] = []
    const queue = queueWith({
      onPass: (pass) => passes.push(pass),
      handle: (key) =>
        new Promise((resolve, reject) =>
          clock.setTimeout(() => (key === 'a/bad' ? reject(new Error('broken')) : resolve()), 2_000),
        ),
    })
    queue.add('a/good')
    queue.add('a/bad')
    await clock.advance(1_000)
    queue.start()
    await clock.advance(4_000)
    expect(passes).to.deep.equal([
      { queue: 'test', waitedSeconds: 1, workedSeconds: 2, failed: false },
      { queue: 'test', waitedSeconds: 3, workedSeconds: 2, failed: true },
    ])
  })

  it('goes on when the observer of passes fails', async () => {
    const begun: string[] = []
    const onPass = () => {
      throw new Error('broken')
    }
    const queue = queueWith({ onPass, handle: async (key) => void begun.push(key) })
    queue.start()
    queue.add('a/x')
    await settle()
    queue.add('a/y')
    await settle()
    expect(begun).to.deep.equal(['a/x', 'a/y'])
  })

  for (const [random, first] of [
    [0, 4],
    [1, 6],
  ] as const)
    it(`retries after ${first} ms instead of 5 ms for the random number ${random}`, async () => {
      const at: number[] = []
      const handle = () => {
        at.push(Math.round(clock.monotonic()))
        return broken()
      }
      const queue = queueWith({ random: () => random, handle })
      queue.start()
      queue.add('a/x')
      await clock.advance(7)
      expect(at).to.deep.equal([0, first])
    })

  it('adds a key at once that is due now', () => {
    const queue = queueWith()
    queue.addAfter('a/x', 0)
    expect(queue.metrics()).to.include({ depth: 1, delayed: 0 })
  })

  it('keeps neither the failures nor the timer of a dropped key', async () => {
    const queue = queueWith({ handle: broken })
    queue.start()
    queue.add('a/x')
    await settle()
    queue.drop('a/x')
    expect(queue.metrics()).to.include({ failing: 0, delayed: 0 })
    queue.addAfter('a/x', 60_000)
    expect(queue.metrics()).to.include({ delayed: 1 })
  })

  it('is not idle while a key waits for the start', async () => {
    const queue = queueWith()
    queue.add('a/x')
    let isIdle = false
    void queue.whenIdle().then(() => {
      isIdle = true
    })
    await settle()
    expect(isIdle).to.equal(false)
    queue.start()
    await settle()
    expect(isIdle).to.equal(true)
  })

  for (const [what, fails] of [
    ['repeats no key that was added during its last pass', false],
    ['retries no key whose last pass failed', true],
  ] as const)
    it(`${what} after the shutdown`, async () => {
      let begun = 0
      let finish: (() => void) | undefined
      const handle = () => {
        begun += 1
        return new Promise<void>((resolve, reject) => {
          finish = () => (fails ? reject(new Error('broken')) : resolve())
        })
      }
      const queue = queueWith({ handle })
      queue.start()
      queue.add('a/x')
      await settle()
      queue.add('a/x')
      queue.addAfter('a/y', 10)
      const closing = queue.shutDown()
      expect(clock.pending).to.equal(0)
      finish?.()
      await closing
      expect([begun, clock.pending]).to.deep.equal([1, 0])
    })
})
