import { expect } from 'chai'
import { BOUNDARY_ID, HOME, seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { functionObjectName, pathClaim } from '../contracts/functions.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { type ClaimType, claimName } from '../core/nameClaims.ts'
import type { KubeObject } from '../core/object.ts'
import { PlatformApp } from '../crds/apps.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import type { AnyKind } from '../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { NameClaim } from '../crds/nameclaims.ts'
import { StaticWebApp } from '../crds/staticwebapps.ts'
import { VectorCluster } from '../crds/vector.ts'
import { ingress } from '../kube/builtin.ts'

const HOST = 'shop.example.net'
const FUNCTION = functionObjectName('shop', 'pay')

/** The spec of each kind, the claim, and the change of the spec that needs it. */
const CASES: readonly [kind: AnyKind, name: string, spec: object, type: ClaimType, value: string, change: object][] = [
  [VectorCluster, 'shop', { enableIngress: true }, 'Host', HOST, {}],
  [
    ContainerInstance,
    'shop',
    { isPublic: true, components: [{ name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }] },
    'Host',
    HOST,
    { customDomains: [HOST] },
  ],
  [PlatformApp, 'shop', { sourceKind: 'Image', image: 'site:1' }, 'Host', HOST, { customDomains: [HOST] }],
  [StaticWebApp, 'shop', { image: 'site:1' }, 'Host', HOST, { customDomains: [HOST] }],
  [FunctionNamespace, 'shop', { runtime: 'nodejs' }, 'Host', HOST, { customDomains: [HOST] }],
  [
    ServerlessFunction,
    FUNCTION,
    {
      namespaceName: 'shop',
      functionName: 'pay',
      handler: 'index',
      triggers: [{ name: 'a', kind: 'Http', path: '/a' }],
    },
    'FunctionPath',
    pathClaim(HOME, 'shop', '/b'),
    { triggers: [{ name: 'a', kind: 'Http', path: '/b' }] },
  ],
]

/** REST creates a claim before it writes the spec that needs it; a pass may come between. */
describe('claims that REST creates before a change', () => {
  let world: World
  afterEach(() => world.stop())

  it('are tested here for every kind with hosts or paths', () => {
    world = new World(() => [])
    const claiming = [...RESOURCE_KINDS, ServerlessFunction].filter(({ hostsOf, pathsOf }) => hostsOf ?? pathsOf)
    expect(CASES.map(([kind]) => kind)).to.include.members(claiming)
  })

  const isClaimed = async (type: ClaimType, value: string) =>
    (await world.find(NameClaim.resource, claimName(type, value))) !== undefined

  for (const [kind, name, spec, type, value, change] of CASES) {
    const begin = async () => {
      const names = [kind.kind.toLowerCase(), 'functionnamespace', 'deploymentrecord']
      world = new World((all) => all.filter((each) => names.includes(each.name)))
      seedGroup(world.server)
      await world.lead()
      if (kind === ServerlessFunction) await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs' })
      await world.make(kind, name, spec)
      await world.rest()
      const { annotations } = (await world.find(kind.resource, name))?.metadata ?? {}
      const holder = { kind: kind.kind, namespace: HOME, name, incarnation: annotations?.[INCARNATION_ANNOTATION] }
      await world.make(NameClaim, claimName(type, value), { type, value, holder })
      await world.rest()
      await world.change(kind, name, { tags: { meanwhile: 'changed' } })
      await world.rest()
    }

    it(`are kept for a ${kind.kind} that needs them`, async () => {
      await begin()
      expect(await isClaimed(type, value)).to.equal(true)
      await world.change(kind, name, change)
      await world.pass(60_000)
      if (Object.keys(change).length > 0) expect(await isClaimed(type, value)).to.equal(true)
    })

    it(`are released after 60 seconds if a ${kind.kind} does not need them`, async () => {
      await begin()
      await world.pass(60_000)
      expect(await isClaimed(type, value)).to.equal(false)
    })
  }
})

const OWN = `shop-${BOUNDARY_ID.slice(0, 8)}.cloud.example.org`
/** A host of each kind, and a change of the spec that gives it up. */
const GIVEN_UP: readonly [kind: AnyKind, way: string, had: object, host: string, gone: object][] = [
  [VectorCluster, 'enableIngress', { ingressHost: OWN }, OWN, { enableIngress: false, ingressHost: null }],
  ...([ContainerInstance, PlatformApp, StaticWebApp, FunctionNamespace] as const).flatMap(
    (kind): [AnyKind, string, object, string, object][] => {
      const way = 'isPublic' in kind.spec.shape ? 'isPublic' : 'enableIngress'
      return [
        [kind, way, { customDomains: [HOST] }, HOST, { customDomains: [] }],
        [kind, way, { customDomains: [HOST] }, HOST, { [way]: false }],
      ]
    },
  ),
]

describe('claims of hosts and paths', () => {
  let world: World
  afterEach(() => world.stop())

  const claimed = async () =>
    (await world.server.list<NameClaim & KubeObject>(NameClaim.resource)).items.map(({ spec }) => spec.value)

  for (const [kind, way, had, host, gone] of GIVEN_UP)
    it(`are released by a stalled ${kind.kind} after ${JSON.stringify(gone)}`, async () => {
      const names = [kind.kind.toLowerCase(), 'deploymentrecord']
      world = new World((all) => all.filter((each) => names.includes(each.name)))
      seedGroup(world.server)
      await world.lead()
      const [, , spec] = CASES.find(([each]) => each === kind) ?? []
      await world.make(kind, 'shop', { ...spec, [way]: true, ...had })
      await world.rest()
      expect(await claimed()).to.include(host)
      await world.change(kind, 'shop', { computePlan: 'none' })
      await world.rest()
      expect((await world.find(kind.resource, 'shop'))?.status).to.include({ phase: 'PlanNotFound' })
      const held = await world.find(NameClaim.resource, claimName('Host', host))
      await world.change(kind, 'shop', { tags: { meanwhile: 'changed' } })
      await world.rest()
      const still = await world.find(NameClaim.resource, claimName('Host', host))
      expect(still?.metadata.uid, 'while it is asked for').to.equal(held?.metadata.uid)
      await world.change(kind, 'shop', gone)
      await world.rest()
      expect(await claimed()).to.not.include(host)
    })

  it('are kept for hosts in the spec without Ingress and cluster', async () => {
    world = new World((all) => all.filter(({ name }) => name === 'functionnamespace'))
    seedGroup(world.server)
    await world.lead()
    await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs', customDomains: [HOST] })
    await world.rest()
    for (const resource of [PlatformCluster.resource, ingress])
      for (const { metadata } of (await world.server.list(resource)).items)
        await world.server.remove(resource, metadata)
    await world.change(FunctionNamespace, 'shop', { tags: { meanwhile: 'changed' } })
    await world.rest()
    expect((await world.server.list(ingress)).items).to.deep.equal([])
    expect(await claimed()).to.include(HOST)
  })

  it('are released by a stalled function for a removed path, while no new path is claimed', async () => {
    const names = ['functionnamespace', 'serverlessfunction']
    world = new World((all) => all.filter((each) => names.includes(each.name)))
    seedGroup(world.server)
    await world.lead()
    await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs' })
    const trigger = (path: string) => ({ name: path.slice(1), kind: 'Http', path })
    const spec = { namespaceName: 'shop', functionName: 'pay', handler: 'index' }
    await world.make(ServerlessFunction, FUNCTION, { ...spec, triggers: [trigger('/a'), trigger('/b')] })
    await world.rest()
    const paths = async () =>
      (await world.find<ServerlessFunction & KubeObject>(ServerlessFunction.resource, FUNCTION))?.status?.paths
    expect(await paths()).to.deep.equal(['/a', '/b'])
    await world.change(ServerlessFunction, FUNCTION, { computePlan: 'none', triggers: [trigger('/a'), trigger('/c')] })
    await world.rest()
    expect(await paths()).to.deep.equal(['/a'])
    expect(await claimed())
      .to.include(pathClaim(HOME, 'shop', '/a'))
      .and.not.include(pathClaim(HOME, 'shop', '/b'))
  })
})
