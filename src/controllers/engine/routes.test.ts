import { expect } from 'chai'
import { HOME, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { type Resource, resourceId } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { deployment, ingress, statefulSet } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { observedRoutes } from './routes.ts'

const NAME = 'shop'
const web = { name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }

/** Of each kind with a public host: the smallest spec that has one, and the resource that runs it. */
const CASES: readonly [kind: AnyKind, spec: object, workload: Resource][] = [
  [VectorCluster, { computePlan: 'vector-medium', enableIngress: true }, statefulSet],
  [ContainerInstance, { components: [web], isPublic: true }, deployment],
  [PlatformApp, { sourceKind: 'Image', image: 'site:1' }, deployment],
  [StaticWebApp, { image: 'site:1' }, deployment],
  [FunctionNamespace, { runtime: 'nodejs' }, ServerlessFunction.resource],
]

describe('deletion of resources with a public host', () => {
  let world: World
  let served: readonly AnyKind[] = []
  const start = async () => {
    world = new World((all) => {
      served = all.filter(({ observes }) => observedRoutes(observes).length > 0).map(({ kind }) => kind)
      return all
    })
    seedGroup(world.server)
    await world.lead()
  }
  beforeEach(start)
  afterEach(() => world.stop())

  it('is tested here for every kind that observes routes', () => {
    expect(served.map(({ kind }) => kind).sort()).to.deep.equal(CASES.map(([{ kind }]) => kind).sort())
  })

  for (const [kind, spec, workload] of CASES)
    it(`removes the route of a ${kind.kind} before its workload`, async () => {
      await world.make(kind, NAME, spec)
      if (kind === FunctionNamespace)
        await world.make(ServerlessFunction, functionObjectName(NAME, 'orders'), {
          ...{ namespaceName: NAME, functionName: 'orders', handler: 'index', image: 'orders:1' },
        })
      await world.until('it is ready', () => world.isReady(kind, NAME))
      const routes = async () => [
        ...(await world.server.list(ingress)).items,
        ...(await world.server.list(httpRoute)).items,
      ]
      expect(await routes()).to.not.be.empty
      const before = world.server.calls.length
      await world.remove(kind, NAME, HOME)
      await world.until('it is gone', () => world.isGone(kind, NAME))
      expect(await routes()).to.deep.equal([])
      const ends = world.server.calls
        .slice(before)
        .filter(({ verb, subresource }) => (verb === 'delete' || verb === 'patch') && subresource === undefined)
      const firstOf = (...some: readonly Resource[]) =>
        ends.findIndex((call) => some.some(({ group, plural }) => resourceId({ group, plural }) === call.resource))
      const [route, run] = [firstOf(ingress, httpRoute), firstOf(workload)]
      expect(run, 'what runs is ended').to.be.greaterThan(-1)
      expect(route, 'its route goes').to.be.greaterThan(-1)
      expect(route).to.be.lessThan(run)
    })
})
