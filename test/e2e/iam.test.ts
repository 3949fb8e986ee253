import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { AnyKind } from '../../src/crds/define.ts'
import { RoleDefinition } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { coded } from '../make/coded.ts'
import { objectOf } from '../worlds/fleet.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type Member = { assignmentId: string; principalId: string; roleDefinitionName: string; origin: string; scope: string }

describe('identity and access over REST', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  const make = (kind: AnyKind, name: string, spec: object, namespace?: string) =>
    admin.create(kind.resource, objectOf(kind, name, namespace, spec))

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

    it('adds and removes a member, effective with the next request', async () => {
      const { principalId, token } = await makeCaller()
      const added = await expectCall<Member>(201, 'POST', path, { principalId, roleDefinitionName: 'Reader' })
      expect(added.body).to.include({ principalId, roleDefinitionName: 'Reader', origin: 'Direct', scope: boundary })
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(200)
      await coded([409, 'already_member'], 'POST', path, { principalId, roleDefinitionName: 'Reader' })
      await expectCall(204, 'DELETE', `${path}/${added.body.assignmentId}`)
      expect((await call('GET', boundary, undefined, { token })).status).to.equal(403)
      await coded([404, 'NOT_FOUND'], 'DELETE', `${path}/${added.body.assignmentId}`)
    })

    it('adds a member once for five concurrent requests', async () => {
      const { principalId } = await makeCaller()
      const body = { principalId, roleDefinitionName: 'Reader' }
      const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', path, body)))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409])
    })

    it('refuses in the documented order', async () => {
      const principalId = randomUUID()
      await coded([400, 'unknown_role'], 'POST', path, { principalId, roleDefinitionName: 'owner' })
      await coded([403, 'forbidden'], 'POST', path, { principalId, roleDefinitionName: 'Platform Reader' })
      await coded([422, 'PRINCIPAL_NOT_FOUND'], 'POST', path, { principalId, roleDefinitionName: 'Reader' })
      await coded([400, 'MODEL_BINDING_FAILED'], 'POST', path, { roleDefinitionName: 'Reader' })
      const wrongType = { principalId: owner.principalId, principalType: 'User', roleDefinitionName: 'Reader' }
      await coded([422, 'PRINCIPAL_NOT_FOUND'], 'POST', path, wrongType)
      await coded([404, 'NOT_FOUND'], 'POST', `/boundaries/${randomUUID()}/members`, wrongType)
    })

    it('refuses a role with permissions that the caller does not hold', async () => {
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

    it('lets a Platform Owner give any role to others, but not to themselves', async () => {
      const platform = await makeCaller({ 'Platform Owner': '/' })
      const { principalId } = await makeCaller()
      await until('the role at the root is effective', async () => {
        return (await call('GET', path, undefined, { token: platform.token })).status === 200
      })
      const oneself = { principalId: platform.principalId, roleDefinitionName: 'Owner' }
      await coded([403, 'GRANT_EXCEEDS_CALLER'], 'POST', path, oneself, platform.token)
      const body = { principalId, roleDefinitionName: 'Owner' }
      await expectCall(201, 'POST', path, body, { token: platform.token })
    })

    it('shows inherited members, and refuses to remove them in the boundary', async () => {
      const members = await itemsOf<Member>(`${path}?filter=origin:eq:Inherited`)
      expect(members.map(({ scope }) => scope)).to.include('/')
      const refused = await coded([409, 'INHERITED_ASSIGNMENT'], 'DELETE', `${path}/${members[0]?.assignmentId}`)
      expect(refused.scope).to.equal('/')
      expect((await call('GET', `${path}/config`)).status).to.equal(200)
    })

    it('keeps the last Owner, also when two are removed concurrently', async () => {
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

    it('lists members by person, and removes a person with all roles', async () => {
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

    it('refuses to remove the person who is the last Owner', async () => {
      const { id } = await makeBoundary()
      const here = `/boundaries/${id}`
      const only = await until('the first owner is written', async () => {
        return (await itemsOf<Member>(`${here}/members?filter=origin:eq:Direct`))[0]
      })
      await coded([409, 'last_owner'], 'DELETE', `${here}/iam/members/${only.principalId}`)
    })
  })

  describe('groups', () => {
    it('refuses in the documented order, and gives the role of a group to its members', async () => {
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

    it('refuses a group with a role that the caller does not hold', async () => {
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

  describe('deny assignments', () => {
    let boundary: string
    let path: string
    let owner: TestCaller
    before(async () => {
      boundary = `/boundaries/${(await makeBoundary()).id}`
      path = `${boundary}/providers/authorization/denyAssignments`
      owner = await makeCaller({ Owner: boundary })
    })

    it('override grants from the next request on, until another caller removes them', async () => {
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

    it('refuses in the documented order', async () => {
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

    it('refuses a deny of a root Owner by name, and exempts root Owners from one for everyone', async () => {
      const rootOwner = await makeCaller({ Owner: '/' })
      const named = { principalId: rootOwner.principalId, actions: ['boundaries/read'] }
      await coded([422, 'lockout'], 'POST', path, named, owner.token)
      const everyone = { isEveryone: true, actions: ['boundaries/read'], excludedPrincipalIds: [owner.principalId] }
      const { body: made } = await expectCall<{ id: string }>(201, 'POST', path, everyone, { token: owner.token })
      const reader = await makeCaller()
      expect((await call('GET', boundary, undefined, { token: rootOwner.token })).status).to.equal(200)
      expect((await call('GET', boundary, undefined, { token: reader.token })).status).to.equal(403)
      await expectCall(204, 'DELETE', `${path}/${made.id}`, undefined, { token: owner.token })
    })

    it('refuses a deny that leaves no Owner to remove it', async () => {
      const everyone = { isEveryone: true, actions: ['rbac/members/write'] }
      await coded([422, 'lockout'], 'POST', path, everyone)
      const sparing = { ...everyone, excludedPrincipalIds: [owner.principalId] }
      const { body } = await expectCall<{ id: string }>(201, 'POST', path, sparing)
      await expectCall(204, 'DELETE', `${path}/${body.id}`, undefined, { token: owner.token })
    })
  })

  describe('trusts between boundaries', () => {
    it('let readers of one boundary read another, and are refused in the documented order', async () => {
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
})
