import { expect } from 'chai'
import { ManualClock, settle } from '../../test/make/clock.ts'
import { expectReason } from '../../test/suites/kubeContract.ts'
import { lease as leaseResource } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'
import { LeaderLease, LeaseLost, type LeaseObject } from './lease.ts'

const REF = { namespace: 'freehold-system', name: 'operator' }

describe('LeaderLease', () => {
  let server = new FakeKubeClient()
  let clock = new ManualClock()
  let events: string[] = []
  beforeEach(() => {
    server = new FakeKubeClient()
    clock = new ManualClock()
    events = []
  })

  function contender(identity: string, own: ManualClock = clock): LeaderLease {
    const lease = new LeaderLease({
      client: server,
      ...REF,
      identity,
      clock: own,
      random: () => 1,
      onAcquired: () => events.push(`${identity} leads`),
      onLost: (why) => events.push(`${identity} lost: ${why}`),
    })
    lease.start()
    return lease
  }

  const holder = async () => (await server.get<LeaseObject>(leaseResource, REF)).spec?.holderIdentity

  it('is held by the first contender as long as it is renewed', async () => {
    const first = contender('first')
    await clock.advance(10)
    const second = contender('second')
    await clock.advance(600_000)
    expect([first.isLeader, second.isLeader]).to.deep.equal([true, false])
    expect(events).to.deep.equal(['first leads'])
  })

  it('is acquired by exactly one of two concurrent contenders', async () => {
    const both = [contender('one'), contender('two')]
    await clock.advance(1_000)
    expect(both.filter((lease) => lease.isLeader)).to.have.length(1)
  })

  it('needs at most 30 updates a minute', async () => {
    contender('first')
    await clock.advance(60_000)
    expect(server.count('update')).to.be.within(6, 30)
  })

  it('closes the fence of a stalled leader before another may lead, and calls onLost once', async () => {
    const stalled = new ManualClock()
    const first = contender('first', stalled)
    await stalled.advance(10)
    const second = contender('second')
    await clock.advance(7_000)
    expect(second.isLeader).to.equal(false)
    stalled.freeze(7_000) // The process was suspended and continues now.
    expect(() => first.fence()).to.throw(LeaseLost)
    await clock.advance(3_000)
    expect(second.isLeader).to.equal(true)
    await stalled.advance(3_000)
    expect(events.filter((line) => line.startsWith('first lost'))).to.have.length(1)
    expect(await holder()).to.equal('second')
  })

  it('tells a candidate at each read who holds it, and that nobody does after a release', async () => {
    const first = contender('first')
    await clock.advance(10)
    const read: string[] = []
    const onRead = (holder: string) => read.push(holder)
    const second = new LeaderLease({ client: server, ...REF, identity: 'second', clock, random: () => 1, onRead })
    second.start()
    await clock.advance(2_500)
    expect(read).to.deep.equal(['first', 'first', 'first'])
    await first.stop()
    await clock.advance(1_000)
    expect(read.at(-1)).to.equal('')
    expect(second.isLeader).to.equal(true)
  })

  it('is taken over within 9 seconds after its holder died', async () => {
    const dead = new ManualClock()
    contender('first', dead)
    await dead.advance(10)
    const second = contender('second')
    await clock.advance(9_000)
    expect(second.isLeader).to.equal(true)
  })

  it('closes the fence 6 seconds after the last renewal', async () => {
    const first = contender('first')
    await clock.advance(10)
    server.fail('update', leaseResource, 'Unavailable', 1_000)
    await clock.advance(5_000)
    expect(first.isLeader).to.equal(true)
    await clock.advance(1_001)
    expect(() => first.fence()).to.throw(LeaseLost)
    expect(events).to.deep.equal(['first leads', 'first lost: it could not be renewed in time'])
  })

  it('is kept if the server is unavailable for a shorter time', async () => {
    const first = contender('first')
    await clock.advance(10)
    server.fail('update', leaseResource, 'Unavailable', 2)
    await clock.advance(60_000)
    expect(first.isLeader).to.equal(true)
    expect(events).to.deep.equal(['first leads'])
  })

  it('is kept if the answer to a renewal was lost', async () => {
    const first = contender('first')
    await clock.advance(10)
    server.edit<LeaseObject>(leaseResource, REF, (lease) => {
      if (lease.spec) lease.spec.renewTime = '2026-01-01T00:00:05.000000Z'
    })
    await clock.advance(60_000)
    expect(first.isLeader).to.equal(true)
  })

  it('is given up at once when another process holds it', async () => {
    const first = contender('first')
    await clock.advance(10)
    server.edit<LeaseObject>(leaseResource, REF, (lease) => {
      if (lease.spec) lease.spec.holderIdentity = 'usurper'
    })
    await clock.advance(5_000)
    expect(first.isLeader).to.equal(false)
    expect(events.at(-1)).to.equal('first lost: another process took the lease')
  })

  it('is recreated by its holder when it is deleted', async () => {
    const first = contender('first')
    await clock.advance(10)
    const second = contender('second')
    await clock.advance(5_000)
    await server.remove(leaseResource, REF)
    await clock.advance(600_000)
    expect([first.isLeader, second.isLeader]).to.deep.equal([true, false])
    expect(events).to.deep.equal(['first leads'])
    expect(await holder()).to.equal('first')
  })

  it('is not acquired after a deletion before the former holder must have stopped', async () => {
    const cutOff = new ManualClock()
    contender('first', cutOff)
    await cutOff.advance(10)
    const second = contender('second')
    await clock.advance(1_000)
    await server.remove(leaseResource, REF)
    await clock.advance(5_000)
    expect(second.isLeader).to.equal(false)
    await clock.advance(4_000)
    expect(second.isLeader).to.equal(true)
  })

  it('is lost after a deletion if another process recreates it first', async () => {
    const first = contender('first')
    await clock.advance(10)
    await server.remove(leaseResource, REF)
    const fresh = new ManualClock()
    const second = contender('second', fresh)
    await fresh.advance(10)
    await clock.advance(3_000)
    expect([first.isLeader, second.isLeader]).to.deep.equal([false, true])
  })

  it('does not depend on wall clocks', async () => {
    const ahead = new ManualClock(Date.UTC(2030, 0, 1))
    const first = contender('first')
    await clock.advance(10)
    const second = contender('second', ahead)
    await ahead.advance(10)
    clock.jump(3_600_000)
    await clock.advance(4_000)
    clock.jump(-7_200_000)
    await clock.advance(4_000)
    await ahead.advance(8_000)
    expect([first.isLeader, second.isLeader]).to.deep.equal([true, false])
  })

  it('is released by a leader that stops, so that another leads within 1.6 seconds', async () => {
    const first = contender('first')
    await clock.advance(10)
    const second = contender('second')
    await clock.advance(10)
    const stopping = first.stop()
    await settle()
    await stopping
    expect(() => first.fence()).to.throw(LeaseLost)
    await clock.advance(1_600)
    expect(second.isLeader).to.equal(true)
  })

  it('is released by a process that stops while it acquires it', async () => {
    const answer = Promise.withResolvers<void>()
    const slow = {
      get: server.get.bind(server),
      update: server.update.bind(server),
      create: async (...given: Parameters<FakeKubeClient['create']>) => {
        const made = await server.create(...given)
        await answer.promise
        return made
      },
    }
    const first = new LeaderLease({ client: slow as never, ...REF, identity: 'first', clock })
    first.start()
    await clock.advance(10)
    expect(await holder()).to.equal('first')
    const stopping = first.stop()
    answer.resolve()
    await stopping
    expect(first.isLeader).to.equal(false)
    expect(await holder()).to.equal('')
  })

  it('is not released by a contender that stops', async () => {
    contender('first')
    await clock.advance(10)
    const second = contender('second')
    await clock.advance(10)
    await second.stop()
    expect(await holder()).to.equal('first')
  })

  it('provides a fence that refuses writes until it is acquired', async () => {
    const first = contender('first')
    const fenced = new FakeKubeClient({ fence: first.fence })
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'b' } }
    const resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true }
    const refused = await fenced.create(resource, object).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(LeaseLost)
    await clock.advance(10)
    await fenced.create(resource, object)
    await expectReason('AlreadyExists', fenced.create(resource, object))
  })
})
