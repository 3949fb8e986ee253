import { expect } from 'chai'
import { settle } from '../../../test/make/clock.ts'
import { until } from '../../../test/make/until.ts'
import { BOUNDARY_ID } from '../../../test/worlds/controllers.ts'
import { controllerWorld, makeChild } from '../../../test/worlds/runner.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { configMap } from '../../kube/builtin.ts'
import { type ControllerOptions, controller } from './controller.ts'
import { Reconciler } from './reconcile.ts'

const { resource } = VectorCluster

describe('Runner', () => {
  const world = controllerWorld()

  it('writes the incarnation, then the child, then the status once', async () => {
    world.make()
    world.seed('orders')
    await world.bench.start()
    expect(world.bench.writes()).to.deep.equal([
      `patch ${resource.plural}.${resource.group} ${world.space}/orders`,
      `apply configmaps ${world.space}/vc-orders`,
      `patch ${resource.plural}.${resource.group}/status ${world.space}/orders`,
    ])
    expect((await world.stored('orders')).metadata.annotations).to.deep.equal({
      [INCARNATION_ANNOTATION]: 'incarnation-1',
    })
    expect(await world.ready('orders')).to.deep.equal(['Ready=True Available'])
  })

  it('writes nothing for a converged object within a day and after a foreign label on its child', async () => {
    world.make()
    world.seed('orders')
    await world.bench.start()
    world.bench.writes()
    await world.bench.clock.advance(86_400_000)
    world.bench.client.edit(configMap, { namespace: world.space, name: 'vc-orders' }, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, foreign: 'yes' }
    })
    await world.bench.rest()
    expect(world.bench.writes()).to.deep.equal([])
    expect(world.bench.clock.pending, 'timers beside those of the watches').to.be.lessThan(10)
  })

  it('restores a child that was changed or deleted', async () => {
    world.make()
    world.seed('orders')
    await world.bench.start()
    const ref = { namespace: world.space, name: 'vc-orders' }
    world.bench.client.edit<KubeObject & { data?: object }>(configMap, ref, (object) => {
      object.data = { value: 'other' }
    })
    await world.bench.rest()
    expect((await world.bench.client.get(configMap, ref)).data).to.deep.equal({ value: 'a' })
    await world.bench.client.remove(configMap, ref)
    await world.bench.rest()
    expect((await world.bench.client.get(configMap, ref)).data).to.deep.equal({ value: 'a' })
  })

  it('never adopts a foreign object with the name of its child and continues when that is deleted', async () => {
    world.make()
    world.seed('orders')
    const ref = { namespace: world.space, name: 'vc-orders' }
    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref, data: { value: 'theirs' } }
    world.bench.client.seed(configMap, foreign)
    await world.bench.start()
    expect(await world.ready('orders')).to.deep.equal(['Ready=False NameOccupied', 'Stalled=True NameOccupied'])
    expect((await world.stored('orders')).status?.statusMessage).to.equal(
      `ConfigMap "${world.space}/vc-orders" exists and does not belong to this VectorCluster. Delete it, or choose another name.`,
    )
    expect((await world.bench.client.get(configMap, ref)).data).to.deep.equal({ value: 'theirs' })
    await world.bench.client.remove(configMap, ref)
    await world.bench.rest()
    expect(await world.ready('orders')).to.deep.equal(['Ready=True Available'])
  })

  it('does not adopt a child of a deleted owner with the same name', async () => {
    world.make()
    world.seed('orders')
    world.bench.client.seed(configMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'vc-orders',
        namespace: world.space,
        labels: { 'freehold.dev/owner-kind': 'VectorCluster', 'freehold.dev/owner-name': 'orders' },
        annotations: { 'freehold.dev/incarnation-of-owner': 'of-the-one-before' },
      },
    })
    await world.bench.start()
    expect(await world.ready('orders')).to.include('Stalled=True NameOccupied')
  })

  it('emits one event per transition with the reason of the condition', async () => {
    let outcome: Outcome = waiting('WaitingForWorkload', '0 of 1 peer is ready.')
    world.make({ reconcile: () => outcome })
    world.seed('orders')
    await world.bench.start()
    const touch = async (next: Outcome) => {
      outcome = next
      world.bench.client.edit(resource, { namespace: world.space, name: 'orders' }, ({ metadata }) => {
        metadata.labels = { count: String(world.bench.events.length), to: JSON.stringify(next) }
      })
      await world.bench.rest()
    }
    await touch(waiting('WaitingForWorkload', '1 of 1 peer is ready.'))
    await touch(done())
    await touch(stalled('PlanNotFound', 'No plan "huge".'))
    expect(world.bench.events.map(({ type, reason }) => `${type} ${reason}`)).to.deep.equal([
      'Normal WaitingForWorkload',
      'Normal Available',
      'Warning PlanNotFound',
    ])
  })

  it('makes no pass while the cache has not seen its last write', async () => {
    let passes = 0
    const options: ControllerOptions<typeof VectorCluster, undefined> = {
      observes: [configMap],
      writes: [],
      reconcile: (pass) => {
        passes += 1
        return makeChild(pass)
      },
    }
    world.make(options, { telling: false })
    world.seed('orders')
    await world.bench.freeze()
    const reconciler = new Reconciler(controller(VectorCluster, options), world.bench.environment)
    const first = await reconciler.reconcile(`${world.space}/orders`)
    const second = await reconciler.reconcile(`${world.space}/orders`)
    expect([first.kind, second.kind, passes]).to.deep.equal(['settled', 'behind', 1])
  })

  it('waits for the namespace and stalls until it belongs to a group', async () => {
    world.make()
    const lone = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'lone' } }
    const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false }
    world.bench.seed(VectorCluster, 'orders', {}, { namespace: 'lone' })
    await world.bench.start()
    const status = async () =>
      ((await world.bench.find(resource, 'orders', 'lone')) as VectorCluster & KubeObject).status
    expect((await status())?.phase).to.equal('WaitingForGroup')
    world.bench.client.seed(namespaces, lone)
    await world.bench.rest()
    expect((await status())?.phase).to.equal('ConfigurationInvalid')
    world.bench.client.edit(namespaces, { name: 'lone' }, ({ metadata }) => {
      metadata.labels = { 'freehold.dev/boundary': BOUNDARY_ID, 'freehold.dev/resource-group': 'lone' }
    })
    await world.bench.rest()
    expect((await status())?.phase).to.equal('Available')
  })

  it('exports metrics with the names of controller-runtime', async () => {
    world.make()
    world.seed('orders')
    await world.bench.start()
    const metrics = await world.bench.registry.metrics()
    expect(metrics).to.match(/controller_runtime_reconcile_total\{controller="vectorcluster",result="success"\} [1-9]/)
    expect(metrics).to.contain('workqueue_depth{name="vectorcluster"} 0')
    expect(metrics).to.contain('controller_runtime_max_concurrent_reconciles{controller="vectorcluster"} 4')
    expect(metrics, 'no names of objects in labels').not.to.contain('orders')
  })

  it('finishes a running pass on stop and starts no other', async () => {
    const gate = Promise.withResolvers<void>()
    const [begun, ended]: [string[], string[]] = [[], []]
    world.make(
      {
        reconcile: async (pass) => {
          begun.push(pass.key)
          await gate.promise
          ended.push(pass.key)
          return done()
        },
      },
      { workers: 1 },
    )
    world.seed('a')
    world.seed('b')
    const started = world.bench.start()
    await until('a pass runs', () => Promise.resolve(begun.length > 0))
    let isStopped = false
    const stopped = world.bench.stop().then(() => {
      isStopped = true
    })
    await settle()
    expect(isStopped, 'a pass still runs').to.equal(false)
    gate.resolve()
    await Promise.all([started, stopped])
    const first = `${world.space}/a`
    expect([begun, ended]).to.deep.equal([[first], [first]])
  })
})
