import { expect } from 'chai'
import { seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { timestamp } from '../core/clock.ts'
import type { KubeObject } from '../core/object.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { isReady, type LivePod } from '../desired/workload/podProblems.ts'
import { pod } from '../kube/builtin.ts'

const OVER_LIMIT = 'Pod ephemeral local storage usage exceeds the total limit of containers 4Gi. '
const HOUR = 3_600_000

const evictionOf = (what: string) =>
  new RegExp(`^${what} was evicted at 2026-01-01T\\S+Z: it wrote more to the disk than its limit of 4Gi\\.$`)

/** Kubernetes replaces an evicted pod, and keeps the evicted one until it is deleted. */
describe('evicted pods', () => {
  let world: World
  afterEach(() => world.stop())

  async function begin(...controllers: string[]): Promise<void> {
    world = new World((all) => all.filter(({ name }) => controllers.includes(name)))
    seedGroup(world.server)
    await world.lead()
  }
  const pods = async () => (await world.server.list<LivePod & KubeObject>(pod)).items
  const evicted = async () => (await pods()).filter(({ status }) => status?.reason === 'Evicted')
  const says = async (kind: typeof ContainerInstance | typeof ServerlessFunction, name: string) => {
    const found = await world.find(kind.resource, name)
    const { status, phase, statusMessage } = (found?.status ?? {}) as Record<string, string>
    return [status, phase, statusMessage]
  }

  /** As it remains beside its replacement. */
  async function leave(name: string): Promise<void> {
    const [running] = (await pods()).filter(isReady)
    const { namespace = '', labels = {}, ownerReferences = [] } = (running as LivePod).metadata
    const now = timestamp(world.clock.now())
    const ended = { terminated: { exitCode: 137, reason: 'Error', finishedAt: now } }
    world.server.seed(pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels, ownerReferences, creationTimestamp: '2026-01-01T00:00:00Z' },
      status: {
        ...{ phase: 'Failed', reason: 'Evicted', message: OVER_LIMIT },
        conditions: [{ type: 'Ready', status: 'False', reason: 'PodFailed', lastTransitionTime: now }],
        containerStatuses: [{ name: 'web', state: ended }],
      },
    } as KubeObject)
    await world.rest()
  }

  describe('of a ContainerInstance', () => {
    const NAME = 'shop'
    const told = () => says(ContainerInstance, NAME)

    beforeEach(async () => {
      await begin('containerinstance')
      const web = { name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }
      await world.make(ContainerInstance, NAME, { components: [web] })
      await world.rest()
    })

    it('do not change Running, are reported for an hour and then deleted', async () => {
      await leave('web-old')
      const [status, , message = ''] = await told()
      expect([status, message.slice(0, 18)]).to.deep.equal(['Running', 'The copy is ready.'])
      expect(message.slice(19)).to.match(evictionOf('A copy of component "web"'))
      await world.clock.advance(HOUR)
      await world.rest()
      expect(await told()).to.deep.equal(['Running', 'Available', 'The copy is ready.'])
      expect(await evicted()).to.deep.equal([])
    })

    it('are deleted except for one', async () => {
      for (const name of ['web-1', 'web-2', 'web-3']) await leave(name)
      expect(await evicted()).to.have.length(1)
    })

    it('do not delay a stop', async () => {
      await leave('web-old')
      await world.change(ContainerInstance, NAME, { running: false })
      await world.rest()
      expect(await told()).to.deep.equal(['Stopped', 'Stopped', 'No copy runs; volumes are kept.'])
    })
  })

  it('of a ServerlessFunction are reported while it is Running', async () => {
    await begin('functionnamespace', 'serverlessfunction')
    const [home, functionName] = ['shop', 'orders']
    await world.make(FunctionNamespace, home, { runtime: 'nodejs' })
    await world.make(ServerlessFunction, functionObjectName(home, functionName), {
      ...{ namespaceName: home, functionName, handler: 'index', image: 'orders:1', minReplicas: 1 },
    })
    await world.rest()
    await leave('orders-old')
    const [status, , message = ''] = await says(ServerlessFunction, functionObjectName(home, functionName))
    expect([status, message.slice(0, 16)]).to.deep.equal(['Running', 'One copy serves.'])
    expect(message.slice(17)).to.match(evictionOf('A copy of the function'))
  })
})
