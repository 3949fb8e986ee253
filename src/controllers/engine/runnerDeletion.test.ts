import { expect } from 'chai'
import { controllerWorld, makeChild } from '../../../test/worlds/runner.ts'
import { FINALIZER } from '../../core/labels.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'

const { resource } = VectorCluster

describe('Runner during deletion', () => {
  const world = controllerWorld()

  describe('with a finalizer', () => {
    const order: string[] = []
    let outcome: Outcome
    beforeEach(() => {
      order.length = 0
      outcome = done()
      world.make({
        reconcile: async (pass) => {
          order.push(`reconcile with ${pass.object.metadata.finalizers?.join() ?? 'none'}`)
          return makeChild(pass)
        },
        finalize: () => {
          order.push('finalize')
          return outcome
        },
      })
    })

    it('adds the finalizer together with the incarnation before the first step', async () => {
      world.seed('orders')
      await world.bench.start()
      expect(order[0]).to.equal(`reconcile with ${FINALIZER}`)
      expect(world.bench.client.count('patch', resource)).to.equal(2)
    })

    it('removes the finalizer after finalize and writes no status', async () => {
      world.seed('orders')
      await world.bench.start()
      order.length = 0
      world.bench.writes()
      await world.bench.client.remove(resource, { namespace: world.space, name: 'orders' })
      await world.bench.rest()
      expect(order).to.deep.equal(['finalize'])
      expect(await world.bench.find(resource, 'orders', world.space)).to.equal(undefined)
      expect(world.bench.writes()).to.deep.equal([
        `delete ${resource.plural}.${resource.group} ${world.space}/orders`,
        `patch ${resource.plural}.${resource.group} ${world.space}/orders`,
      ])
    })

    it('keeps the object while finalize waits and reports DeletionBlocked after 10 minutes', async () => {
      world.seed('orders')
      await world.bench.start()
      outcome = waiting('TearingDown', 'Waiting for 2 claims.')
      await world.bench.client.remove(resource, { namespace: world.space, name: 'orders' })
      await world.bench.rest()
      expect((await world.stored('orders')).status).to.include({
        status: 'Deleting',
        phase: 'TearingDown',
        statusMessage: 'Waiting for 2 claims. Expected by 2026-01-01T00:10:00Z.',
      })
      await world.bench.clock.advance(600_000)
      await world.bench.rest()
      expect((await world.stored('orders')).status).to.include({
        status: 'Deleting',
        phase: 'DeletionBlocked',
        statusMessage: 'Waiting for 2 claims. It was expected by 2026-01-01T00:10:00Z.',
      })
      expect((await world.stored('orders')).metadata.finalizers).to.deep.equal([FINALIZER])
    })

    it('keeps foreign finalizers', async () => {
      world.seed('orders', { finalizers: ['example.com/theirs'] })
      await world.bench.start()
      await world.bench.client.remove(resource, { namespace: world.space, name: 'orders' })
      await world.bench.rest()
      expect((await world.stored('orders')).metadata.finalizers).to.deep.equal(['example.com/theirs'])
    })
  })

  it('removes a finalizer that is no longer needed and does not finalize', async () => {
    let finalized = 0
    world.make({
      finalize: () => {
        finalized += 1
        return done()
      },
      needsFinalizer: () => false,
    })
    world.seed('orders', { finalizers: ['example.com/theirs', FINALIZER] })
    await world.bench.start()
    expect((await world.stored('orders')).metadata.finalizers).to.deep.equal(['example.com/theirs'])
    await world.bench.client.remove(resource, { namespace: world.space, name: 'orders' })
    await world.bench.rest()
    expect(finalized).to.equal(0)
  })

  it('writes nothing for a deleted object of a kind without a finalizer', async () => {
    world.make()
    world.seed('orders', { finalizers: ['example.com/theirs'] })
    await world.bench.start()
    world.bench.writes()
    await world.bench.client.remove(resource, { namespace: world.space, name: 'orders' })
    await world.bench.rest()
    expect(world.bench.writes()).to.deep.equal([`delete ${resource.plural}.${resource.group} ${world.space}/orders`])
  })
})
