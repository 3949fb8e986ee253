import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { PlatformTenant, RoleAssignment } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { objectOf } from '../worlds/fleet.ts'
import {
  call,
  type Method,
  makeBoundary,
  makeCaller,
  makeGroup,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

type Request = { method: Method; path: string; body?: object }

/** Every route that takes the id of a boundary outside its path, called by the Owner of another boundary. */
const REQUESTS: Readonly<Record<string, (own: string, id: string, group: string) => Request>> = {
  'checkAccess at its scope': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/checkAccess`,
    body: { checks: [{ action: 'boundaries/read', scope: `/boundaries/${id}` }] },
  }),
  'checkAccess at the scope of its group': (own, id, group) => ({
    method: 'POST',
    path: `${own}/providers/authorization/checkAccess`,
    body: { checks: [{ action: 'vectorcluster/read', scope: `/boundaries/${id}/resourcegroups/${group}` }] },
  }),
  'a deny at its scope': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/denyAssignments`,
    body: { principalId: NOBODY, actions: ['boundaries/read'], scope: `/boundaries/${id}` },
  }),
  'a role assignment at its scope': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/roleAssignments`,
    body: { principalId: NOBODY, roleDefinitionName: 'Reader', scope: `/boundaries/${id}` },
  }),
  'a request for a temporary role at its group': (own, id, group) => ({
    method: 'POST',
    path: `${own}/providers/authorization/jitRequests`,
    body: {
      roleDefinitionName: 'Reader',
      scope: `/boundaries/${id}/resourcegroups/${group}`,
      justification: 'an incident',
    },
  }),
  'an invitation to it': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/invitations`,
    body: { email: 'somebody@example.com', roleDefinitionName: 'Reader', scope: `/boundaries/${id}` },
  }),
  'a trust in the boundary': (own, id) => ({
    method: 'POST',
    path: '/admin/boundary-trusts',
    body: { boundaryId: own.split('/').at(-1), trustedBoundaryId: id, actions: ['boundaries/read'] },
  }),
  'a search for boundaries': (_own, id) => ({ method: 'GET', path: `/boundaries?search=${id}` }),
  'a filter for role assignments at its scope': (own, id) => ({
    method: 'GET',
    path: `${own}/providers/authorization/roleAssignments?filter=scope:eq:/boundaries/${id}`,
  }),
  'a list of its trusts': (_own, id) => ({ method: 'GET', path: `/admin/boundary-trusts?boundaryId=${id}` }),
  'a list of its orphaned grants': (_own, id) => ({
    method: 'GET',
    path: `/resourcegroups/orphaned-grants?boundaryId=${id}`,
  }),
  'a move to a tenant of that id': (own, id) => ({ method: 'POST', path: `${own}/tenant`, body: { tenantId: id } }),
}
const NOBODY = randomUUID()

/** Without the ids that differ in every answer. */
const sansIds = (text: string) =>
  text.replace(/"(correlationId|traceId|instance|timestamp|evaluatedAt|id)":"[^"]*"/g, '')

describe('ids of another boundary in a body or a query', () => {
  let own: string
  let owner: TestCaller
  let theirs: { id: string; group: string }
  before(async () => {
    own = `/boundaries/${(await makeBoundary()).id}`
    owner = await makeCaller({ Owner: own })
    const { id } = await makeBoundary()
    theirs = { id, group: (await makeGroup(id, uniqueName('theirs'))).name }
  })

  for (const [what, request] of Object.entries(REQUESTS)) {
    it(`get the same answer as unknown ids: ${what}`, async () => {
      const answers = await Promise.all(
        [theirs.id, randomUUID()].map(async (id) => {
          const { method, path, body } = request(own, id, theirs.group)
          const { status, text } = await call(method, path, body, { token: owner.token })
          return { status, text: sansIds(text.replaceAll(id, 'it')) }
        }),
      )
      expect(answers[0]).to.deep.equal(answers[1])
      expect(answers[0]?.status, answers[0]?.text).to.be.below(500)
    })
  }
})

/**
 * Every route that takes the id of a person, called by the Owner of a boundary whose tenant the person does not belong
 * to.
 */
const NAMING: Readonly<Record<string, (own: string, id: string) => Request>> = {
  'a member': (own, principalId) => ({
    method: 'POST',
    path: `${own}/members`,
    body: { principalId, roleDefinitionName: 'Reader' },
  }),
  'an assignment': (own, principalId) => ({
    method: 'POST',
    path: `${own}/providers/authorization/roleAssignments`,
    body: { principalId, roleDefinitionName: 'Reader' },
  }),
  'a deny': (own, principalId) => ({
    method: 'POST',
    path: `${own}/providers/authorization/denyAssignments`,
    body: { principalId, actions: ['boundaries/read'], excludedPrincipalIds: [] },
  }),
  'a deny that excludes them': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/denyAssignments`,
    body: { isEveryone: true, actions: ['boundaries/write'], excludedPrincipalIds: [id] },
  }),
  'a group': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/groups`,
    body: { displayName: `Group of ${id}`, memberIds: [id] },
  }),
  checkAccess: (own, principalId) => ({
    method: 'POST',
    path: `${own}/providers/authorization/checkAccess`,
    body: { principalId, checks: [{ action: 'boundaries/read' }] },
  }),
  'a user': (_own, id) => ({ method: 'GET', path: `/admin/users/${id}` }),
}

describe('ids of people of another tenant', () => {
  let admin: KubeClient
  let tenant: KubeClient
  let boundaryId: string
  let own: string
  let owner: TestCaller
  let stranger: string
  const roleFor = (principalId: string) =>
    objectOf(RoleAssignment, uniqueName('named'), boundaryNamespace(boundaryId), {
      principalId,
      principalType: 'User',
      roleDefinitionName: 'Reader',
      scope: own,
    })
  const makeUser = async (tenantId: string) => {
    const id = randomUUID()
    const spec = { userName: uniqueName('user'), email: `${uniqueName('user')}@example.com`, tenantIds: [tenantId] }
    await admin.create(PlatformUser.resource, objectOf(PlatformUser, id, SYSTEM_NAMESPACE, spec))
    await until('the user is known', async () => (await call('GET', `/admin/users/${id}`)).status === 200)
    return id
  }
  before(async () => {
    admin = await administrator()
    const otherTenant = randomUUID()
    const spec = { displayName: uniqueName('Other') }
    await admin.create(PlatformTenant.resource, objectOf(PlatformTenant, otherTenant, undefined, spec))
    boundaryId = (await makeBoundary()).id
    own = `/boundaries/${boundaryId}`
    owner = await makeCaller({ Owner: own })
    tenant = await clientWithToken(owner.token)
    stranger = await makeUser(otherTenant)
  })
  after(async () => {
    await tenant?.close()
    await admin?.close()
  })

  for (const [what, request] of Object.entries(NAMING)) {
    it(`get the same answer as unknown ids: ${what}`, async () => {
      const answers = await Promise.all(
        [stranger, randomUUID()].map(async (id) => {
          const { method, path, body } = request(own, id)
          const { status, text } = await call(method, path, body, { token: owner.token })
          return { status, text: sansIds(text.replaceAll(id, 'it')) }
        }),
      )
      expect(answers[0]).to.deep.equal(answers[1])
    })
  }

  it('are refused with the same message as unknown ids by kubectl', async () => {
    const refusals = await Promise.all(
      [stranger, randomUUID()].map(async (id) => {
        const body = roleFor(id)
        const error = await tenant.create(RoleAssignment.resource, body).catch((cause: Error) => cause)
        expect(error).to.be.instanceOf(Error)
        return (error as Error).message.replaceAll(id, 'it').replaceAll(body.metadata.name, 'name')
      }),
    )
    expect(refusals[0]).to.equal(refusals[1])
  })

  it('are accepted for members of the boundary, and for people of its own tenant', async () => {
    await admin.create(RoleAssignment.resource, roleFor(stranger))
    const add = (principalId: string, roleDefinitionName: string) =>
      call('POST', `${own}/members`, { principalId, roleDefinitionName }, { token: owner.token })
    await until('the stranger is a member', async () => (await add(stranger, 'Contributor')).status !== 422)
    const { tenantId } = (await call<{ tenantId: string }>('GET', own)).body
    const colleague = await add(await makeUser(tenantId), 'Reader')
    expect(colleague.status, colleague.text).to.equal(201)
  })
})
