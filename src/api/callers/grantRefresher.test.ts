import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { createGrantRefresher } from './grantRefresher.ts'

const OLD = '11111111-1111-4111-8111-111111111111'
const NEW = '22222222-2222-4222-8222-222222222222'
const ANNA = '33333333-3333-4333-8333-333333333333'
const TEAM = '44444444-4444-4444-8444-444444444444'
const OUTER = '55555555-5555-4555-8555-555555555555'
const HOME = boundaryNamespace(OLD)

type Server = Awaited<ReturnType<typeof startFacade>>

/** Stores it as another replica would, without the caches here. */
function store({ client }: Pick<Server, 'client'>, kind: AnyKind, name: string, spec: object, namespace?: string) {
  const metadata = { name, annotations: { [INCARNATION_ANNOTATION]: 'life' }, ...(namespace && { namespace }) }
  client.seed(kind.resource, { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: kind.spec.parse(spec) })
}

function assign(server: Pick<Server, 'client'>, scope: string, spec: object = {}, namespace = HOME) {
  const incarnation = scope === '/' ? {} : { scopeIncarnation: 'life' }
  const fullSpec = {
    principalId: ANNA,
    principalType: 'User',
    roleDefinitionName: 'Owner',
    scope,
    ...incarnation,
    ...spec,
  }
  store(server, RoleAssignment, crypto.randomUUID(), fullSpec, namespace)
}

describe('a request that only the writes of another replica permit', () => {
  let server: Server
  beforeEach(async () => {
    server = await startFacade()
    server.boundary(OLD)
    server.group(OLD, 'old')
    await server.caches.stopAll()
    server.client.calls.length = 0
  })
  afterEach(() => server.stop())

  const ask = (path: string, method: 'get' | 'post' = 'get') =>
    request(server.app)[method](path).set('authorization', bearer(ANNA))
  const statusOf = async (path: string) => (await ask(path)).status

  const cases: [string, string, () => void][] = [
    [
      'is allowed by the initial owner of a new boundary',
      `/boundaries/${NEW}`,
      () => {
        const initialOwner = { principalId: ANNA, principalType: 'User' }
        store(server, Boundary, NEW, { displayName: 'New', initialOwner })
      },
    ],
    ['is allowed by an assignment at the boundary', `/boundaries/${OLD}`, () => assign(server, `/boundaries/${OLD}`)],
    [
      'is allowed by an assignment, on a route that hides the boundary',
      `/boundaries/${OLD}/resourcegroups`,
      () => assign(server, `/boundaries/${OLD}`),
    ],
    [
      'is allowed by an assignment at a new resource group',
      `/boundaries/${OLD}/resourcegroups/new`,
      () => {
        store(server, ResourceGroup, 'new', {}, HOME)
        assign(server, `/boundaries/${OLD}/resourcegroups/new`)
      },
    ],
    [
      'is allowed by an assignment at a new resource',
      `/boundaries/${OLD}/resourcegroups/old/resources/vectorclusters/new`,
      () => {
        store(server, VectorCluster, 'new', {}, groupNamespace(OLD, 'old'))
        assign(server, `/boundaries/${OLD}/resourcegroups/old/resources/vectorclusters/new`)
      },
    ],
    [
      'is allowed by an assignment of a new group',
      `/boundaries/${OLD}`,
      () => {
        store(server, PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [ANNA] }, HOME)
        assign(server, `/boundaries/${OLD}`, { principalId: TEAM, principalType: 'Group' })
      },
    ],
    [
      'is allowed by an assignment of a nested group',
      `/boundaries/${OLD}`,
      () => {
        store(server, PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [ANNA] }, HOME)
        store(server, PrincipalGroup, OUTER, { displayName: 'Outer', memberIds: [TEAM] }, HOME)
        assign(server, `/boundaries/${OLD}`, { principalId: OUTER, principalType: 'Group' })
      },
    ],
    [
      'is allowed by a new role definition',
      `/boundaries/${OLD}`,
      () => {
        const actions = ['boundaries/read']
        store(server, RoleDefinition, 'seer', { displayName: 'Seer', actions, assignableScopes: ['/boundaries/*'] })
        assign(server, `/boundaries/${OLD}`, { roleDefinitionName: 'Seer' })
      },
    ],
    ['is allowed by an assignment at the root', '/boundaries/config', () => assign(server, '/', {}, SYSTEM_NAMESPACE)],
  ]
  for (const [sentence, path, make] of cases) {
    it(sentence, async () => {
      make()
      expect(await statusOf(path)).to.equal(200)
    })
  }

  it('creates the first group of a new boundary', async () => {
    store(server, Boundary, NEW, { displayName: 'New', initialOwner: { principalId: ANNA, principalType: 'User' } })
    expect((await ask(`/boundaries/${NEW}/resourcegroups/first`, 'post')).status).to.equal(201)
  })

  it('is denied by a cached deny', async () => {
    server.put(
      DenyAssignment,
      'deny',
      { isEveryone: true, actions: ['boundaries/read'], scope: `/boundaries/${OLD}` },
      HOME,
    )
    assign(server, `/boundaries/${OLD}`)
    expect(await statusOf(`/boundaries/${OLD}`)).to.equal(403)
  })

  const denies: [string, string, string][] = [
    ['of the boundary', `/boundaries/${OLD}`, HOME],
    ['of the platform', '/', SYSTEM_NAMESPACE],
  ]
  for (const [sentence, scope, namespace] of denies) {
    it(`is denied by a new deny ${sentence}, which is read before the assignment`, async () => {
      const incarnation = scope === '/' ? {} : { scopeIncarnation: 'life' }
      const spec = { isEveryone: true, actions: ['boundaries/read'], scope, ...incarnation }
      store(server, DenyAssignment, crypto.randomUUID(), spec, namespace)
      assign(server, `/boundaries/${OLD}`)
      expect(await statusOf(`/boundaries/${OLD}`)).to.equal(403)
      const read = server.client.calls.filter(({ verb }) => verb === 'list').map(({ resource }) => resource)
      expect(read.lastIndexOf('denyassignments.iam.freehold.dev')).to.be.lessThan(
        read.indexOf('roleassignments.iam.freehold.dev'),
      )
    })
  }

  it('is denied with assignments of others or in the namespace of another boundary', async () => {
    assign(server, `/boundaries/${OLD}`, { principalId: TEAM })
    assign(server, `/boundaries/${OLD}`, {}, boundaryNamespace(NEW))
    expect(await statusOf(`/boundaries/${OLD}`)).to.equal(403)
  })

  it('is allowed from the caches without a call', async () => {
    server.grant(ANNA, 'Owner', `/boundaries/${OLD}`)
    server.client.calls.length = 0
    for (const path of ['', '/resourcegroups', '/resourcegroups/old'])
      expect(await statusOf(`/boundaries/${OLD}${path}`)).to.equal(200)
    expect(server.client.calls).to.deep.equal([])
  })

  it('is decided from the caches while the API server is unavailable', async () => {
    server.client.fail('list', RoleAssignment.resource, 'Unavailable', 10)
    expect(await statusOf(`/boundaries/${OLD}`)).to.equal(403)
  })
})

describe('createGrantRefresher', () => {
  const clock = new ManualClock()
  let client: FakeKubeClient
  let refresh: ReturnType<typeof createGrantRefresher>
  beforeEach(() => {
    client = new FakeKubeClient()
    const caches = new CacheSet({ client })
    for (const kind of KINDS) caches.add(kind.resource)
    refresh = createGrantRefresher({ client, caches, clock })
    store({ client }, Boundary, OLD, { displayName: 'Old' })
  })
  const inventedScope = (index: number) => `/boundaries/${crypto.randomUUID()}/resourcegroups/g${index}`

  it('reads a scope once in 2 s', async () => {
    await refresh(ANNA, `/boundaries/${OLD}`)
    const once = client.calls.length
    expect(once).to.be.within(1, 6)
    for (let again = 0; again < 50; again += 1) await refresh(ANNA, `/boundaries/${OLD}`)
    expect(client.calls.length).to.equal(once)
    await clock.advance(2_001)
    await refresh(ANNA, `/boundaries/${OLD}`)
    expect(client.calls.length).to.be.greaterThan(once)
  })

  it('reads at most 10 missing boundaries, with one call each', async () => {
    for (let index = 0; index < 200; index += 1) await refresh(ANNA, inventedScope(index))
    expect(client.calls.map(({ verb }) => verb)).to.deep.equal(Array(10).fill('get'))
  })

  it('limits each caller separately', async () => {
    for (let index = 0; index < 200; index += 1) await refresh(ANNA, inventedScope(index))
    const before = client.calls.length
    await refresh(TEAM, `/boundaries/${OLD}`)
    expect(client.calls.length).to.be.greaterThan(before)
  })
})
