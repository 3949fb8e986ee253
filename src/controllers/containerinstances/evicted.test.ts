import { expect } from 'chai'
import { seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { timestamp } from '../../core/clock.ts'
import type { KubeObject } from '../../core/object.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { isReady, type LivePod } from '../../desired/workload/trouble.ts'
import { pod } from '../../kube/builtin.ts'

const NAME = 'shop'
const web = { name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }
const OVER_LIMIT = 'Pod ephemeral local storage usage exceeds the total limit of containers 4Gi. '
const EVICTED =
  /A copy of component "web" was evicted at 2026-01-01T\S+Z: it wrote more to the disk than its limit of 4Gi\.$/
const HOUR = 3_600_000

/** Kubernetes makes another pod in the place of one that is evicted, and keeps that one for as long as nobody deletes it. */
describe('a copy that was evicted', () => {
  let world: World

  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => name === 'containerinstance'))
    seedGroup(world.server)
    await world.lead()
    await world.make(ContainerInstance, NAME, { components: [web] })
    await world.rest()
  })
  afterEach(() => world.stop())

  const says = async () => {
    const found = await world.find(ContainerInstance.resource, NAME)
    const { status, phase, statusMessage } = (found?.status ?? {}) as Record<string, string>
    return `${status} ${phase}: ${statusMessage}`
  }
  const pods = async () => (await world.server.list<LivePod & KubeObject>(pod)).items
  const evicted = async () => (await pods()).filter(({ status }) => status?.reason === 'Evicted')
  /** As it lies beside the one that took its place. */
  async function leave(name: string): Promise<void> {
    const [running] = (await pods()).filter(isReady)
    const { metadata } = running as LivePod
    const now = timestamp(world.clock.now())
    world.server.seed(pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...{ name, namespace: metadata.namespace ?? '', labels: metadata.labels ?? {} },
        ...(metadata.ownerReferences && { ownerReferences: metadata.ownerReferences }),
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      status: {
        ...{ phase: 'Failed', reason: 'Evicted', message: OVER_LIMIT },
        conditions: [{ type: 'Ready', status: 'False', reason: 'PodFailed', lastTransitionTime: now }],
        containerStatuses: [
          { name: 'web', state: { terminated: { exitCode: 137, reason: 'Error', finishedAt: now } } },
        ],
      },
    } as KubeObject)
    await world.rest()
  }

  it('does not make one that is back look ill, and is told of for an hour', async () => {
    await leave('web-old')
    expect(await says()).to.match(/^Running Available: The copy is ready\. /)
    expect(await says()).to.match(EVICTED)
    await world.clock.advance(HOUR)
    await world.rest()
    expect(await says()).to.equal('Running Available: The copy is ready.')
    expect(await evicted()).to.deep.equal([])
  })

  it('leaves one pod behind and no more, however often it comes again', async () => {
    for (const name of ['web-1', 'web-2', 'web-3']) await leave(name)
    expect((await evicted()).map(({ metadata }) => metadata.name)).to.have.length(1)
  })

  it('is no copy that an instance that is stopped waits for', async () => {
    await leave('web-old')
    await world.change(ContainerInstance, NAME, { running: false })
    await world.rest()
    expect(await says()).to.equal('Stopped Stopped: No copy runs; volumes are kept.')
  })
})
