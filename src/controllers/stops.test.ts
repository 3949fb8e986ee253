import { expect } from 'chai'
import { seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { PlatformApp } from '../crds/apps.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import type { AnyKind } from '../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { KINDS } from '../crds/index.ts'
import { ComputePlan } from '../crds/plans.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { SqlInstance } from '../crds/sql.ts'
import { StaticWebApp } from '../crds/staticwebapps.ts'
import { VectorCluster } from '../crds/vector.ts'
import { deployment, pod, statefulSet } from '../kube/builtin.ts'
import { postgresqlCluster } from '../kube/postgresql.ts'

/** How a kind that can be stopped is created, stopped and started. */
type Stoppable = {
  readonly kind: AnyKind
  readonly name: string
  readonly spec: object
  readonly stop: object
  readonly start: object
  /** Objects that are created before. */
  readonly given?: readonly [kind: AnyKind, name: string, spec: object][]
}

const POWER = { stop: { running: false }, start: { running: true } }
const PLAN = 'mine'
const WEB = { name: 'web', image: 'site:1' }

const ORDERS = {
  name: functionObjectName('shop', 'orders'),
  spec: { namespaceName: 'shop', functionName: 'orders', handler: 'index', image: 'orders:1', minReplicas: 1 },
}

const STOPPABLE: readonly Stoppable[] = [
  { kind: VectorCluster, name: 'products', spec: { replicas: 2 }, ...POWER },
  { kind: RelationalCluster, name: 'orders', spec: { enablePooler: true }, ...POWER },
  { kind: SqlInstance, name: 'books', spec: { engine: 'MariaDb' }, ...POWER },
  { kind: ContainerInstance, name: 'shop', spec: { components: [WEB, { ...WEB, name: 'worker' }] }, ...POWER },
  { kind: PlatformApp, name: 'shop', spec: { sourceKind: 'Image', image: 'site:1' }, ...POWER },
  { kind: StaticWebApp, name: 'docs', spec: { image: 'site:1' }, ...POWER },
  {
    kind: FunctionNamespace,
    name: 'shop',
    spec: { runtime: 'nodejs' },
    ...POWER,
    given: [[ServerlessFunction, ORDERS.name, ORDERS.spec]],
  },
  {
    kind: ServerlessFunction,
    ...ORDERS,
    stop: { enabled: false },
    start: { enabled: true },
    given: [[FunctionNamespace, 'shop', { runtime: 'nodejs' }]],
  },
]

type Obstacle = {
  readonly title: string
  readonly phase: string
  put(world: World, one: Stoppable): Promise<void>
}

const OBSTACLES: readonly Obstacle[] = [
  { title: 'without its plan', phase: 'PlanNotFound', put: (world) => world.remove(ComputePlan, PLAN) },
  {
    title: 'with a plan above its CPU limit',
    phase: 'ConfigurationInvalid',
    put: (world) => world.change(ComputePlan, PLAN, { cpuRequest: '64' }),
  },
]

/** Obstacles of single kinds. */
const MORE: readonly [kind: AnyKind, obstacle: Obstacle][] = [
  [
    VectorCluster,
    {
      title: 'with an image that is not allowed',
      phase: 'ConfigurationInvalid',
      put: (world, { kind, name }) => world.change(kind, name, { imageName: 'example.org/qdrant:1' }),
    },
  ],
  [
    ContainerInstance,
    {
      title: 'with a missing secret',
      phase: 'ReferenceMissing',
      put: (world, { kind, name }) => {
        const secret = { vaultName: 'safe', secretName: 'Key' }
        const env = [{ name: 'KEY', secret }]
        const components = [WEB, { ...WEB, name: 'worker', env }]
        return world.change(kind, name, stored(kind, { components }))
      },
    },
  ],
]

type Status = Partial<Record<'status' | 'phase' | 'statusMessage' | 'firstReadyAt', string>>

async function statusOf(world: World, { kind, name }: Stoppable): Promise<Status> {
  return ((await world.find(kind.resource, name))?.status ?? {}) as Status
}

/** The number of running copies, engines and pods. */
async function running({ server }: World): Promise<number> {
  const copies = (await Promise.all([statefulSet, deployment].map((resource) => server.list(resource)))).flatMap(
    ({ items }) => items.map(({ spec }) => (spec as { replicas?: number }).replicas ?? 1),
  )
  const engines = (await server.list(postgresqlCluster)).items.filter(
    ({ metadata }) => metadata.annotations?.['cnpg.io/hibernation'] !== 'on',
  )
  const pods = (await server.list(pod)).items
  return copies.reduce((sum, one) => sum + one, 0) + engines.length + pods.length
}

/** A world in which it runs, on a plan of its own. */
async function started(one: Stoppable): Promise<World> {
  const world = worldFor(one)
  const family = (await world.server.list(ComputePlan.resource)).items as unknown as ComputePlan[]
  const plan = family.find(({ spec }) => spec.family === one.kind.sized && spec.isDefault)
  await world.lead()
  await world.make(ComputePlan, PLAN, { ...plan?.spec, isDefault: false })
  for (const [kind, name, spec] of one.given ?? []) await world.make(kind, name, spec)
  await world.rest()
  await world.make(one.kind, one.name, { computePlan: PLAN, ...one.spec })
  await world.until('it runs', async () => (await statusOf(world, one)).status === 'Running')
  // Its children run a moment later.
  await world.rest()
  expect(await running(world)).to.be.greaterThan(0)
  return world
}

async function obstructed(one: Stoppable, obstacle: Obstacle): Promise<World> {
  const world = await started(one)
  await world.change(one.kind, one.name, limitOf(one))
  await world.rest()
  await obstacle.put(world, one)
  await world.until('it says why', async () => (await statusOf(world, one)).phase === obstacle.phase)
  return world
}

/** A limit of its own that a plan can contradict; without one, the plan contradicts itself. */
function limitOf({ kind, spec }: Stoppable): object {
  if ('cpuLimit' in kind.spec.shape) return { cpuLimit: '4' }
  const { components } = spec as { components?: object[] }
  return components === undefined
    ? {}
    : stored(kind, { components: components.map((each) => ({ ...each, cpuLimit: '4' })) })
}

/** A part of a spec with the defaults that the API server would set. */
function stored(kind: AnyKind, part: object): object {
  const whole = kind.spec.parse(part) as Record<string, unknown>
  return Object.fromEntries(Object.keys(part).map((field) => [field, whole[field]]))
}

/** A world with the controllers that the kind needs. */
function worldFor({ kind }: Stoppable): World {
  const names = [kind.kind.toLowerCase(), 'deploymentrecord', 'functionnamespace', 'serverlessfunction']
  const world = new World((all) => all.filter(({ name }) => names.includes(name)))
  seedGroup(world.server)
  return world
}

const cases = STOPPABLE.flatMap((one) => {
  const more = MORE.flatMap(([kind, obstacle]) => (kind === one.kind ? [obstacle] : []))
  return [...OBSTACLES, ...more].map((obstacle) => ({ one, obstacle }))
})

describe('stop of a resource that cannot run', () => {
  it('is tested here for every kind that can be stopped', () => {
    const fields = ['running', 'enabled']
    const withOne = KINDS.filter(
      ({ placement, sized, spec }) => placement === 'group' && sized && fields.some((field) => field in spec.shape),
    )
    expect(STOPPABLE.map(({ kind }) => kind.kind).sort()).to.deep.equal(withOne.map(({ kind }) => kind).sort())
  })

  for (const { one, obstacle } of cases)
    describe(`such as a ${one.kind.kind} ${obstacle.title}`, () => {
      let world: World
      before(async () => {
        world = await obstructed(one, obstacle)
      })
      after(() => world.stop())

      it('scales it down and reports what keeps it from starting', async () => {
        await world.change(one.kind, one.name, one.stop)
        await world.until('it is stopped', async () => (await statusOf(world, one)).status === 'Stopped')
        expect(await running(world)).to.equal(0)
        expect((await statusOf(world, one)).statusMessage).to.include('It cannot be started now:')
      })

      it('is followed by a start that fails for the same reason', async () => {
        await world.change(one.kind, one.name, one.start)
        await world.until('it says why', async () => (await statusOf(world, one)).phase === obstacle.phase)
        expect((await statusOf(world, one)).status).to.equal('Failed')
        expect(await running(world)).to.equal(0)
      })

      it('does not block its deletion', async () => {
        await world.remove(one.kind, one.name)
        await world.until('it is gone', () => world.isGone(one.kind, one.name))
        expect(await running(world)).to.equal(0)
      })
    })

  for (const one of STOPPABLE)
    it(`sets Stopped for a ${one.kind.kind} that never ran because its plan was missing`, async () => {
      const world = worldFor(one)
      await world.lead()
      for (const [kind, name, spec] of one.given ?? []) await world.make(kind, name, spec)
      await world.make(one.kind, one.name, { computePlan: 'nothing', ...one.spec })
      await world.until('it says why', async () => (await statusOf(world, one)).phase === 'PlanNotFound')
      await world.change(one.kind, one.name, one.stop)
      await world.until('it is stopped', async () => (await statusOf(world, one)).status === 'Stopped')
      expect((await statusOf(world, one)).firstReadyAt, 'it was never ready').to.equal(undefined)
      await world.stop()
    })
})
