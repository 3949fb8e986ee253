import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { BOUNDARY_ID } from '../../../test/worlds/controllers.ts'
import { controllerWorld } from '../../../test/worlds/runner.ts'
import { groupNamespaceObject } from '../../core/namespaces.ts'
import { currentOrigin } from '../../core/origin.ts'
import { done } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { namespace } from '../../kube/builtin.ts'
import type { Pass } from './controller.ts'

const CALM = '5e2a9c01-0b7d-4f3e-8a44-6c1d2e3f4a5b'

describe('Runner with objects of several boundaries', () => {
  const world = controllerWorld()

  /** Two boundaries: one with 20 groups and one with a single group, each group with a database. */
  function seedNeighbours() {
    for (let index = 0; index < 20; index += 1) seedIn(BOUNDARY_ID, `busy-${index}`)
    return seedIn(CALM, 'calm')
  }

  function seedIn(boundaryId: string, group: string): string {
    const home = world.bench.client.seed(namespace, groupNamespaceObject(boundaryId, group, 'of-the-group')).metadata
      .name
    world.bench.seed(VectorCluster, 'orders', {}, { namespace: home })
    return `${home}/orders`
  }

  it('serves boundaries in turn, however many groups one has', async () => {
    const order: string[] = []
    const reconcile = ({ key }: Pass<typeof VectorCluster>) => {
      order.push(key)
      return done()
    }
    world.make({ reconcile }, { workers: 1 })
    const calm = seedNeighbours()
    await world.bench.start()
    expect(order.indexOf(calm)).to.be.within(0, 1)
  })

  it('reconciles objects of other boundaries while each pass of one boundary hangs', async () => {
    const { promise: whenLet, resolve: letGo } = Promise.withResolvers<void>()
    const worked = new Set<string>()
    const reconcile = async ({ key, scope }: Pass<typeof VectorCluster>) => {
      if (scope.boundaryId === BOUNDARY_ID) await whenLet
      worked.add(key)
      return done()
    }
    world.make({ reconcile }, { workers: 4 })
    const calm = seedNeighbours()
    const started = world.bench.start()
    await until('the other boundary is worked for', () => Promise.resolve(worked.size > 0)).finally(letGo)
    expect([...worked][0]).to.equal(calm)
    await started
    expect(worked).to.have.length(21)
  })

  it('sets the boundary as caller of its requests to the API server', async () => {
    const callers = new Set<string | undefined>()
    const reconcile = ({ scope }: Pass<typeof VectorCluster>) => {
      callers.add(currentOrigin()?.caller === scope.boundaryId ? scope.boundaryId : 'somebody else')
      return done()
    }
    world.make({ reconcile })
    seedNeighbours()
    await world.bench.start()
    expect([...callers]).to.have.members([BOUNDARY_ID, CALM])
  })
})
