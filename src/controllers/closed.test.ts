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
import { ingress, service } from '../kube/builtin.ts'
import { OPENING } from './engine/routes.ts'

const PLAN = 'mine'
const NAME = 'shop'
/** What the spec of each kind needs beside. */
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
  OPENING.filter((field) => field in kind.spec.shape).map((field) => [kind, field] as const),
)

describe('what is closed to the outside', () => {
  let world: World | undefined
  afterEach(() => world?.stop())

  async function ways({ server }: World): Promise<string[]> {
    type Service = { spec?: { type?: string } }
    const services = (await server.list(service)).items.filter((one) => (one as Service).spec?.type === 'LoadBalancer')
    return [...(await server.list(ingress)).items, ...services].map(({ kind, metadata }) => `${kind} ${metadata.name}`)
  }

  it('is of every kind that can be opened', () => {
    expect([...new Set(OPEN.map(([kind]) => kind.kind))].sort()).to.deep.equal(
      [...SPECS.keys()].map(({ kind }) => kind).sort(),
    )
  })

  for (const [kind, field] of OPEN)
    it(`has no way in any more, also while something keeps it from running: a ${kind.kind} without ${field}`, async () => {
      const names = [kind.kind.toLowerCase(), 'deploymentrecord']
      const here = new World((all) => all.filter(({ name }) => names.includes(name)))
      world = here
      seedGroup(here.server)
      await here.lead()
      const plans = (await here.server.list(ComputePlan.resource)).items as unknown as ComputePlan[]
      const plan = plans.find(({ spec }) => spec.family === kind.sized && spec.isDefault)
      await here.make(ComputePlan, PLAN, { ...plan?.spec, isDefault: false })
      await here.make(kind, NAME, { ...SPECS.get(kind), computePlan: PLAN, [field]: true })
      await here.until('there is a way in', async () => (await ways(here)).length > 0)
      await here.remove(ComputePlan, PLAN)
      await here.rest()
      await here.change(kind, NAME, { [field]: false })
      await here.rest()
      expect((await here.find(kind.resource, NAME))?.status).to.include({ phase: 'PlanNotFound' })
      expect(await ways(here)).to.deep.equal([])
    })
})
