import { expect } from 'chai'
import { controllerWorld } from '../../../test/worlds/runner.ts'
import type { KubeObject, ObjectRef, Resource } from '../../core/object.ts'
import { done } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { statefulSet } from '../../kube/builtin.ts'
import type { Pass } from './controller.ts'

type Workload = KubeObject & {
  spec: {
    revisionHistoryLimit?: number
    replicas?: number
    template: {
      spec: { priority?: number; containers: { name: string; resources: { requests: Record<string, unknown> } }[] }
    }
  }
}

/** An API server that changes what is applied with `stores`. */
function storing(world: ReturnType<typeof controllerWorld>, stores: (child: Workload, writes: number) => void) {
  const { client } = world.bench
  const apply = client.apply.bind(client)
  let writes = 0
  client.apply = async <T extends KubeObject>(resource: Resource, object: T, options?: object): Promise<T> => {
    writes += 1
    if (writes > 50) throw new Error('This is a loop.')
    await apply(resource, object, options as never)
    client.edit(resource, object.metadata as ObjectRef, (stored) => stores(stored as Workload, writes))
    return client.get<T>(resource, object.metadata as ObjectRef)
  }
  return { writes: () => writes }
}

/** A step that ensures a child with these requests of one container. */
const makeWorkload = (requests: Record<string, unknown>) =>
  async function makeWorkload(pass: Pass<typeof VectorCluster>) {
    const { name, namespace = '' } = pass.object.metadata
    const child = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: `vc-${name}`, namespace },
      spec: { template: { spec: { containers: [{ name: 'main', resources: { requests } }] } } },
    }
    await pass.children.ensure(child, { resource: statefulSet })
    return done()
  }

describe('a child that the API server stores differently', () => {
  const world = controllerWorld()
  const requestsOf = (child: Workload) => child.spec.template.spec.containers[0]?.resources.requests ?? {}

  for (const [sentence, written, stores] of [
    ['a core as millicores', { cpu: '1000m' }, (child) => Object.assign(requestsOf(child), { cpu: '1' })],
    ['a core as a number', { cpu: 1 }, (child) => Object.assign(requestsOf(child), { cpu: '1' })],
    ['half a core as a decimal', { cpu: '0.5' }, (child) => Object.assign(requestsOf(child), { cpu: '500m' })],
    ['a gibibyte as mebibytes', { memory: '1024Mi' }, (child) => Object.assign(requestsOf(child), { memory: '1Gi' })],
    ['a gigabyte as bytes', { memory: '1000000000' }, (child) => Object.assign(requestsOf(child), { memory: '1G' })],
    [
      'fields that get defaults',
      { cpu: '1' },
      (child) => {
        Object.assign(child.spec, { replicas: 1, revisionHistoryLimit: 10 })
        child.spec.template.spec.priority = 0
      },
    ],
  ] as [string, Record<string, unknown>, (child: Workload) => void][]) {
    it(`writes it once if the meaning is the same: ${sentence}`, async () => {
      world.make({ observes: [statefulSet], reconcile: makeWorkload(written) })
      const server = storing(world, stores)
      world.seed('orders')
      await world.bench.start()
      await world.bench.clock.advance(3_600_000)
      expect(server.writes()).to.equal(1)
      expect((await world.stored('orders')).status).to.deep.include({ phase: 'Available' })
      expect((await world.stored('orders')).status?.statusMessage ?? '').to.equal('')
    })
  }

  const shrunk = (child: Workload, writes: number) => Object.assign(requestsOf(child), { memory: `${500 + writes}Mi` })

  it('rewrites it at most every 10 minutes and reports the first different field', async () => {
    world.make({ observes: [statefulSet], reconcile: makeWorkload({ memory: '1Gi' }) })
    const server = storing(world, shrunk)
    world.seed('orders')
    await world.bench.start()
    expect(server.writes()).to.equal(1)
    expect((await world.stored('orders')).status).to.deep.include({
      phase: 'Available',
      statusMessage:
        `StatefulSet "${world.space}/vc-orders" is stored differently from what was written, first in ` +
        'spec.template.spec.containers[main].resources.requests.memory. ' +
        'Whatever changes it (an admission webhook, an older type) must leave it alone.',
    })
    await world.bench.clock.advance(1_800_000)
    await world.bench.rest()
    expect(server.writes()).to.be.within(3, 4)
  })

  it('writes it at once after a change of the desired state and clears the report', async () => {
    let memory = '1Gi'
    world.make({ observes: [statefulSet], reconcile: (pass) => makeWorkload({ memory })(pass) })
    const server = storing(world, (child) => requestsOf(child).memory === '1Gi' && shrunk(child, 1))
    world.seed('orders')
    await world.bench.start()
    memory = '2Gi'
    world.bench.client.edit(statefulSet, { namespace: world.space, name: 'vc-orders' }, (child) => {
      child.metadata.labels = { ...child.metadata.labels, touched: 'yes' }
    })
    await world.bench.rest()
    expect(server.writes()).to.equal(2)
    expect((await world.stored('orders')).status?.statusMessage ?? '').to.equal('')
  })

  it('stops writing when its owner is deleted', async () => {
    world.make({ observes: [statefulSet], reconcile: makeWorkload({ memory: '1Gi' }) })
    const server = storing(world, shrunk)
    const { metadata } = world.seed('orders')
    await world.bench.start()
    await world.bench.client.remove(VectorCluster.resource, metadata as ObjectRef)
    await world.bench.rest()
    await world.bench.clock.advance(3_600_000)
    expect(server.writes()).to.equal(1)
  })
})
