import { expect } from 'chai'
import { controllerWorld, makeChild } from '../../../test/worlds/runner.ts'
import { done, stalled } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { configMap } from '../../kube/builtin.ts'

const { resource } = VectorCluster

describe('retries of the Runner', () => {
  const world = controllerWorld()

  it('does not retry a stalled object within a day', async () => {
    let passes = 0
    world.make({
      reconcile: () => {
        passes += 1
        return stalled('PlanNotFound', 'x')
      },
    })
    world.seed('orders')
    await world.bench.start()
    const before = passes
    await world.bench.clock.advance(86_400_000)
    expect(passes).to.equal(before)
  })

  it('does not write the status of a deleted object to its recreation', async () => {
    const lives: (string | undefined)[] = []
    world.make({
      reconcile: async (pass) => {
        lives.push(pass.object.metadata.uid)
        if (lives.length === 1) {
          await world.bench.client.remove(resource, pass.object.metadata)
          world.seed('orders')
        }
        return lives.length === 1 ? stalled('PlanNotFound', 'of the first life') : done()
      },
    })
    world.seed('orders')
    await world.bench.start()
    await world.bench.rest()
    expect(new Set(lives).size).to.equal(2)
    expect(JSON.stringify((await world.stored('orders')).status)).not.to.include('of the first life')
    expect(world.bench.events.map(({ note }) => note)).to.not.include('of the first life')
  })

  it('repeats a pass after the time of its outcome', async () => {
    let passes = 0
    world.make({
      reconcile: () => {
        passes += 1
        return done({ after: 60_000 })
      },
    })
    world.seed('orders')
    await world.bench.start()
    const before = passes
    await world.bench.clock.advance(59_000)
    expect(passes).to.equal(before)
    await world.bench.clock.advance(1_000)
    expect(passes).to.equal(before + 1)
  })

  it("reports ReconcileFailed after the third failure in a row, without the error's message", async () => {
    world.make({
      reconcile: () => {
        throw new TypeError('password=hunter2')
      },
    })
    world.seed('orders')
    await world.bench.start()
    expect(await world.ready('orders')).to.deep.equal([])
    await world.bench.clock.advance(60_000)
    expect(await world.ready('orders')).to.deep.equal([
      'Ready=False ReconcileFailed',
      'Reconciling=True ReconcileFailed',
    ])
    const { statusMessage } = (await world.stored('orders')).status ?? {}
    expect(statusMessage).to.match(/^Step "reconcile" failed and is retried: internal error \(TypeError\)/)
    expect(JSON.stringify([world.bench.events, await world.stored('orders')])).not.to.contain('hunter2')
    world.bench.writes()
    await world.bench.clock.advance(600_000)
    expect(world.bench.writes(), 'the same failure is not written again').to.deep.equal([])
  })

  it('backs off from a failing object for a minute or more while others become ready', async () => {
    const passes = new Map<string, number[]>()
    world.make(
      {
        reconcile: async (pass) => {
          passes.set(pass.key, [...(passes.get(pass.key) ?? []), pass.clock.monotonic()])
          if (pass.object.metadata.name === 'poison') JSON.parse('{')
          return makeChild(pass)
        },
      },
      { workers: 1 },
    )
    world.seed('poison')
    for (const name of ['a', 'b', 'c']) world.seed(name)
    await world.bench.start()
    for (const name of ['a', 'b', 'c']) expect(await world.ready(name)).to.deep.equal(['Ready=True Available'])
    await world.bench.clock.advance(3_600_000)
    const times = passes.get(`${world.space}/poison`) ?? []
    expect(times.length).to.be.greaterThan(5)
    expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).to.be.at.least(60_000)
    expect(await world.ready('poison')).to.include('Ready=False ReconcileFailed')
  })

  it('requeues after a conflict without an error or event', async () => {
    world.make()
    world.seed('orders')
    // A pass applies twice: first to create, then to update.
    world.bench.client.fail('apply', configMap, 'Conflict', 10)
    await world.bench.start()
    await world.bench.clock.advance(10_000)
    expect(await world.ready('orders')).to.deep.equal(['Ready=True Available'])
    expect(world.bench.events.map(({ reason }) => reason)).to.deep.equal(['Available'])
    expect(await world.bench.registry.metrics()).to.match(
      /reconcile_total\{controller="vectorcluster",result="requeue"\} 5/,
    )
    expect(await world.bench.registry.metrics()).not.to.contain('result="error"')
  })

  it('reports ReconcileFailed after conflicts for an hour', async () => {
    world.make()
    world.seed('orders')
    world.bench.client.fail('apply', configMap, 'Conflict', 1000)
    await world.bench.start()
    await world.bench.clock.advance(3_600_000)
    expect(await world.ready('orders')).to.include('Ready=False ReconcileFailed')
  })

  it('reports no failure if the object vanishes during a pass', async () => {
    world.make({
      reconcile: async (pass) => {
        const { name, namespace } = pass.object.metadata
        await world.bench.client.remove(resource, { namespace, name })
        return done()
      },
    })
    world.seed('orders')
    await world.bench.start()
    expect(await world.bench.find(resource, 'orders', world.space)).to.equal(undefined)
    expect(world.bench.events).to.deep.equal([])
    expect(await world.bench.registry.metrics()).not.to.contain('result="error"')
  })
})
