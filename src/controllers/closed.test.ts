import { expect } from 'chai'
import { seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { PlatformApp } from '../crds/apps.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import type { AnyKind } from '../crds/define.ts'
import { FunctionNamespace } from '../crds/functions.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { ComputePlan } from '../crds/plans.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { SqlInstance } from '../crds/sql.ts'
import { StaticWebApp } from '../crds/staticwebapps.ts'
import { VectorCluster } from '../crds/vector.ts'
import { ingress, networkPolicy, service } from '../kube/builtin.ts'
import { EXPOSURE_LIMIT_FIELDS, NARROWED_ANNOTATION } from './engine/exposureLimits.ts'
import { EXPOSURE_FIELDS } from './engine/routes.ts'

const PLAN = 'mine'
const NAME = 'shop'
/** What else the spec of each kind needs. */
const SPECS: ReadonlyMap<AnyKind, object> = new Map<AnyKind, object>([
  [VectorCluster, {}],
  [RelationalCluster, {}],
  [SqlInstance, { engine: 'MariaDb' }],
  [
    ContainerInstance,
    { components: [{ name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080, protocol: 'Tcp' }] }] },
  ],
  [PlatformApp, { sourceKind: 'Image', image: 'site:1' }],
  [StaticWebApp, { image: 'site:1' }],
  [FunctionNamespace, { runtime: 'nodejs' }],
])

const OPEN = RESOURCE_KINDS.flatMap((kind) =>
  EXPOSURE_FIELDS.filter((field) => field in kind.spec.shape).map((field) => [kind, field] as const),
)

/** Of each field, a value that allows much and one that allows less. */
const BOUNDS = {
  allowedCidrs: {
    wide: '203.0.113.0/24,198.51.100.0/24',
    narrow: '203.0.113.0/24',
    shutOut: '198.51.100.0/24',
    none: null,
  },
  customDomains: {
    wide: ['a.example.net', 'b.example.net'],
    narrow: ['a.example.net'],
    shutOut: 'b.example.net',
    none: [],
  },
} as const satisfies Record<(typeof EXPOSURE_LIMIT_FIELDS)[number], unknown>

const BOUND = OPEN.flatMap(([kind, way]) =>
  EXPOSURE_LIMIT_FIELDS.filter((field) => field in kind.spec.shape).map((field) => [kind, way, field] as const),
)

/** A world with one resource of the kind that is public by a field, on a plan of its own. */
async function opened(kind: AnyKind, way: string, spec: object): Promise<World> {
  const names = [kind.kind.toLowerCase(), 'deploymentrecord']
  const world = new World((all) => all.filter(({ name }) => names.includes(name)))
  seedGroup(world.server)
  await world.lead()
  await offerPlan(world, kind)
  await world.make(kind, NAME, { ...SPECS.get(kind), computePlan: PLAN, [way]: true, ...spec })
  await world.until('there is a way in', async () => (await ways(world)).length > 0)
  return world
}

async function offerPlan(world: World, kind: AnyKind): Promise<void> {
  const plans = (await world.server.list(ComputePlan.resource)).items as unknown as ComputePlan[]
  const plan = plans.find(({ spec }) => spec.family === kind.sized && spec.isDefault)
  await world.make(ComputePlan, PLAN, { ...plan?.spec, isDefault: false })
}

async function ways({ server }: World): Promise<string[]> {
  type Service = { spec?: { type?: string } }
  const services = (await server.list(service)).items.filter((one) => (one as Service).spec?.type === 'LoadBalancer')
  return [...(await server.list(ingress)).items, ...services].map(({ kind, metadata }) => `${kind} ${metadata.name}`)
}

/** All ingresses, services and network policies. */
async function written({ server }: World): Promise<string> {
  const lists = await Promise.all([ingress, service, networkPolicy].map((resource) => server.list(resource)))
  return JSON.stringify(lists.flatMap(({ items }) => items))
}

describe('exposure of resources that cannot run', () => {
  let world: World | undefined
  afterEach(() => world?.stop())

  it('covers every kind that can be public', () => {
    expect([...new Set(OPEN.map(([kind]) => kind.kind))].sort()).to.deep.equal(
      [...SPECS.keys()].map(({ kind }) => kind).sort(),
    )
  })

  for (const [kind, field] of OPEN)
    it(`removes Ingress and LoadBalancer of a ${kind.kind} without its plan when ${field} is turned off`, async () => {
      const here = await opened(kind, field, {})
      world = here
      await here.remove(ComputePlan, PLAN)
      await here.rest()
      await here.change(kind, NAME, { [field]: false })
      await here.rest()
      expect((await here.find(kind.resource, NAME))?.status).to.include({ phase: 'PlanNotFound' })
      expect(await ways(here)).to.deep.equal([])
    })

  for (const [kind, way, field] of BOUND)
    it(`narrows ${field} of a ${kind.kind} without its plan, exposed by ${way}`, async () => {
      const { wide, narrow, shutOut, none } = BOUNDS[field]
      const here = await opened(kind, way, { [field]: wide })
      world = here
      expect(await written(here)).to.include(shutOut)
      await here.remove(ComputePlan, PLAN)
      await here.rest()
      await here.change(kind, NAME, { [field]: narrow })
      await here.rest()
      expect((await here.find(kind.resource, NAME))?.status).to.include({ phase: 'PlanNotFound' })
      expect(await written(here))
        .to.include(`${narrow}`)
        .and.not.include(shutOut)

      await here.change(kind, NAME, { [field]: none })
      await offerPlan(here, kind)
      await here.until('it is ready', () => here.isReady(kind, NAME))
      expect(await written(here), 'all of it is as if nothing had been narrowed')
        .to.not.include(`${narrow}`)
        .and.not.include(NARROWED_ANNOTATION)
    })

  for (const [kind, way, field] of BOUND.filter(([, , field]) => field === 'allowedCidrs'))
    it(`limits the addresses of an unrestricted ${kind.kind} without its plan, exposed by ${way}`, async () => {
      const { narrow } = BOUNDS[field]
      const here = await opened(kind, way, {})
      world = here
      await here.remove(ComputePlan, PLAN)
      await here.rest()
      await here.change(kind, NAME, { [field]: narrow })
      await here.rest()
      expect(await written(here))
        .to.include(`${narrow}`)
        .and.not.include('0.0.0.0/0')
      expect(await ways(here)).to.not.be.empty
    })
})
