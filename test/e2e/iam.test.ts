import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { DEFAULT_TENANT_ID, PlatformTenant, RoleAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  type TestCaller,
  uniqueName,
  until,
} from '../make/platform.ts'
import { administrator, makeServiceAccount } from '../make/tenant.ts'

type Member = { assignmentId: string; principalId: string; roleDefinitionName: string; origin: string; scope: string }
type Coded = { code: string; module: string; actions?: string[]; scope?: string; id?: string }

describe('identity and access over REST', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  const make = (kind: AnyKind, name: string, spec: object, namespace?: string) =>
    admin.create(kind.resource, {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      spec,
    })
  const makeUser = async (tenantIds: string[] = []) => {
    const id = randomUUID()
    await make(PlatformUser, id, { userName: uniqueName('user'), tenantIds }, SYSTEM_NAMESPACE)
    return id
  }
  /** The facade hears of what kubectl makes over its watch. */
  const knownTo = (path: string, body: object, code: string) =>
    until(`${path} no longer answers ${code}`, async () => (await call('POST', path, body)).body.code !== code)
  const coded = async (
    wanted: [number, string],
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    token?: string,
  ) => {
    const answer = await call<Coded>(method, path, body, token === undefined ? {} : { token })
    expect([answer.status, answer.body?.code], `${method} ${path}: ${answer.text}`).to.deep.equal(wanted)
    return answer.body
  }

  describe('members of a boundary', () => {
    let path: string
    let boundary: string
    let boundaryId: string
    let owner: TestCaller
    before(async () => {
      boundaryId = (await makeBoundary()).id
      boundary = `/boundaries/${boundaryId}`
      path = `${boundary}/members`
      owner = await makeCaller({ Owner: boundary })
    })

    it('are given and taken away, and the next request obeys', async () => {
      const { principalId, token } = await makeCaller()
      const added = await expectCall<Member>(201, 'POST', path, { principalId, roleDefinitionName: 'Reader' })
      expect(added.body).to.include({ principalId, roleDefinitionName: 'Reader', origin: 'Direct', scope: boundary })
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(200)
      await coded([409, 'already_member'], 'POST', path, { principalId, roleDefinitionName: 'Reader' })
      await expectCall(204, 'DELETE', `${path}/${added.body.assignmentId}`)
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(403)
      await coded([404, 'NOT_FOUND'], 'DELETE', `${path}/${added.body.assignmentId}`)
    })

    it('are made once however often they are asked for at the same time', async () => {
      const { principalId } = await makeCaller()
      const body = { principalId, roleDefinitionName: 'Reader' }
      const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', path, body)))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409])
    })

    it('refuse in the stated order', async () => {
      const principalId = randomUUID()
      await coded([400, 'unknown_role'], 'POST', path, { principalId, roleDefinitionName: 'owner' })
      await coded([403, 'forbidden'], 'POST', path, { principalId, roleDefinitionName: 'Platform Reader' })
      await coded([422, 'PRINCIPAL_NOT_FOUND'], 'POST', path, { principalId, roleDefinitionName: 'Reader' })
      await coded([400, 'MODEL_BINDING_FAILED'], 'POST', path, { roleDefinitionName: 'Reader' })
      const wrongType = { principalId: owner.principalId, principalType: 'User', roleDefinitionName: 'Reader' }
      await coded([422, 'PRINCIPAL_NOT_FOUND'], 'POST', path, wrongType)
      await coded([404, 'NOT_FOUND'], 'POST', `/boundaries/${randomUUID()}/members`, wrongType)
    })

    it('cannot be given what the giver does not hold', async () => {
      const name = uniqueName('Members only')
      await make(RoleDefinition, uniqueName('role'), {
        displayName: name,
        actions: ['boundaries/*', 'rbac/members/*'],
        assignableScopes: ['/', '/boundaries/*'],
      })
      const giver = await makeCaller({ [name]: boundary })
      const { principalId } = await makeCaller()
      const body = { principalId, roleDefinitionName: 'Contributor' }
      const refused = await coded([403, 'GRANT_EXCEEDS_CALLER'], 'POST', path, body, giver.token)
      expect(refused.actions).to.include.members(['vectorcluster/write', 'apps/readLogs'])
      const oneself = { principalId: giver.principalId, roleDefinitionName: 'Owner' }
      await coded([403, 'GRANT_EXCEEDS_CALLER'], 'POST', path, oneself, giver.token)
      await expectCall(201, 'POST', path, { principalId, roleDefinitionName: name }, { token: giver.token })
    })

    it('may be given anything by a Platform Owner, but not to themselves', async () => {
      const platform = await makeCaller({ 'Platform Owner': '/' })
      const { principalId } = await makeCaller()
      await until('the role at the root counts', async () => {
        return (await call('GET', path, undefined, { token: platform.token })).status === 200
      })
      const oneself = { principalId: platform.principalId, roleDefinitionName: 'Owner' }
      await coded([403, 'GRANT_EXCEEDS_CALLER'], 'POST', path, oneself, platform.token)
      const body = { principalId, roleDefinitionName: 'Owner' }
      await expectCall(201, 'POST', path, body, { token: platform.token })
    })

    it('show inherited ones, which are taken away at the root only', async () => {
      const members = await itemsOf<Member>(`${path}?filter=origin:eq:Inherited`)
      expect(members.map(({ scope }) => scope)).to.include('/')
      const refused = await coded([409, 'INHERITED_ASSIGNMENT'], 'DELETE', `${path}/${members[0]?.assignmentId}`)
      expect(refused.scope).to.equal('/')
      expect((await call('GET', `${path}/config`)).status).to.equal(200)
    })

    it('keep an Owner, also when two are removed at once', async () => {
      const { id } = await makeBoundary()
      const here = `/boundaries/${id}/members`
      const only = await until('the first owner is written', async () => {
        return (await itemsOf<Member>(`${here}?filter=origin:eq:Direct`))[0]
      })
      await coded([409, 'LAST_OWNER'], 'DELETE', `${here}/${only.assignmentId}`)
      const { principalId } = await makeCaller()
      const second = await expectCall<Member>(201, 'POST', here, { principalId, roleDefinitionName: 'Owner' })
      const both = [only.assignmentId, second.body.assignmentId]
      const answers = await Promise.all(both.map((assignmentId) => call('DELETE', `${here}/${assignmentId}`)))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([204, 409])
    })

    it('are listed by person, and taken out whole', async () => {
      const { principalId, token } = await makeCaller({ Reader: boundary })
      await expectCall(201, 'POST', `${boundary}/providers/authorization/groups`, {
        displayName: uniqueName('Team'),
        memberIds: [principalId],
        roleDefinitionName: 'Contributor',
      })
      type Person = { userId: string; assignments: Member[]; groups: object[] }
      const people = await itemsOf<Person>(`${boundary}/iam/members`)
      const person = people.find(({ userId }) => userId === principalId)
      expect([person?.assignments.length, person?.groups.length]).to.deep.equal([1, 1])
      await expectCall(204, 'DELETE', `${boundary}/iam/members/${principalId}`)
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(403)
      await coded([404, 'NOT_FOUND'], 'DELETE', `${boundary}/iam/members/${principalId}`)
    })

    it('cannot lose the last Owner as a person either', async () => {
      const { id } = await makeBoundary()
      const here = `/boundaries/${id}`
      const only = await until('the first owner is written', async () => {
        return (await itemsOf<Member>(`${here}/members?filter=origin:eq:Direct`))[0]
      })
      await coded([409, 'last_owner'], 'DELETE', `${here}/iam/members/${only.principalId}`)
    })
  })

  describe('groups', () => {
    it('refuse in the stated order, and give their role to their members', async () => {
      const boundary = `/boundaries/${(await makeBoundary()).id}`
      const path = `${boundary}/providers/authorization/groups`
      const { principalId, token } = await makeCaller()
      const displayName = uniqueName('Team')
      await coded([400, 'unknown_role'], 'POST', path, { displayName, roleDefinitionName: 'Nobody' })
      await coded([403, 'forbidden'], 'POST', path, { displayName, roleDefinitionName: 'Alert Publisher' })
      await coded([422, 'principal_not_found'], 'POST', path, { displayName, memberIds: [randomUUID()] })
      const body = { displayName, memberIds: [principalId], roleDefinitionName: 'Reader' }
      const { body: made } = await expectCall<{ id: string; memberCount: number }>(201, 'POST', path, body)
      expect(made.memberCount).to.equal(1)
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(200)
      await coded([409, 'already_exists'], 'POST', path, body)
      let inner = made.id
      for (let depth = 2; depth <= 5; depth += 1) {
        const next = { displayName: uniqueName('Team'), memberIds: [inner] }
        inner = (await expectCall<{ id: string }>(201, 'POST', path, next)).body.id
      }
      await coded([422, 'group_cycle'], 'POST', path, { displayName: uniqueName('Team'), memberIds: [inner] })
    })

    it('are not made with a role that their maker does not hold', async () => {
      const boundary = `/boundaries/${(await makeBoundary()).id}`
      const name = uniqueName('Members only')
      await make(RoleDefinition, uniqueName('role'), {
        displayName: name,
        actions: ['rbac/members/*', 'boundaries/read'],
        assignableScopes: ['/boundaries/*'],
      })
      const giver = await makeCaller({ [name]: boundary })
      const body = { displayName: 'Team', memberIds: [giver.principalId], roleDefinitionName: 'Owner' }
      const path = `${boundary}/providers/authorization/groups`
      expect((await coded([403, 'forbidden'], 'POST', path, body, giver.token)).actions).to.include('apps/write')
    })
  })

  describe('denies', () => {
    let boundary: string
    let path: string
    let owner: TestCaller
    before(async () => {
      boundary = `/boundaries/${(await makeBoundary()).id}`
      path = `${boundary}/providers/authorization/denyAssignments`
      owner = await makeCaller({ Owner: boundary })
    })

    it('win over every grant from the next request on, until somebody else removes them', async () => {
      const body = { principalId: owner.principalId, actions: ['boundaries/read'] }
      const { body: made } = await expectCall<{ id: string }>(201, 'POST', path, body)
      expect((await call('GET', boundary, undefined, { token: owner.token })).status).to.equal(403)
      expect((await call('GET', `${path}/${made.id}`)).status).to.equal(200)
      const list = await itemsOf<{ id: string }>(`${path}?principalId=${owner.principalId}`)
      expect(list.map(({ id }) => id)).to.deep.equal([made.id])
      expect(await itemsOf(`${path}?principalId=${randomUUID()}`)).to.deep.equal([])
      await coded([403, 'forbidden'], 'DELETE', `${path}/${made.id}`, undefined, owner.token)
      await expectCall(204, 'DELETE', `${path}/${made.id}`)
      expect((await call('GET', boundary, undefined, { token: owner.token })).status).to.equal(200)
      await coded([404, 'NOT_FOUND'], 'GET', `${path}/${made.id}`)
    })

    it('refuse in the stated order', async () => {
      const { principalId } = owner
      const refused: object[] = [
        { actions: ['jobs/read'] },
        { principalId, isEveryone: true, actions: ['jobs/read'] },
        { principalId },
        { principalId, actions: ['jobs/levitate'] },
        { principalId, dataActions: ['jobs/read'] },
        { principalId, actions: ['jobs/read'], scope: '/' },
        { principalId, actions: ['jobs/read'], scope: `/boundaries/${randomUUID()}` },
        { principalId, actions: ['jobs/read'], expiresAt: '2020-01-01T00:00:00Z' },
      ]
      for (const body of refused) await coded([400, 'BAD_REQUEST'], 'POST', path, body)
      const stranger = { principalId: randomUUID(), actions: ['jobs/read'] }
      await coded([422, 'principal_not_found'], 'POST', path, stranger)
    })

    it('leave an Owner who can remove them', async () => {
      const everyone = { isEveryone: true, actions: ['rbac/members/write'] }
      await coded([422, 'lockout'], 'POST', path, everyone)
      const sparing = { ...everyone, excludedPrincipalIds: [owner.principalId] }
      const { body } = await expectCall<{ id: string }>(201, 'POST', path, sparing)
      await expectCall(204, 'DELETE', `${path}/${body.id}`, undefined, { token: owner.token })
    })
  })

  describe('trusts between boundaries', () => {
    it('lend reading to the people of another boundary, and refuse in the stated order', async () => {
      const path = '/admin/boundary-trusts'
      const [one, two] = [(await makeBoundary()).id, (await makeBoundary()).id]
      const reader = await makeCaller({ Reader: `/boundaries/${two}` })
      const body = { boundaryId: one, trustedBoundaryId: two, actions: ['boundaries/read'] }
      await coded([400, 'BAD_REQUEST'], 'POST', path, { ...body, actions: ['boundaries/manage'] })
      await coded([400, 'BAD_REQUEST'], 'POST', path, { ...body, trustedBoundaryId: one })
      await coded([422, 'boundary_not_found'], 'POST', path, { ...body, trustedBoundaryId: randomUUID() })
      const { body: made } = await expectCall<{ id: string }>(201, 'POST', path, body)
      await coded([409, 'already_exists'], 'POST', path, body)
      expect((await call('GET', `/boundaries/${one}`, undefined, { token: reader.token })).status).to.equal(200)
      expect((await itemsOf<{ id: string }>(`${path}?boundaryId=${two}`)).map(({ id }) => id)).to.deep.equal([made.id])
      await expectCall(204, 'DELETE', `${path}/${made.id}`)
      expect((await call('GET', `/boundaries/${one}`, undefined, { token: reader.token })).status).to.equal(403)
      await coded([404, 'NOT_FOUND'], 'DELETE', `${path}/${made.id}`)
    })
  })

  describe('tenants', () => {
    let tenantId: string
    before(async () => {
      tenantId = randomUUID()
      await make(PlatformTenant, tenantId, { displayName: 'Acme' })
    })

    it('take people in, with a role at the root, and let them go with it', async () => {
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
      await expectCall(204, 'DELETE', `${path}/${userId}/${tenantId}`)
      await coded([404, 'NOT_FOUND'], 'DELETE', `${path}/${userId}/${tenantId}`)
      const { items } = await admin.list(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE })
      expect(items.map(({ metadata }) => metadata.name)).to.not.include(added.body.assignmentId)
    })

    it('get boundaries, and people outside them lose their rights there', async () => {
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

  describe('what the interface lets one make', () => {
    type Page<T> = { items: T[] }
    it('is read back: roles, assignments, and groups with what they hold', async () => {
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

    it('is corrected: members come and go, nobody gives themselves a role by it, and a group goes with its roles', async () => {
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
      await expectCall(204, 'DELETE', one)
      await coded([404, 'NOT_FOUND'], 'GET', one)
      const members = await itemsOf<Member>(`${boundary}/members`)
      expect(members.map((member) => member.principalId)).to.not.include(group.id)
    })

    it('includes tenants, which are kept while something belongs to them', async () => {
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

    it('names its life: a group that is made anew inherits no role that kubectl gave the old one', async () => {
      const { id } = await makeBoundary()
      const { name } = await makeGroup(id)
      const scope = `/boundaries/${id}/resourcegroups/${name}`
      const { token } = await makeCaller({ Reader: scope })
      expect((await call('GET', scope, undefined, { token })).status).to.equal(200)
      await call('DELETE', scope)
      await until('the group is gone', async () => (await call('GET', scope)).status === 404)
      await makeGroup(id, name)
      expect((await call('GET', scope, undefined, { token })).status).to.equal(403)
    })
  })

  describe('what is left over', () => {
    it('is found, and purged after it was judged again', async () => {
      const { id } = await makeBoundary()
      const { name } = await makeGroup(id)
      const scope = `/boundaries/${id}/resourcegroups/${name}`
      const path = '/resourcegroups/orphaned-grants'
      const gone = { principalId: randomUUID(), principalType: 'User', roleDefinitionName: 'Reader', scope }
      const assignmentId = randomUUID()
      await make(RoleAssignment, assignmentId, gone, boundaryNamespace(id))
      type Orphan = { id: string; reason: string }
      const found = await until('the orphan is seen', async () => {
        return (await itemsOf<Orphan>(`${path}?filter=principalId:eq:${gone.principalId}`))[0]
      })
      expect(found).to.include({ id: assignmentId, reason: 'PrincipalMissing' })
      type Result = { purged: Orphan[]; skipped: { id: string }[] }
      const kept = randomUUID()
      const dry = await expectCall<Result>(200, 'POST', `${path}/purge`, { ids: [assignmentId, kept], dryRun: true })
      expect([dry.body.purged.length, dry.body.skipped.map(({ id }) => id)]).to.deep.equal([1, [kept]])
      const { body } = await expectCall<Result>(200, 'POST', `${path}/purge`, { ids: [assignmentId] })
      expect(body.purged.map(({ id }) => id)).to.deep.equal([assignmentId])
      expect(await itemsOf(`${path}?filter=principalId:eq:${gone.principalId}`)).to.deep.equal([])
    })

    it('goes with its group, and at its end', async () => {
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
      await until('the short one is gone', async () => !(await names()).includes('short'))
      await until('the other is tied to the group', async () => {
        const object = await admin.get(RoleAssignment.resource, { namespace, name: 'tied' })
        return (object.metadata.ownerReferences ?? []).length === 1
      })
      await call('DELETE', `/boundaries/${id}/resourcegroups/${name}`)
      await until('the other is gone too', async () => !(await names()).includes('tied'))
    })

    it('does not reach a boundary that is made anew under the same id, and purge clears one', async () => {
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
