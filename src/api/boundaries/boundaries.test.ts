import { expect } from 'chai'
import { ANNA, assign, B1, B2, BERT, deny, SHOP, trust } from '../../../test/make/authorizationRecords.ts'
import { CLUSTER_ID, codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { DEFAULT_TENANT_ID, PlatformTenant, RoleAssignment } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { boundaryRoutes } from './index.ts'
import type { BoundaryDto } from './record.ts'

const [ONE, TWO] = [B1.slice(12), B2.slice(12)]
const roles = [...BUILT_IN_ROLES]

describe('boundaries over REST', () => {
  const listed: [string, Parameters<typeof makeFacade>[0], string[]][] = [
    ['no boundary without a role', {}, []],
    ['every boundary to a Reader at the root', { assignments: [assign('Reader', '/')] }, [ONE, TWO]],
    ['one boundary to its Reader', { assignments: [assign('Reader', B1)] }, [ONE]],
    ['no boundary to a Reader of one of its groups', { assignments: [assign('Reader', SHOP)] }, []],
    [
      'all boundaries except a denied one',
      { assignments: [assign('Reader', '/')], denies: [deny(B2, ['boundaries/read'])] },
      [ONE],
    ],
    [
      'no boundary if a deny at the root covers reading',
      { assignments: [assign('Reader', B1)], denies: [deny('/', ['boundaries/read'])] },
      [],
    ],
    [
      'a boundary that trusts the one in which the caller has a role',
      { assignments: [assign('Reader', B2)], trusts: [trust(['boundaries/read'])] },
      [ONE, TWO],
    ],
  ]
  for (const [title, given, ids] of listed) {
    it(`lists ${title}`, async () => {
      const facade = makeFacade({ roles, ...given })
      facade.boundary(ONE)
      facade.boundary(TWO)
      const { body } = await facade.call(boundaryRoutes, 'GET', '/boundaries')
      const { items, pagination } = body as {
        items: { id: string; permissions: null }[]
        pagination: { totalItems: number }
      }
      expect(items.map(({ id }) => id).sort()).to.deep.equal([...ids].sort())
      expect(pagination.totalItems).to.equal(ids.length)
      expect(items.every(({ permissions }) => permissions === null)).to.equal(true)
    })
  }

  it('creates a boundary with a new UUID, its namespace, and the caller as its initial Owner', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
    const { status, body } = await facade.call(boundaryRoutes, 'POST', '/boundaries', { body: { displayName: 'Shop' } })
    const { id, displayName, namespace, memberCount, permissions } = body as BoundaryDto
    expect({ status, displayName, memberCount }).to.deep.equal({ status: 201, displayName: 'Shop', memberCount: 1 })
    expect([...facade.namespaces.names]).to.deep.equal([namespace])
    expect(namespace).to.equal(boundaryNamespace(id))
    expect(permissions).to.include('boundaries/manage')
    const stored = facade.records.peek(Boundary, { name: id })
    expect(stored?.spec.initialOwner).to.deep.equal({ principalId: ANNA, principalType: 'User' })
  })

  it('assigns the next tenant of the creator if the first one is removed concurrently', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
    const [removed, next] = ['55555555-5555-4555-8555-555555555555', DEFAULT_TENANT_ID]
    for (const name of [removed, next]) facade.records.put(PlatformTenant, { name }, { displayName: name })
    facade.records.put(
      PlatformUser,
      { namespace: SYSTEM_NAMESPACE, name: ANNA },
      { userName: 'anna', tenantIds: [removed] },
    )
    facade.records.exclusively = async (key, work) => {
      if (key.endsWith(removed)) await facade.records.remove(PlatformTenant, { name: removed }, {} as never)
      return work()
    }
    const { body } = await facade.call(boundaryRoutes, 'POST', '/boundaries', { body: { displayName: 'Shop' } })
    expect((body as BoundaryDto).tenantId).to.equal(next)
  })

  it('trims the display name', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
    const call = (method: string, path: string, displayName: string) =>
      facade.call(boundaryRoutes, method as 'POST', path, { body: { displayName } })
    const made = (await call('POST', '/boundaries', '  My shop ')).body as BoundaryDto
    expect(made.displayName).to.equal('My shop')
    const changed = (await call('PATCH', `/boundaries/${made.id}`, ' Our shop')).body as BoundaryDto
    expect(changed.displayName).to.equal('Our shop')
    const nothing = await call('POST', '/boundaries', '   ').catch((error: Error) => error)
    expect(nothing).to.be.an.instanceOf(Error)
  })

  it('returns 201 if the namespace cannot be created, since the controller retries', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
    facade.namespaces.failure = new Error('the API server went away')
    const { status } = await facade.call(boundaryRoutes, 'POST', '/boundaries', { body: { displayName: 'Shop' } })
    expect(status).to.equal(201)
    expect(facade.records.peekAll(Boundary)).to.have.length(1)
  })

  it('counts groups, resources and members and sums the usage on read', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Reader', B1)] })
    facade.boundary(ONE, { quota: { cpu: '8' }, tags: { team: 'search' } })
    facade.group(ONE, 'shop')
    facade.group(ONE, 'empty')
    facade.group(TWO, 'other')
    facade.vector(ONE, 'shop', 'planned')
    facade.vector(ONE, 'shop', 'sized', { cpuRequest: '2', memoryRequest: '1Gi', storageSize: '10Gi', replicas: 3 })
    facade.vector(ONE, 'shop', 'stopped', { replicas: 1, running: false })
    facade.vector(TWO, 'other', 'elsewhere')
    const assignment = { principalType: 'User', roleDefinitionName: 'Reader', scope: B1 }
    const namespace = boundaryNamespace(ONE)
    facade.records.put(RoleAssignment, { namespace, name: 'a' }, { ...assignment, principalId: ANNA })
    facade.records.put(RoleAssignment, { namespace, name: 'b' }, { ...assignment, principalId: ANNA, scope: SHOP })
    facade.records.put(RoleAssignment, { namespace, name: 'c' }, { ...assignment, principalId: BERT })
    const over = { ...assignment, principalId: TWO, expiresAt: '2025-12-31T00:00:00Z' }
    facade.records.put(RoleAssignment, { namespace, name: 'd' }, over)

    const { body } = await facade.call(boundaryRoutes, 'GET', `/boundaries/${ONE}`)
    expect(body).to.deep.include({
      resourceGroupCount: 2,
      resourceCount: 3,
      memberCount: 2,
      defaultClusterId: CLUSTER_ID,
      tenantId: null,
      quota: { cpu: '8', memory: null, storage: null, resourceGroups: null, resources: null, pods: null },
      // Two replicas of the plan, three of the sized one; the stopped one keeps its volume.
      usage: { cpu: '7', memory: '7Gi', storage: '90Gi', resourceGroups: 2, resources: 3, pods: 5 },
      tags: { team: 'search' },
    })
  })

  it('counts what the caller may read, but shows the usage of all', async () => {
    const denies = [
      deny(`${SHOP}/resources/vectorclusters/hidden`, ['vectorcluster/read']),
      deny(`${B1}/resourcegroups/closed`, ['resourcegroups/read']),
    ]
    const facade = makeFacade({ roles, assignments: [assign('Reader', B1)], denies })
    facade.boundary(ONE)
    facade.group(ONE, 'shop')
    facade.group(ONE, 'closed')
    facade.vector(ONE, 'shop', 'seen')
    facade.vector(ONE, 'shop', 'hidden')
    const one = await facade.call(boundaryRoutes, 'GET', `/boundaries/${ONE}`)
    const { items } = (await facade.call(boundaryRoutes, 'GET', '/boundaries')).body as { items: object[] }
    for (const record of [one.body, items[0]]) {
      expect(record).to.include({ resourceGroupCount: 1, resourceCount: 1 })
      expect((record as { usage: object }).usage).to.include({ resourceGroups: 2, resources: 2 })
    }
  })

  it('replaces the quota: fields that are missing or null are unlimited', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
    facade.boundary(ONE, { quota: { cpu: '8', pods: 3 }, tags: { team: 'search' } })
    const put = (body: object) => facade.call(boundaryRoutes, 'PUT', `/boundaries/${ONE}/quota`, { body })
    const none = { cpu: null, memory: null, storage: null, resourceGroups: null, resources: null, pods: null }
    const { body } = await put({ memory: '64Gi', resourceGroups: 2, cpu: null })
    expect(body).to.deep.include({ quota: { ...none, memory: '64Gi', resourceGroups: 2 }, tags: { team: 'search' } })
    expect((await put({})).body).to.deep.include({ quota: none })
  })

  it('changes only the display name', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', B1)] })
    facade.boundary(ONE, { tags: { team: 'search' } })
    const { status, body } = await facade.call(boundaryRoutes, 'PATCH', `/boundaries/${ONE}`, {
      body: { displayName: 'New' },
    })
    expect(status).to.equal(200)
    expect(body).to.deep.include({ displayName: 'New', tags: { team: 'search' } })
  })

  it('rejects the deletion of a boundary with groups, and names them', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
    facade.boundary(ONE)
    facade.group(ONE, 'shop')
    facade.group(ONE, 'bakery')
    const refused = await codeOf(facade.call(boundaryRoutes, 'DELETE', `/boundaries/${ONE}`))
    expect(refused).to.deep.equal({ code: 'BOUNDARY_NOT_EMPTY', extras: { resourceGroups: ['bakery', 'shop'] } })
  })

  for (const [title, hasNamespace, status] of [
    ['202 while the namespace is deleted', true, 202],
    ['204 if it has no namespace', false, 204],
  ] as const) {
    it(`deletes an empty boundary with ${title}`, async () => {
      const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
      facade.boundary(ONE)
      if (!hasNamespace) facade.namespaces.names.clear()
      expect((await facade.call(boundaryRoutes, 'DELETE', `/boundaries/${ONE}`)).status).to.equal(status)
      expect(facade.records.peek(Boundary, { name: ONE })).to.equal(undefined)
    })
  }

  it('returns 404 for a missing boundary', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', '/')] })
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', { displayName: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const { code } = await codeOf(facade.call(boundaryRoutes, method, `/boundaries/${ONE}`, { body }))
      expect(`${method} ${code}`).to.equal(`${method} NOT_FOUND`)
    }
  })

  it('shows the config of the list only to callers who may read a boundary', () => {
    const config = boundaryRoutes.find(({ path }) => path === '/boundaries/config')
    const passes = (given: Parameters<typeof makeFacade>[0]) =>
      config?.mayPass?.(ANNA, makeFacade({ roles, ...given }).services, {})
    expect(passes({ assignments: [assign('Reader', B1)] })).to.equal(true)
    expect(passes({})).to.equal(false)
  })
})
