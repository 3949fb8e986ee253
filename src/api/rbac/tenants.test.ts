import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { makeAccounts } from '../../../test/make/accounts.ts'
import { assign } from '../../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { OWNER, startShop } from '../../../test/worlds/shop.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformTenant, RoleAssignment } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { directoryPrincipals } from '../callers/directoryPrincipals.ts'
import { platformMemberRoutes } from './platformMembers.ts'
import { tenants } from './tenants.ts'

const TENANT = '55555555-5555-4555-8555-555555555555'

describe('a tenant with users of an external directory', () => {
  const open = () => {
    const { accounts, users } = makeAccounts()
    const principals = directoryPrincipals({ find: async () => new Map() }, users, new ManualClock())
    const given = { roles: [...BUILT_IN_ROLES], assignments: [assign('Owner', '/')] }
    const facade = makeFacade(given, { accounts, principals })
    facade.records.put(PlatformTenant, { name: TENANT }, { displayName: 'Acme' })
    const { id: userId } = users.put({ userName: 'carl' })
    const add = (roleDefinitionName?: string) =>
      facade.call(platformMemberRoutes, 'POST', '/admin/iam/members', {
        body: { userId, tenantId: TENANT, roleDefinitionName },
      })
    const remove = () => facade.call(tenants.routes(), 'DELETE', `/admin/tenants/${TENANT}`)
    return { ...facade, users, userId, add, remove }
  }

  it('is not created under a name that looks like another one', async () => {
    const { call } = open()
    for (const displayName of ['Acme', 'Ac\u200dme'])
      expect((await codeOf(call(tenants.routes(), 'POST', '/admin/tenants', { body: { displayName } }))).code).to.equal(
        'already_exists',
      )
  })

  it('returns userCount, and cannot be removed while it has users', async () => {
    const { add, remove, call } = open()
    await add()
    const { body } = await call(tenants.routes(), 'GET', `/admin/tenants/${TENANT}`)
    expect((body as { userCount: number }).userCount).to.equal(1)
    expect((await codeOf(remove())).code).to.equal('conflict')
  })

  it('gets no user and no assignment if it is removed meanwhile', async () => {
    const { add, records, users, userId } = open()
    records.exclusively = async (key, work) => {
      if (key.endsWith(TENANT)) await records.remove(PlatformTenant, { name: TENANT }, {} as never)
      return work()
    }
    expect((await codeOf(add('Platform Reader'))).code).to.equal('tenant_not_found')
    expect([users.users.get(userId)?.tenantIds, records.peekAll(RoleAssignment)]).to.deep.equal([[], []])
  })
})

describe('DELETE of a tenant', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.grant(OWNER, 'Platform Owner', '/')
  })
  afterEach(() => server.stop())

  for (const [title, owned, status] of [
    ['is refused while it has a boundary', true, 409],
    ['succeeds without boundaries', false, 204],
  ] as const)
    it(`${title}: ${status}`, async () => {
      const tenantId = randomUUID()
      server.put(PlatformTenant, tenantId, { displayName: 'Acme' })
      if (owned) server.put(Boundary, randomUUID(), { displayName: 'Own', tenantId })
      expect((await server.ask('delete', `/admin/tenants/${tenantId}`)).status).to.equal(status)
    })
})
