import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformTenant, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'

const ADMIN = '33333333-3333-4333-8333-333333333333'
const TENANT = '44444444-4444-4444-8444-444444444444'
const GROUP = '55555555-5555-4555-8555-555555555555'
const OUTER = '66666666-6666-4666-8666-666666666666'
const namespace = boundaryNamespace(BOUNDARY)

describe('POST of an identity provider binding', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.put(PlatformTenant, TENANT, { displayName: 'Acme' })
    server.put(RoleDefinition, 'sso', {
      ...{ displayName: 'Single sign-on', description: '', isBuiltIn: false, assignableScopes: ['/'] },
      ...{ actions: ['rbac/idpBindings/admin'], notActions: [], dataActions: [], notDataActions: [] },
    })
    server.grant(ADMIN, 'Single sign-on', '/')
    server.put(PrincipalGroup, GROUP, { displayName: 'Staff', description: '', memberIds: [] }, namespace)
  })
  afterEach(() => server.stop())
  const assign = (principalId: string, roleDefinitionName: string) => {
    const { annotations } = server.caches.get(Boundary.resource).get(undefined, BOUNDARY)?.metadata ?? {}
    const scopeIncarnation = annotations?.[INCARNATION_ANNOTATION]
    const spec = { principalType: 'Group', scope: `/boundaries/${BOUNDARY}`, scopeIncarnation }
    server.put(RoleAssignment, randomUUID(), { principalId, roleDefinitionName, ...spec }, namespace)
  }
  const bind = async (as: string) => {
    const body = { issuer: 'https://login.acme.example', claimValue: 'staff', groupId: GROUP }
    const answer = await server.ask('post', `/admin/tenants/${TENANT}/idp-bindings`, as).send(body)
    return [answer.status, answer.body.code]
  }

  it('is forbidden to a caller who may not grant the roles of the group', async () => {
    assign(GROUP, 'Owner')
    expect(await bind(ADMIN)).to.deep.equal([403, 'forbidden'])
  })

  it('is forbidden for the roles of an outer group', async () => {
    server.put(PrincipalGroup, OUTER, { displayName: 'All', description: '', memberIds: [GROUP] }, namespace)
    assign(OUTER, 'Contributor')
    expect(await bind(ADMIN)).to.deep.equal([403, 'forbidden'])
  })

  it('is allowed for a group without roles, and to a caller who may grant its roles', async () => {
    expect(await bind(ADMIN)).to.deep.equal([201, undefined])
    assign(GROUP, 'Owner')
    server.grant(OWNER, 'Platform Owner', '/')
    expect((await bind(OWNER))[1]).to.equal('already_exists')
  })
})
