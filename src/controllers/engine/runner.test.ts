import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../../test/make/controllers.ts'
import { FINALIZER, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { configMap } from '../../kube/builtin.ts'
import { type ControllerOptions, controller, type Pass } from './controller.ts'
import { Reconciler } from './reconcile.ts'

type VectorPass = Pass<typeof VectorCluster>
const { resource } = VectorCluster

/** The child that the tests' controller makes. */
function childOf(pass: VectorPass, value = 'a'): KubeObject {
  const { name, namespace } = pass.object.metadata
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `vc-${name}`, namespace: namespace ?? '' },
    data: { value },
  }
}

async function makeChild(pass: VectorPass): Promise<Outcome> {
  await pass.children.ensure(childOf(pass), { resource: configMap })
  return done()
}

type Options = Partial<ControllerOptions<typeof VectorCluster, undefined>>

describe('a controller', () => {
  let bench: ControllerBench
  let space: string

  function make(options: Options = {}): void {
    const whole = { observes: [configMap], writes: [], reconcile: makeChild, ...options }
    bench = new ControllerBench([controller(VectorCluster, whole)])
    space = bench.seedGroup('shop').groupSpace
  }

  const seed = (name: string, metadata: Partial<KubeObject['metadata']> = {}) =>
    bench.seed(VectorCluster, name, {}, { namespace: space, ...metadata })
  const stored = async (name: string) => (await bench.find(resource, name, space)) as VectorCluster & KubeObject
  const ready = async (name: string) => {
    const conditions = (await stored(name)).status?.conditions ?? []
    return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
  }

  afterEach(() => bench.stop())

  it('puts on the incarnation first, then makes the child, then writes the status once', async () => {
    make()
    seed('orders')
    await bench.start()
    expect(bench.writes()).to.deep.equal([
      `patch ${resource.plural}.${resource.group} ${space}/orders`,
      `get configmaps ${space}/vc-orders`,
      `apply configmaps ${space}/vc-orders`,
      `patch ${resource.plural}.${resource.group}/status ${space}/orders`,
    ])
    expect((await stored('orders')).metadata.annotations).to.deep.equal({ [INCARNATION_ANNOTATION]: 'incarnation-1' })
    expect(await ready('orders')).to.deep.equal(['Ready=True Available'])
  })

  it('makes no request for a converged object, after a restart and in a day', async () => {
    make()
    seed('orders')
    await bench.start()
    bench.writes()
    await bench.clock.advance(86_400_000)
    bench.client.edit(configMap, { namespace: space, name: 'vc-orders' }, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, foreign: 'yes' }
    })
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
    expect(bench.clock.pending, 'timers beside those of the watches').to.be.lessThan(10)
  })

  it('heals a child that somebody changed or deleted', async () => {
    make()
    seed('orders')
    await bench.start()
    const ref = { namespace: space, name: 'vc-orders' }
    bench.client.edit<KubeObject & { data?: object }>(configMap, ref, (object) => {
      object.data = { value: 'other' }
    })
    await bench.rest()
    expect((await bench.client.get(configMap, ref)).data).to.deep.equal({ value: 'a' })
    await bench.client.remove(configMap, ref)
    await bench.rest()
    expect((await bench.client.get(configMap, ref)).data).to.deep.equal({ value: 'a' })
  })

  it('never adopts an object of that name, and goes on when it is gone', async () => {
    make()
    seed('orders')
    const ref = { namespace: space, name: 'vc-orders' }
    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref, data: { value: 'theirs' } }
    bench.client.seed(configMap, foreign)
    await bench.start()
    expect(await ready('orders')).to.deep.equal(['Ready=False NameOccupied', 'Stalled=True NameOccupied'])
    expect((await stored('orders')).status?.statusMessage).to.equal(
      `ConfigMap "${space}/vc-orders" exists and does not belong to this VectorCluster. Delete it, or choose another name.`,
    )
    expect((await bench.client.get(configMap, ref)).data).to.deep.equal({ value: 'theirs' })
    await bench.client.remove(configMap, ref)
    await bench.rest()
    expect(await ready('orders')).to.deep.equal(['Ready=True Available'])
  })

  it('does not take over the children of a namesake that was deleted before', async () => {
    make()
    seed('orders')
    bench.client.seed(configMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'vc-orders',
        namespace: space,
        labels: { 'freehold.dev/owner-kind': 'VectorCluster', 'freehold.dev/owner-name': 'orders' },
        annotations: { 'freehold.dev/incarnation-of-owner': 'of-the-one-before' },
      },
    })
    await bench.start()
    expect(await ready('orders')).to.include('Stalled=True NameOccupied')
  })

  it('tells each transition once, as an event with the reason of the condition', async () => {
    let outcome: Outcome = waiting('WaitingForWorkload', '0 of 1 peers is ready.')
    make({ reconcile: () => outcome })
    seed('orders')
    await bench.start()
    const touch = async (next: Outcome) => {
      outcome = next
      bench.client.edit(resource, { namespace: space, name: 'orders' }, ({ metadata }) => {
        metadata.labels = { count: String(bench.events.length), to: JSON.stringify(next) }
      })
      await bench.rest()
    }
    await touch(waiting('WaitingForWorkload', 'Still 0 of 1 peers is ready.'))
    await touch(done())
    await touch(stalled('PlanNotFound', 'No plan "huge".'))
    expect(bench.events.map(({ type, reason }) => `${type} ${reason}`)).to.deep.equal([
      'Normal WaitingForWorkload',
      'Normal Available',
      'Warning PlanNotFound',
    ])
  })

  it('does not retry what is stalled, however long it takes', async () => {
    let passes = 0
    make({
      reconcile: () => {
        passes += 1
        return stalled('PlanNotFound', 'x')
      },
    })
    seed('orders')
    await bench.start()
    const before = passes
    await bench.clock.advance(86_400_000)
    expect(passes).to.equal(before)
  })

  it('comes again after the time that an outcome names', async () => {
    let passes = 0
    make({
      reconcile: () => {
        passes += 1
        return done({ after: 60_000 })
      },
    })
    seed('orders')
    await bench.start()
    const before = passes
    await bench.clock.advance(59_000)
    expect(passes).to.equal(before)
    await bench.clock.advance(1_000)
    expect(passes).to.equal(before + 1)
  })

  it('says in the condition that it fails only from the third failure in a row on, and nothing of the cause', async () => {
    make({
      reconcile: () => {
        throw new TypeError('password=hunter2')
      },
    })
    seed('orders')
    await bench.start()
    expect(await ready('orders')).to.deep.equal([])
    await bench.clock.advance(60_000)
    expect(await ready('orders')).to.deep.equal(['Ready=False ReconcileFailed', 'Reconciling=True ReconcileFailed'])
    const { statusMessage } = (await stored('orders')).status ?? {}
    expect(statusMessage).to.match(/^Step "reconcile" failed and is tried again: internal error \(TypeError\)/)
    expect(JSON.stringify([bench.events, await stored('orders')])).not.to.contain('hunter2')
    bench.writes()
    await bench.clock.advance(600_000)
    expect(bench.writes(), 'the same failure is not written again').to.deep.equal([])
  })

  it('keeps a poisoned object from slowing the others, and backs off from it to a minute and more', async () => {
    const passes = new Map<string, number[]>()
    make({
      workers: 1,
      reconcile: async (pass) => {
        passes.set(pass.key, [...(passes.get(pass.key) ?? []), pass.clock.monotonic()])
        if (pass.object.metadata.name === 'poison') JSON.parse('{')
        return makeChild(pass)
      },
    })
    seed('poison')
    for (const name of ['a', 'b', 'c']) seed(name)
    await bench.start()
    for (const name of ['a', 'b', 'c']) expect(await ready(name)).to.deep.equal(['Ready=True Available'])
    await bench.clock.advance(3_600_000)
    const times = passes.get(`${space}/poison`) ?? []
    expect(times.length).to.be.greaterThan(5)
    expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).to.be.at.least(60_000)
    expect(await ready('poison')).to.include('Ready=False ReconcileFailed')
  })

  it('takes a conflict for no failure: it looks again, quietly', async () => {
    make()
    seed('orders')
    bench.client.fail('apply', configMap, 'Conflict', 5)
    await bench.start()
    await bench.clock.advance(10_000)
    expect(await ready('orders')).to.deep.equal(['Ready=True Available'])
    expect(bench.events.map(({ reason }) => reason)).to.deep.equal(['Available'])
    expect(await bench.registry.metrics()).to.match(/reconcile_total\{controller="vectorcluster",result="requeue"\} 5/)
    expect(await bench.registry.metrics()).not.to.contain('result="error"')
  })

  it('says in the condition that two writers never agree', async () => {
    make()
    seed('orders')
    bench.client.fail('apply', configMap, 'Conflict', 1000)
    await bench.start()
    await bench.clock.advance(3_600_000)
    expect(await ready('orders')).to.include('Ready=False ReconcileFailed')
  })

  it('takes it for no failure that the object vanishes during a pass', async () => {
    make({
      reconcile: async (pass) => {
        const { name, namespace } = pass.object.metadata
        await bench.client.remove(resource, { namespace, name })
        return done()
      },
    })
    seed('orders')
    await bench.start()
    expect(await bench.find(resource, 'orders', space)).to.equal(undefined)
    expect(bench.events).to.deep.equal([])
    expect(await bench.registry.metrics()).not.to.contain('result="error"')
  })

  it('decides nothing on a cache that has not seen its own last write', async () => {
    let passes = 0
    const options: ControllerOptions<typeof VectorCluster, undefined> = {
      observes: [configMap],
      writes: [],
      reconcile: (pass) => {
        passes += 1
        return makeChild(pass)
      },
    }
    bench = new ControllerBench([controller(VectorCluster, options)], { telling: false })
    space = bench.seedGroup('shop').groupSpace
    seed('orders')
    await bench.freeze()
    const reconciler = new Reconciler(controller(VectorCluster, options), bench.environment)
    const first = await reconciler.reconcile(`${space}/orders`)
    const second = await reconciler.reconcile(`${space}/orders`)
    expect([first.kind, second.kind, passes]).to.deep.equal(['settled', 'behind', 1])
  })

  it('waits where the namespace is not that of a group, and begins when it is', async () => {
    make()
    const lone = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'lone' } }
    const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false }
    bench.seed(VectorCluster, 'orders', {}, { namespace: 'lone' })
    await bench.start()
    const status = async () => ((await bench.find(resource, 'orders', 'lone')) as VectorCluster & KubeObject).status
    expect((await status())?.phase).to.equal('WaitingForGroup')
    bench.client.seed(namespaces, lone)
    await bench.rest()
    expect((await status())?.phase).to.equal('ConfigurationInvalid')
    bench.client.edit(namespaces, { name: 'lone' }, ({ metadata }) => {
      metadata.labels = { 'freehold.dev/boundary': BOUNDARY_ID, 'freehold.dev/resource-group': 'lone' }
    })
    await bench.rest()
    expect((await status())?.phase).to.equal('Available')
  })

  it('writes its metrics in the names of controller-runtime', async () => {
    make()
    seed('orders')
    await bench.start()
    const metrics = await bench.registry.metrics()
    expect(metrics).to.match(/controller_runtime_reconcile_total\{controller="vectorcluster",result="success"\} [1-9]/)
    expect(metrics).to.contain('workqueue_depth{name="vectorcluster"} 0')
    expect(metrics).to.contain('controller_runtime_max_concurrent_reconciles{controller="vectorcluster"} 4')
    expect(metrics, 'no names of objects in labels').not.to.contain('orders')
  })

  describe('with a finalizer', () => {
    const order: string[] = []
    let outcome: Outcome
    beforeEach(() => {
      order.length = 0
      outcome = done()
      make({
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

    it('puts it on before the first step, in the same write as the incarnation', async () => {
      seed('orders')
      await bench.start()
      expect(order[0]).to.equal(`reconcile with ${FINALIZER}`)
      expect(bench.client.count('patch', resource)).to.equal(2)
    })

    it('lets the object go when the teardown is done, and writes no status to it', async () => {
      seed('orders')
      await bench.start()
      order.length = 0
      bench.writes()
      await bench.client.remove(resource, { namespace: space, name: 'orders' })
      await bench.rest()
      expect(order).to.deep.equal(['finalize'])
      expect(await bench.find(resource, 'orders', space)).to.equal(undefined)
      expect(bench.writes()).to.deep.equal([
        `delete ${resource.plural}.${resource.group} ${space}/orders`,
        `patch ${resource.plural}.${resource.group} ${space}/orders`,
      ])
    })

    it('holds the object while the teardown waits, says until when, and says when that has passed', async () => {
      seed('orders')
      await bench.start()
      outcome = waiting('TearingDown', 'Waiting for 2 claims.')
      await bench.client.remove(resource, { namespace: space, name: 'orders' })
      await bench.rest()
      expect((await stored('orders')).status).to.include({
        status: 'Deleting',
        phase: 'TearingDown',
        statusMessage: 'Waiting for 2 claims. Expected by 2026-01-01T00:10:00Z.',
      })
      await bench.clock.advance(600_000)
      await bench.rest()
      expect((await stored('orders')).status).to.include({
        status: 'Deleting',
        phase: 'DeletionBlocked',
        statusMessage: 'Waiting for 2 claims. It was expected by 2026-01-01T00:10:00Z.',
      })
      expect((await stored('orders')).metadata.finalizers).to.deep.equal([FINALIZER])
    })

    it('leaves the finalizers of others on', async () => {
      seed('orders', { finalizers: ['example.com/theirs'] })
      await bench.start()
      await bench.client.remove(resource, { namespace: space, name: 'orders' })
      await bench.rest()
      expect((await stored('orders')).metadata.finalizers).to.deep.equal(['example.com/theirs'])
    })
  })

  it('lets a kind without a finalizer go without a word', async () => {
    make()
    seed('orders', { finalizers: ['example.com/theirs'] })
    await bench.start()
    bench.writes()
    await bench.client.remove(resource, { namespace: space, name: 'orders' })
    await bench.rest()
    expect(bench.writes()).to.deep.equal([`delete ${resource.plural}.${resource.group} ${space}/orders`])
  })

  it('finishes the passes under way before it stops, and begins none after', async () => {
    const gate = Promise.withResolvers<void>()
    const ended: string[] = []
    make({
      workers: 1,
      reconcile: async (pass) => {
        await gate.promise
        ended.push(pass.key)
        return done()
      },
    })
    seed('a')
    seed('b')
    const started = bench.start()
    await new Promise((resolve) => setImmediate(resolve))
    const stopped = bench.stop()
    gate.resolve()
    await Promise.all([started, stopped])
    expect(ended.length).to.be.at.most(1)
  })
})
