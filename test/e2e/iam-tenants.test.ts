import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { DEFAULT_TENANT_ID, PlatformTenant, RoleAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { coded } from '../make/coded.ts'
import { objectOf } from '../worlds/fleet.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, makeServiceAccount } from '../worlds/tenant.ts'

type Member = { assignmentId: string; principalId: string; roleDefinitionName: string; origin: string; scope: string }

describe('identity and access over REST: tenants, roles and orphaned grants', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  const make = (kind: AnyKind, name: string, spec: object, namespace?: string) =>
    admin.create(kind.resource, objectOf(kind, name, namespace, spec))
  const makeUser = async (tenantIds: string[] = []) => {
    const id = randomUUID()
    await make(PlatformUser, id, { userName: uniqueName('user'), tenantIds }, SYSTEM_NAMESPACE)
    return id
  }
  /** The facade sees kubectl's objects through its watch. */
  const knownTo = (path: string, body: object, code: string) =>
    until(`${path} no longer answers ${code}`, async () => (await call('POST', path, body)).body.code !== code)
  describe('tenants', () => {
    let tenantId: string
    before(async () => {
      tenantId = randomUUID()
      await make(PlatformTenant, tenantId, { displayName: 'Acme' })
    })

    it('add a person with a role at the root, and remove both', async () => {
      const path = '/admin/iam/members'
      const userId = await makeUser()
      const body = { userId, tenantId, roleDefinitionName: 'Platform Reader' }
      await coded([404, 'unknown_user'], 'POST', path, { ...body, userId: randomUUID() })
      await knownTo(path, { ...body, tenantId: randomUUID() }, 'unknown_user')
      await coded([422, 'tenant_not_found'], 'POST', path, { ...body, tenantId: randomUUID() })
      await coded([400, 'unknown_role'], 'POST', path, { ...body, roleDefinitionName: 'Nobody' })
      const platform = await makeCaller({ 'Platform Contributor': '/' })
      expect((await call('POST', path, body, { token: platform.token })).status).to.equal(403)
      const name = uniqueName('Membership')
      await make(RoleDefinition, name.toLowerCase(), {
        displayName: name,
        actions: ['rbac/members/admin'],
        assignableScopes: ['/'],
      })
      const { token } = await makeCaller({ [name]: '/' })
      await until('the role at the root counts, and gives no more than it holds', async () => {
        return (await call('POST', path, { ...body, roleDefinitionName: 'Owner' }, { token })).body.code === 'forbidden'
      })
      const added = await expectCall<{ assignmentId: string }>(201, 'POST', path, body)
      expect(added.body.assignmentId).to.be.a('string')
      await coded([409, 'already_member'], 'POST', path, body)
      const assignments = async () => {
        const { items } = await admin.list(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE })
        return items.map(({ metadata }) => metadata.name)
      }
      expect(await assignments()).to.include(added.body.assignmentId)
      await expectCall(204, 'DELETE', `${path}/${userId}/${tenantId}`)
      await coded([404, 'NOT_FOUND'], 'DELETE', `${path}/${userId}/${tenantId}`)
      expect(await assignments()).to.not.include(added.body.assignmentId)
    })

    it('take over a boundary, whose roles of people outside the tenant are removed', async () => {
      const { id } = await makeBoundary()
      const [inside, outside] = [await makeUser([tenantId]), await makeUser()]
      for (const principalId of [inside, outside]) {
        const body = { principalId, roleDefinitionName: 'Reader' }
        await until('the person is known', async () => {
          return [201, 409].includes((await call('POST', `/boundaries/${id}/members`, body)).status)
        })
      }
      const move = `/boundaries/${id}/providers/authorization/tenant-move`
      await coded([422, 'tenant_not_found'], 'POST', move, { tenantId: randomUUID() })
      await coded([409, 'conflict'], 'POST', move, { tenantId, fromTenantId: randomUUID() })
      const moved = await expectCall<{ removedAssignments: number }>(200, 'POST', move, {
        tenantId,
        fromTenantId: DEFAULT_TENANT_ID,
      })
      expect(moved.body.removedAssignments).to.equal(1)
      const members = await itemsOf<Member>(`/boundaries/${id}/members?filter=origin:eq:Direct`)
      expect(members.map(({ principalId }) => principalId))
        .to.include(inside)
        .and.not.include(outside)
      const path = `/boundaries/${id}/tenant`
      await coded([422, 'TENANT_NOT_FOUND'], 'POST', path, { tenantId: randomUUID() })
      type Shown = { tenantId: string | null; tenantName: string | null }
      const same = await expectCall<Shown>(200, 'POST', path, { tenantId })
      expect(same.body).to.include({ tenantId, tenantName: 'Acme' })
      expect((await expectCall<Shown>(200, 'POST', path, { tenantId: null })).body.tenantId).to.equal(null)
    })
  })

  describe('reads and changes of what REST creates', () => {
    type Page<T> = { items: T[] }
    it('lists role definitions, role assignments and the Owner', async () => {
      const { id } = await makeBoundary()
      const { name } = await makeGroup(id)
      const base = `/boundaries/${id}/providers/authorization`
      const scope = `/boundaries/${id}/resourcegroups/${name}`
      const roles = await itemsOf<{ displayName: string; isRootOnly: boolean }>(`${base}/roleDefinitions`)
      expect(roles.find(({ displayName }) => displayName === 'Platform Reader')?.isRootOnly).to.equal(true)
      const { principalId, token } = await makeCaller()
      const path = `${base}/roleAssignments`
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const wanted = { principalId, roleDefinitionName: 'Reader', scope, expiresAt }
      const made = await expectCall<{ id: string; status: string }>(201, 'POST', path, wanted)
      expect(made.body.status).to.equal('Active')
      expect((await call('GET', scope, undefined, { token })).status).to.equal(200)
      await coded([409, 'already_exists'], 'POST', path, wanted)
      await coded([400, 'unknown_role'], 'POST', path, { ...wanted, roleDefinitionName: 'reader' })
      await coded([403, 'forbidden'], 'POST', path, { ...wanted, roleDefinitionName: 'Platform Reader' })
      await coded([400, 'BAD_REQUEST'], 'POST', path, { ...wanted, scope: '/' })
      await coded([422, 'principal_not_found'], 'POST', path, { ...wanted, principalId: randomUUID() })
      const listed = await expectCall<Page<{ id: string }>>(200, 'GET', `${path}?filter=principalId:eq:${principalId}`)
      expect(listed.body.items.map((row) => row.id)).to.deep.equal([made.body.id])
      await expectCall(204, 'DELETE', `${path}/${made.body.id}`)
      expect((await call('GET', scope, undefined, { token })).status).to.equal(403)
      const [only] = await itemsOf<{ id: string }>(`${path}?filter=roleDefinitionName:eq:Owner`)
      await coded([409, 'last_owner'], 'DELETE', `${path}/${only?.id}`)
    })

    it("changes members of a group within the caller's rights, and deletes the group with its roles", async () => {
      const { id } = await makeBoundary()
      const boundary = `/boundaries/${id}`
      const path = `${boundary}/providers/authorization/groups`
      const { principalId, token } = await makeCaller()
      type Group = { id: string; displayName: string; memberIds: string[]; roleDefinitionName: string | null }
      const body = { displayName: uniqueName('Team'), roleDefinitionName: 'Owner' }
      const { body: group } = await expectCall<Group>(201, 'POST', path, body)
      const one = `${path}/${group.id}`
      expect((await expectCall<Group>(200, 'GET', one)).body.roleDefinitionName).to.equal('Owner')
      await expectCall(200, 'PATCH', one, { memberIds: [principalId], description: 'All of us' })
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(200)
      expect((await itemsOf<Group>(path)).map(({ memberIds }) => memberIds)).to.deep.equal([[principalId]])
      await coded([422, 'group_cycle'], 'PATCH', one, { memberIds: [group.id] })
      await coded([422, 'principal_not_found'], 'PATCH', one, { memberIds: [randomUUID()] })
      const name = uniqueName('Members only')
      const actions = ['rbac/members/read', 'rbac/members/write']
      await make(RoleDefinition, uniqueName('members'), {
        displayName: name,
        actions,
        assignableScopes: ['/boundaries/*'],
      })
      const keeper = await makeCaller()
      const role = { principalId: keeper.principalId, roleDefinitionName: name }
      await until('the role is known', async () => (await call('POST', `${boundary}/members`, role)).status === 201)
      await coded([403, 'forbidden'], 'PATCH', one, { memberIds: [principalId, keeper.principalId] }, keeper.token)
      await expectCall(200, 'PATCH', one, { memberIds: [] })
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(403)
      const members = async () => (await itemsOf<Member>(`${boundary}/members`)).map((member) => member.principalId)
      expect(await members()).to.include(group.id)
      await expectCall(204, 'DELETE', one)
      await coded([404, 'NOT_FOUND'], 'GET', one)
      expect(await members()).to.not.include(group.id)
    })

    it('deletes a tenant only when no boundary belongs to it', async () => {
      type Tenant = { id: string; boundaryCount: number }
      const displayName = uniqueName('Tenant')
      const { body: tenant } = await expectCall<Tenant>(201, 'POST', '/admin/tenants', { displayName })
      await coded([409, 'already_exists'], 'POST', '/admin/tenants', { displayName })
      const { id } = await makeBoundary()
      await expectCall(200, 'POST', `/boundaries/${id}/tenant`, { tenantId: tenant.id })
      await coded([409, 'conflict'], 'DELETE', `/admin/tenants/${tenant.id}`)
      expect((await expectCall<Tenant>(200, 'GET', `/admin/tenants/${tenant.id}`)).body.boundaryCount).to.equal(1)
      expect((await itemsOf<Tenant>('/admin/tenants')).map((row) => row.id)).to.include(tenant.id)
      await expectCall(200, 'POST', `/boundaries/${id}/tenant`, { tenantId: null })
      await expectCall(204, 'DELETE', `/admin/tenants/${tenant.id}`)
    })

    it('gives a recreated group no role of the deleted one', async () => {
      const { id } = await makeBoundary()
      const { name } = await makeGroup(id)
      const scope = `/boundaries/${id}/resourcegroups/${name}`
      const { token } = await makeCaller({ Reader: scope })
      expect((await call('GET', scope, undefined, { token })).status).to.equal(200)
      await call('DELETE', scope)
      await until('the group is deleted', async () => (await call('GET', scope)).status === 404)
      await makeGroup(id, name)
      expect((await call('GET', scope, undefined, { token })).status).to.equal(403)
    })
  })

  describe('orphaned grants', () => {
    it('lists a grant of a missing principal, and purges it', async () => {
      const { id } = await makeBoundary()
      const { name } = await makeGroup(id)
      const scope = `/boundaries/${id}/resourcegroups/${name}`
      const path = '/resourcegroups/orphaned-grants'
      const orphan = { principalId: randomUUID(), principalType: 'User', roleDefinitionName: 'Reader', scope }
      const assignmentId = randomUUID()
      await make(RoleAssignment, assignmentId, orphan, boundaryNamespace(id))
      type Orphan = { id: string; reason: string }
      const found = await until('the orphan is seen', async () => {
        return (await itemsOf<Orphan>(`${path}?filter=principalId:eq:${orphan.principalId}`))[0]
      })
      expect(found).to.include({ id: assignmentId, reason: 'PrincipalMissing' })
      type Result = { purged: Orphan[]; skipped: { id: string }[] }
      const kept = randomUUID()
      const dry = await expectCall<Result>(200, 'POST', `${path}/purge`, { ids: [assignmentId, kept], dryRun: true })
      expect([dry.body.purged.length, dry.body.skipped.map(({ id }) => id)]).to.deep.equal([1, [kept]])
      const { body } = await expectCall<Result>(200, 'POST', `${path}/purge`, { ids: [assignmentId] })
      expect(body.purged.map(({ id }) => id)).to.deep.equal([assignmentId])
      expect(await itemsOf(`${path}?filter=principalId:eq:${orphan.principalId}`)).to.deep.equal([])
    })

    it('removes an assignment at its end, and one of a group together with the group', async () => {
      const { id } = await makeBoundary()
      const { name } = await makeGroup(id)
      const scope = `/boundaries/${id}/resourcegroups/${name}`
      const { clientId: principalId } = await makeServiceAccount(admin)
      const spec = { principalId, principalType: 'ServicePrincipal', roleDefinitionName: 'Reader', scope }
      const expiresAt = new Date(Date.now() + 3000).toISOString()
      const namespace = boundaryNamespace(id)
      await make(RoleAssignment, 'short', { ...spec, expiresAt }, namespace)
      await make(RoleAssignment, 'tied', spec, namespace)
      const names = async () =>
        (await admin.list(RoleAssignment.resource, { namespace })).items.map(({ metadata }) => metadata.name)
      await until('the short one is deleted', async () => !(await names()).includes('short'))
      await until('the other is tied to the group', async () => {
        const object = await admin.get(RoleAssignment.resource, { namespace, name: 'tied' })
        return (object.metadata.ownerReferences ?? []).length === 1
      })
      await call('DELETE', `/boundaries/${id}/resourcegroups/${name}`)
      await until('the other is deleted too', async () => !(await names()).includes('tied'))
    })

    it('purges all assignments of a boundary, for root Owners only', async () => {
      const { id } = await makeBoundary()
      const { principalId, token } = await makeCaller()
      const body = { principalId, roleDefinitionName: 'Reader' }
      await expectCall(201, 'POST', `/boundaries/${id}/members`, body)
      const stranger = await makeCaller({ Owner: `/boundaries/${id}` })
      const purge = `/boundaries/${id}/providers/authorization/purge`
      expect((await call('POST', purge, undefined, { token: stranger.token })).status).to.equal(403)
      type Purged = { assignments: number; denyAssignments: number; groups: number }
      const { body: purged } = await expectCall<Purged>(200, 'POST', purge)
      expect(purged.assignments).to.be.at.least(2)
      expect((await call('GET', `/boundaries/${id}`, undefined, { token })).status).to.equal(403)
      await expectCall(404, 'POST', `/boundaries/${randomUUID()}/providers/authorization/purge`)
    })
  })
})
