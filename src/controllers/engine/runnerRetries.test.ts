import { expect } from 'chai'
import { controllerWorld, makeChild } from '../../../test/worlds/runner.ts'
import { done, stalled } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { configMap } from '../../kube/builtin.ts'

const { resource } = VectorCluster

describe('a controller that is not done at once', () => {
  const world = controllerWorld()

  it('does not retry what is stalled, however long it takes', async () => {
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

  it('leaves its status not to a namesake that was made meanwhile', async () => {
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

  it('comes again after the time that an outcome names', async () => {
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

  it('says in the condition that it fails only from the third failure in a row on, and nothing of the cause', async () => {
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

  it('keeps a poisoned object from slowing the others, and backs off from it to a minute and more', async () => {
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

  it('takes a conflict for no failure: it looks again, quietly', async () => {
    world.make()
    world.seed('orders')
    // Twice in a pass: it is made if there is none, and then looked for and applied.
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

  it('says in the condition that two writers never agree', async () => {
    world.make()
    world.seed('orders')
    world.bench.client.fail('apply', configMap, 'Conflict', 1000)
    await world.bench.start()
    await world.bench.clock.advance(3_600_000)
    expect(await world.ready('orders')).to.include('Ready=False ReconcileFailed')
  })

  it('takes it for no failure that the object vanishes during a pass', async () => {
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
