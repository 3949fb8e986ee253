import { AsyncResource } from 'node:async_hooks'
import { expect } from 'chai'
import { PlatformError } from '../core/errors.ts'
import { checkFence } from '../core/fencedWork.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { lease } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'
import { KeyedLeaseMutex, TURN_TIMINGS } from './keyedLeaseMutex.ts'

const QUICK = { duration: 60_000, timeout: 20_000, pause: { min: 1, max: 3 } }

describe('KeyedLeaseMutex', () => {
  it('runs one task per key at a time over several processes', async () => {
    const server = new FakeKubeClient()
    const processes = Array.from({ length: 4 }, () => new KeyedLeaseMutex(server, QUICK))
    const under: Record<string, number> = {}
    let peak = 0
    const work = (key: string) => async () => {
      under[key] = (under[key] ?? 0) + 1
      peak = Math.max(peak, under[key])
      await new Promise((resolve) => setImmediate(resolve))
      under[key] -= 1
      return key
    }
    const results = processes.flatMap((turns) => ['a', 'b'].map((key) => turns.take(key, work(key))))
    expect((await Promise.all(results)).sort()).to.deep.equal(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b'])
    expect(peak).to.equal(1)
    expect((await server.list(lease, { namespace: SYSTEM_NAMESPACE })).items, 'leases left').to.deep.equal([])
  })

  it('runs the tasks of one process in order, with one Lease at a time', async () => {
    const server = new FakeKubeClient()
    const turns = new KeyedLeaseMutex(server, QUICK)
    const done: number[] = []
    const work = (number: number) => async () => {
      await new Promise((resolve) => setImmediate(resolve))
      done.push(number)
    }
    await Promise.all(Array.from({ length: 10 }, (_, number) => turns.take('a', work(number))))
    expect(done).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const verbs = server.calls.map(({ verb }) => verb)
    expect(verbs).to.deep.equal(Array.from({ length: 10 }, () => ['create', 'delete']).flat())
  })

  it('waits by default for longer than it takes to replace an abandoned Lease', () => {
    expect(TURN_TIMINGS.timeout).to.be.greaterThan(TURN_TIMINGS.duration + 8_000)
  })

  it('counts the time behind other tasks of its process', async () => {
    const server = new FakeKubeClient()
    const turns = new KeyedLeaseMutex(server, { ...QUICK, timeout: 500 })
    // The first task must not be late itself on a busy machine.
    const slow = turns.take('a', () => new Promise((resolve) => setTimeout(resolve, 520)))
    const waited = turns.take('a', async () => 'not refused').catch(({ code }: PlatformError) => code)
    await slow
    expect(await waited).to.equal('SERVICE_UNAVAILABLE')
  })

  it('releases the Lease if the task fails', async () => {
    const server = new FakeKubeClient()
    const turns = new KeyedLeaseMutex(server, QUICK)
    const failure = await turns.take('a', () => Promise.reject(new Error('refused'))).catch((error: Error) => error)
    expect((failure as Error).message).to.equal('refused')
    expect(await turns.take('a', async () => 'next')).to.equal('next')
  })

  it('fences the task before another process may take over, but no longer after its end', async () => {
    const turns = new KeyedLeaseMutex(new FakeKubeClient(), { ...QUICK, duration: 30 })
    const end = performance.now() + 100
    let later = () => {}
    const work = turns.take('a', async () => {
      checkFence()
      later = AsyncResource.bind(checkFence)
      while (performance.now() < end) await new Promise((resolve) => setImmediate(resolve))
      expect(later).to.throw(PlatformError)
      checkFence()
    })
    expect(await work.catch((error: unknown) => error)).to.be.instanceOf(PlatformError)
    later()
    checkFence()
  })

  it('gives up with SERVICE_UNAVAILABLE, and replaces the Lease of a process that ended', async () => {
    const server = new FakeKubeClient()
    void new KeyedLeaseMutex(server, { ...QUICK, duration: 0 }).take('a', () => new Promise(() => {}))
    const impatient = new KeyedLeaseMutex(server, { ...QUICK, timeout: 0 })
    const refused = await impatient.take('a', async () => 'never').catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(PlatformError).with.property('code', 'SERVICE_UNAVAILABLE')
    expect((refused as PlatformError).extras).to.deep.equal({ retryAfterSeconds: 5 })
    expect(await new KeyedLeaseMutex(server, QUICK).take('a', async () => 'taken over')).to.equal('taken over')
  })

  it('respects the longer duration that another process set', async () => {
    const server = new FakeKubeClient()
    void new KeyedLeaseMutex(server, QUICK).take('a', () => new Promise(() => {}), { duration: 3_600_000 })
    const other = new KeyedLeaseMutex(server, { ...QUICK, duration: 0, timeout: 100 })
    const refused = await other.take('a', async () => 'never').catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(PlatformError).with.property('code', 'SERVICE_UNAVAILABLE')
  })
})
