import { expect } from 'chai'
import { ManualClock, settle } from '../../test/make/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import { LeaseLost } from './lease.ts'
import { KeyedQueue, type QueueOptions } from './queue.ts'

describe('KeyedQueue', () => {
  let clock = new ManualClock()
  beforeEach(() => {
    clock = new ManualClock()
  })

  /** A queue whose handler waits for the test. */
  function controlled(options: Partial<QueueOptions> = {}) {
    const begun: string[] = []
    const finish: { key: string; resolve: () => void; reject: (error: Error) => void }[] = []
    const queue = new KeyedQueue({
      name: 'test',
      workers: 2,
      clock,
      random: () => 0.5,
      handle: (key) => {
        begun.push(key)
        return new Promise((resolve, reject) => finish.push({ key, resolve, reject }))
      },
      ...options,
    })
    queue.start()
    return { queue, begun, finish }
  }

  /** A queue whose handler runs the function at once. */
  function immediate(handle: (key: string) => void = () => {}, options: Partial<QueueOptions> = {}) {
    const begun: { key: string; at: number }[] = []
    const queue = new KeyedQueue({
      name: 'test',
      workers: 1,
      clock,
      random: () => 0.5,
      handle: async (key) => {
        begun.push({ key, at: clock.monotonic() })
        handle(key)
      },
      ...options,
    })
    queue.start()
    return { queue, begun }
  }

  it('handles a key once, however often it was added before', async () => {
    const { queue, begun } = immediate(undefined, { workers: 1 })
    for (let time = 0; time < 5; time += 1) queue.add('a/x')
    queue.add('a/y')
    await settle()
    // The first key started when it was added; the four additions during its pass make one more.
    expect(begun.map(({ key }) => key)).to.have.members(['a/x', 'a/x', 'a/y'])
  })

  it('handles an urgent key before 1,000 others', async () => {
    const { queue, begun, finish } = controlled({ workers: 1 })
    for (let count = 0; count < 1_000; count += 1) queue.add(`${count % 2 === 0 ? 'a' : 'b'}/old-${count}`)
    queue.add('a/new', true)
    queue.add('b/old-999', true)
    await settle()
    finish[0]?.resolve()
    await settle()
    finish[1]?.resolve()
    await settle()
    expect(begun).to.deep.equal(['a/old-0', 'a/new', 'b/old-999'])
    expect(queue.metrics().depth).to.equal(998)
  })

  it('handles other keys in turn with urgent ones', async () => {
    const { queue, begun } = immediate(undefined, { workers: 1 })
    for (let count = 0; count < 20; count += 1) queue.add(`a/urgent-${count}`, true)
    queue.add('a/other')
    await settle()
    expect(begun.map(({ key }) => key).indexOf('a/other')).to.be.at.most(5)
    expect(begun).to.have.length(21)
  })

  it('keeps a key urgent that is added during its pass', async () => {
    const { queue, begun, finish } = controlled({ workers: 1 })
    queue.add('a/x')
    for (let count = 0; count < 10; count += 1) queue.add(`a/old-${count}`)
    await settle()
    queue.add('a/x', true)
    queue.add('a/x')
    finish[0]?.resolve()
    await settle()
    expect(begun).to.deep.equal(['a/x', 'a/x'])
  })

  it('never handles a key twice at the same time, and handles it again if it was added meanwhile', async () => {
    const { queue, begun, finish } = controlled()
    queue.add('a/x')
    await settle()
    queue.add('a/x')
    queue.add('a/x')
    await settle()
    expect(begun).to.deep.equal(['a/x'])
    finish[0]?.resolve()
    await settle()
    expect(begun).to.deep.equal(['a/x', 'a/x'])
    finish[1]?.resolve()
    await settle()
    expect(begun).to.have.length(2)
  })

  it('handles as many keys at a time as it has workers', async () => {
    const { queue, begun, finish } = controlled({ workers: 2 })
    for (const key of ['a/1', 'b/2', 'c/3']) queue.add(key)
    await settle()
    expect(begun).to.deep.equal(['a/1', 'b/2'])
    expect(queue.metrics()).to.include({ depth: 1, working: 2, parties: 1, deepest: 1 })
    finish[1]?.resolve()
    await settle()
    expect(begun).to.deep.equal(['a/1', 'b/2', 'c/3'])
  })

  it('takes turns between namespaces', async () => {
    const { queue, begun, finish } = controlled({ workers: 1 })
    for (let index = 0; index < 100; index += 1) queue.add(`busy/${index}`)
    queue.add('calm/x')
    for (let turn = 0; turn < 3; turn += 1) {
      await settle()
      finish[turn]?.resolve()
    }
    await settle()
    expect(begun.indexOf('calm/x')).to.be.within(1, 2)
  })

  it('gives a party with many namespaces no more turns', async () => {
    const { queue, begun, finish } = controlled({ workers: 1, partyOf: (key) => (key.startsWith('busy') ? 'a' : 'b') })
    for (let index = 0; index < 100; index += 1) queue.add(`busy-${index}/x`, true)
    queue.add('calm/x', true)
    for (let turn = 0; turn < 3; turn += 1) {
      await settle()
      finish[turn]?.resolve()
    }
    await settle()
    expect(begun.indexOf('calm/x')).to.be.within(1, 2)
  })

  const shares: { title: string; workers: number; keys: readonly string[]; begun: readonly string[] }[] = [
    {
      title: 'limits a party to half of the workers',
      workers: 8,
      keys: ['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'a/6', 'b/1'],
      begun: ['a/1', 'a/2', 'a/3', 'a/4', 'b/1'],
    },
    {
      title: 'leaves a worker for the next party after several have reached their share',
      workers: 8,
      keys: ['a', 'b', 'c', 'd'].flatMap((party) => [1, 2, 3, 4].map((name) => `${party}/${name}`)),
      begun: ['a/1', 'a/2', 'a/3', 'a/4', 'b/1', 'b/2', 'c/1', 'd/1'],
    },
    {
      title: 'gives the only worker to a party without one',
      workers: 1,
      keys: ['a/1', 'a/2'],
      begun: ['a/1'],
    },
    {
      title: 'handles another key if all urgent keys belong to a party that has reached its share',
      workers: 2,
      keys: ['a/1!', 'a/2!', 'b/1'],
      begun: ['a/1!', 'b/1'],
    },
  ]
  for (const { title, workers, keys, begun: expected } of shares)
    it(title, async () => {
      const { queue, begun } = controlled({ workers })
      for (const key of keys) queue.add(key, key.endsWith('!'))
      await settle()
      expect(begun).to.deep.equal(expected)
    })

  it('handles an urgent key if the party of all other keys has reached its share', async () => {
    const { queue, begun, finish } = controlled({ workers: 2 })
    queue.add('slow/1')
    queue.add('slow/2')
    for (let index = 0; index < 6; index += 1) queue.add(`a/${index}`, true)
    for (let turn = 1; turn < 7; turn += 1) {
      await settle()
      finish[turn]?.resolve()
    }
    await settle()
    expect(begun).to.deep.equal(['slow/1', 'a/0', 'a/1', 'a/2', 'a/3', 'a/4', 'a/5'])
  })

  it('retries a failed key with a backoff that doubles from 5 ms, until it succeeds', async () => {
    let failing = true
    const { queue, begun } = immediate(() => {
      if (failing) throw new Error('not yet')
    })
    queue.add('a/x')
    await clock.advance(100)
    expect(begun.map(({ at }) => at)).to.deep.equal([0, 5, 15, 35, 75])
    failing = false
    await clock.advance(1_000)
    queue.forget('a/x')
    expect(queue.failures('a/x')).to.equal(0)
    expect(queue.metrics().delayed).to.equal(0)
  })

  it('does not log a key that failed with LeaseLost', async () => {
    const warned: object[] = []
    const log: Log = { ...silentLog, warn: (fields) => void warned.push(fields), child: () => log }
    const ofPass = () => new Error('Cannot reconcile.', { cause: new LeaseLost('x') })
    const thrown: Error[] = [new LeaseLost('x'), new Error('broken')]
    const { queue } = immediate(
      () => {
        throw thrown.shift() ?? ofPass()
      },
      { log },
    )
    for (const key of ['a/x', 'a/y', 'a/z']) queue.add(key)
    await settle()
    expect(warned.map((fields) => (fields as { key: string }).key)).to.deep.equal(['a/y'])
  })

  it('retries a key that always fails every one to five minutes', async () => {
    const { queue, begun } = immediate(() => {
      throw new Error('poison')
    })
    queue.add('a/poison')
    await clock.advance(3_600_000)
    const last = begun.slice(-2).map(({ at }) => at)
    expect((last[1] ?? 0) - (last[0] ?? 0)).to.be.within(60_000, 300_000)
  })

  it('handles other keys without delay while one always fails', async () => {
    const { queue, begun } = immediate((key) => {
      if (key === 'a/poison') throw new Error('poison')
    })
    queue.add('a/poison')
    await clock.advance(60_000)
    queue.add('a/well')
    await settle()
    expect(begun.at(-1)).to.deep.equal({ key: 'a/well', at: 60_000 })
  })

  it('repeats a failed pass after 1 second if the key was added during it', async () => {
    const { queue, begun, finish } = controlled({ backoff: { first: 60_000, longest: 300_000 } })
    queue.add('a/x')
    await settle()
    queue.add('a/x')
    finish[0]?.reject(new Error('failed'))
    await clock.advance(999)
    expect(begun).to.have.length(1)
    await clock.advance(1)
    expect(begun).to.have.length(2)
  })

  it('keeps the earlier of two timers of a key', async () => {
    const { queue, begun } = immediate()
    queue.addAfter('a/x', 1_000)
    queue.addAfter('a/x', 5_000)
    queue.addAfter('a/y', 5_000)
    queue.addAfter('a/y', 1_000)
    await clock.advance(10_000)
    expect(begun.map(({ key, at }) => `${key} ${at}`)).to.deep.equal(['a/x 1000', 'a/y 1000'])
  })

  it('handles a key that is due in two months, beyond the longest timer', async () => {
    const { queue, begun } = immediate()
    const months = 60 * 24 * 3_600_000
    queue.addAfter('a/x', months)
    await clock.advance(months - 1)
    expect(begun).to.have.length(0)
    await clock.advance(1)
    expect(begun).to.have.length(1)
  })

  it('clears the timer of a dropped key', () => {
    const { queue } = immediate()
    queue.addAfter('a/x', 1_000)
    queue.drop('a/x')
    expect(clock.pending).to.equal(0)
  })

  it('reports how long the oldest key has waited', async () => {
    const { queue } = controlled({ workers: 1 })
    queue.add('a/x')
    queue.add('a/y')
    await clock.advance(2_000)
    expect(queue.metrics()).to.include({ depth: 1, working: 1, oldestSeconds: 2 })
  })

  it('finishes the current pass on shutdown, and starts no other', async () => {
    const { queue, begun, finish } = controlled({ workers: 1 })
    queue.add('a/x')
    queue.add('a/y')
    queue.addAfter('a/z', 10)
    await settle()
    let down = false
    const closing = queue.shutDown().then(() => {
      down = true
    })
    await settle()
    expect(down).to.equal(false)
    finish[0]?.resolve()
    await closing
    queue.add('a/late')
    await clock.advance(1_000)
    expect(begun).to.deep.equal(['a/x'])
  })
})
