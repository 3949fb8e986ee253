import { expect } from 'chai'
import { HOME, OUTER, seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import type { AnyKind } from '../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { KINDS } from '../crds/index.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import { deployment } from '../kube/builtin.ts'

/** An object that must not be created beside its neighbour, created before that neighbour. */
type Early = {
  kind: AnyKind
  name: string
  spec: object
  space: string
  makeNeighbour: (world: World) => Promise<void>
}

const CLUSTER = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b09'
const pay = functionObjectName('shop', 'pay')
const handled = { namespaceName: 'shop', functionName: 'pay', handler: 'index', image: 'pay:1', minReplicas: 1 }
const early = (shared: object): Early => ({
  kind: ServerlessFunction,
  name: pay,
  spec: handled,
  space: HOME,
  makeNeighbour: (world) => world.make(FunctionNamespace, 'shop', { runtime: 'nodejs', ...shared }),
})
const secret = { vaultName: 'keys', secretName: 'Token' }

type EarlyCases = Readonly<Record<string, Readonly<Record<string, Early>>>>

/** No policy looks at the function namespace: the function itself lists what it may be given. */
const WITHOUT_POLICY: EarlyCases = {
  'ServerlessFunction beside FunctionNamespace': {
    'with an identity': early({ managedIdentity: true }),
    'with a secret': early({ env: [{ name: 'TOKEN', secret }] }),
  },
}

const WITH_POLICY: EarlyCases = {
  'BoundaryProjection beside PlatformCluster': {
    "that is the platform's own": {
      kind: BoundaryProjection,
      name: CLUSTER,
      spec: { clusterId: CLUSTER },
      space: OUTER,
      makeNeighbour: (world) =>
        world.make(PlatformCluster, CLUSTER, { displayName: 'Here', domain: 'a.test', isPlatform: true }),
    },
  },
}

/** An admission policy sees only what exists; the controller must check neighbours that are created later. */
describe('objects created before the neighbour that they need', () => {
  const kinds = ['functionnamespace', 'serverlessfunction', 'managedidentity', 'boundaryprojection']
  let world: World
  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => kinds.includes(name)))
    seedGroup(world.server)
    await world.lead()
  })
  afterEach(() => world.stop())

  const phaseOf = async (kind: AnyKind, name: string, space: string) =>
    ((await world.find(kind.resource, name, space))?.status as { phase?: string } | undefined)?.phase

  it('are tested here for every kind with such a policy', () => {
    const judged = KINDS.flatMap((kind) => (kind.parameterizedRules ?? []).map(({ of }) => `${kind.kind} beside ${of}`))
    expect(Object.keys(WITH_POLICY)).to.have.members(judged)
  })

  for (const [pair, cases] of Object.entries({ ...WITHOUT_POLICY, ...WITH_POLICY }))
    for (const [which, { kind, name, spec, space, makeNeighbour }] of Object.entries(cases))
      it(`are rejected by the controller: ${pair} ${which}`, async () => {
        await world.make(kind, name, spec, space)
        await world.rest()
        expect(await phaseOf(kind, name, space)).to.equal('ReferenceMissing')
        await world.pass(1_000)
        await makeNeighbour(world)
        await world.rest()
        expect(await phaseOf(kind, name, space)).to.equal('ConfigurationInvalid')
        expect((await world.server.list(deployment)).items).to.deep.equal([])
      })

  const served = () => world.server.list(deployment).then(({ items }) => items.length)

  it('get plain variables of the function namespace', async () => {
    await world.make(ServerlessFunction, pay, handled)
    await world.pass(1_000)
    await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs', env: [{ name: 'MODE', value: 'test' }] })
    await world.until('its copies are there', async () => (await served()) === 1)
  })

  it('get the identity after a recreation with namespaceSecrets', async () => {
    await world.make(ServerlessFunction, pay, handled)
    await world.pass(1_000)
    await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs', managedIdentity: true })
    await world.rest()
    await world.remove(ServerlessFunction, pay)
    await world.until('the early one is gone', () => world.isGone(ServerlessFunction, pay))
    await world.make(ServerlessFunction, pay, { ...handled, namespaceSecrets: ['managedidentities'] })
    await world.until('its copies are there', async () => (await served()) === 1)
  })
})
