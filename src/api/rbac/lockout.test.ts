import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { managedIdentityPrincipal } from '../../contracts/managedIdentities.ts'
import { objectId } from '../../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformClient } from '../../crds/identity.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { DenyAssignment, JitRequest, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { jitAssignmentName } from '../../iam/jit.ts'

const GROUP = '44444444-4444-4444-8444-444444444444'
const GUEST = '33333333-3333-4333-8333-333333333333'
const THIRD = '66666666-6666-4666-8666-666666666666'
const IDENTITY = '88888888-8888-4888-8888-888888888888'
const REQUEST = '77777777-7777-4777-8777-777777777777'
const B = `/boundaries/${BOUNDARY}`
const namespace = boundaryNamespace(BOUNDARY)
const authorization = `${B}/providers/authorization`

describe('protection of the last Owner', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    for (const id of [OWNER, GUEST, THIRD])
      server.put(PlatformClient, id, { displayName: id, secretName: 'x' }, SYSTEM_NAMESPACE)
  })
  afterEach(() => server.stop())

  /** Assigns Owner for an hour, like an approved request. */
  const assignTemporaryOwner = () => {
    const { annotations } = server.caches.get(Boundary.resource).get(undefined, BOUNDARY)?.metadata ?? {}
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const spec = { principalId: GUEST, principalType: 'ServicePrincipal', roleDefinitionName: 'Owner', scope: B }
    const validity = { scopeIncarnation: annotations?.[INCARNATION_ANNOTATION], expiresAt }
    server.put(RoleAssignment, 'lent', { ...spec, ...validity }, namespace)
  }
  const deny = async (as: string, body: object) => {
    const answer = await server.ask('post', `${authorization}/denyAssignments`, as).send(body)
    return [answer.status, answer.body.code]
  }

  it('counts permanent Owners only, and allows a deny that expires earlier', async () => {
    assignTemporaryOwner()
    expect(await deny(GUEST, { principalId: OWNER, actions: ['rbac/*'] })).to.deep.equal([422, 'lockout'])
    const soon = new Date(Date.now() + 60_000).toISOString()
    expect(await deny(GUEST, { principalId: OWNER, actions: ['rbac/*'], expiresAt: soon })).to.deep.equal([
      201,
      undefined,
    ])
  })

  it('allows a deny if no permanent Owner exists anyway', async () => {
    assignTemporaryOwner()
    const [own] = (await server.client.list(RoleAssignment.resource, { namespace })).items.filter(
      ({ metadata }) => metadata.name !== 'lent',
    )
    await server.client.remove(RoleAssignment.resource, { namespace, name: own?.metadata.name ?? '' })
    expect(await deny(GUEST, { principalId: OWNER, actions: ['apps/write'] })).to.deep.equal([201, undefined])
  })

  it('refuses to add the last Owner to a group with a deny', async () => {
    server.put(PrincipalGroup, GROUP, { displayName: 'Denied', memberIds: [] }, namespace)
    server.put(
      DenyAssignment,
      'd',
      { principalId: GROUP, principalType: 'Group', actions: ['rbac/*'], scope: B },
      namespace,
    )
    const { status, body } = await server.ask('patch', `${authorization}/groups/${GROUP}`).send({ memberIds: [OWNER] })
    expect([status, body.code], JSON.stringify(body)).to.deep.equal([422, 'lockout'])
  })

  const spec = { principalType: 'ServicePrincipal', roleDefinitionName: 'Owner', scope: B }
  const own = async () => {
    const { items } = await server.client.list(RoleAssignment.resource, { namespace })
    return items.find((one) => (one as { spec?: { principalId?: string } }).spec?.principalId === OWNER)?.metadata.name
  }
  const incarnation = () => {
    const { annotations } = server.caches.get(Boundary.resource).get(undefined, BOUNDARY)?.metadata ?? {}
    return { scopeIncarnation: annotations?.[INCARNATION_ANNOTATION] }
  }
  const removals: [string, string, () => Promise<[method: 'delete' | 'patch', path: string, body?: object]>][] = [
    ['DELETE of a member', 'LAST_OWNER', async () => ['delete', `${B}/members/${await own()}`]],
    ['DELETE of an IAM member', 'last_owner', async () => ['delete', `${B}/iam/members/${OWNER}`]],
    [
      'DELETE of an assignment',
      'last_owner',
      async () => ['delete', `${authorization}/roleAssignments/${await own()}`],
    ],
    [
      'PATCH of a group',
      'last_owner',
      async () => ['patch', `${authorization}/groups/${GROUP}`, { memberIds: [GUEST] }],
    ],
  ]
  const denials: [string, object][] = [
    ['rbac/members/write', { actions: ['rbac/members/write'] }],
    ['an action of their role', { actions: ['jobs/read'] }],
    ['an action at a resource group', { actions: ['apps/write'], scope: `${B}/resourcegroups/shop` }],
    ['a data action', { actions: [], dataActions: ['jobs/readLogs'] }],
  ]
  const combinations = removals.flatMap((removal) => denials.map((denial) => [...removal, ...denial] as const))
  for (const [title, code, removal, what, denied] of combinations)
    it(`refuses ${title} if the remaining Owner is denied ${what}`, async () => {
      server.put(RoleAssignment, 'guest', { ...spec, ...incarnation(), principalId: GUEST }, namespace)
      if (title === 'PATCH of a group') {
        server.put(PrincipalGroup, GROUP, { displayName: 'Owners', memberIds: [OWNER, GUEST] }, namespace)
        const ofGroup = { ...spec, ...incarnation(), principalId: GROUP, principalType: 'Group' }
        server.put(RoleAssignment, 'group', ofGroup, namespace)
        await server.client.remove(RoleAssignment.resource, { namespace, name: (await own()) ?? '' })
      }
      expect(await deny(OWNER, { principalId: GUEST, ...denied })).to.deep.equal([201, undefined])
      const [method, path, body] = await removal()
      const answer = await server.ask(method, path).send(body)
      expect([answer.status, answer.body.code], JSON.stringify(answer.body)).to.deep.equal([409, code])
      const denies = await server.client.list(DenyAssignment.resource, { namespace })
      for (const { metadata } of denies.items)
        await server.client.remove(DenyAssignment.resource, { namespace, name: metadata.name })
      const again = await server.ask(method, path).send(body)
      expect(again.status, JSON.stringify(again.body)).to.be.oneOf([200, 204])
    })

  const put = (name: string, principalId: string, more: object = {}) =>
    server.put(RoleAssignment, name, { ...spec, ...incarnation(), principalId, ...more }, namespace)
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
  const take = async (id: string, as = OWNER) => {
    const { items } = await server.client.list(RoleAssignment.resource, { namespace })
    const name = items.find((one) => (one as { spec?: { principalId?: string } }).spec?.principalId === id)?.metadata
      .name
    const path = `${authorization}/roleAssignments/${objectId(RoleAssignment.resource, { namespace, name: name ?? '' })}`
    const { status, body } = await server.ask('delete', path, as)
    return [status, body.code]
  }

  it('refuses denies of two Owners against each other', async () => {
    put('guest', GUEST)
    expect(await deny(OWNER, { principalId: GUEST, actions: ['jobs/read'] })).to.deep.equal([201, undefined])
    expect(await deny(GUEST, { principalId: OWNER, actions: ['apps/read'] })).to.deep.equal([422, 'lockout'])
  })

  it('does not count an Owner with a temporary deny', async () => {
    put('guest', GUEST)
    const until = { expiresAt: inMinutes(60) }
    expect(await deny(OWNER, { principalId: GUEST, actions: ['jobs/read'], ...until })).to.deep.equal([201, undefined])
    expect(await take(OWNER)).to.deep.equal([409, 'last_owner'])
  })

  it('lets a permanent Owner go only if another permanent Owner remains', async () => {
    put('lent', GUEST, { expiresAt: inMinutes(60) })
    server.put(DenyAssignment, 'd', { principalId: OWNER, actions: ['jobs/read'], scope: B }, namespace)
    expect(await take(OWNER, GUEST)).to.deep.equal([409, 'last_owner'])
    put('third', THIRD)
    expect(await take(OWNER, GUEST)).to.deep.equal([204, undefined])
  })

  it('allows a permanent Owner with a temporary deny to remove a temporary Owner', async () => {
    put('lent', GUEST, { expiresAt: inMinutes(60) })
    const until = { expiresAt: inMinutes(59) }
    expect(await deny(GUEST, { principalId: OWNER, actions: ['jobs/read'], ...until })).to.deep.equal([201, undefined])
    expect(await take(GUEST, OWNER)).to.deep.equal([204, undefined])
  })

  it('allows to revoke an Owner role granted by a JitRequest', async () => {
    server.put(DenyAssignment, 'd', { principalId: OWNER, actions: ['jobs/read'], scope: B }, namespace)
    const decidedAt = new Date().toISOString()
    const request = {
      principalId: GUEST,
      principalType: 'ServicePrincipal',
      roleDefinitionName: 'Owner',
      scope: B,
      justification: 'A fire',
    }
    const approved = { decision: 'Approved', decidedAt, decidedBy: OWNER, durationMinutes: 60 }
    server.put(JitRequest, REQUEST, { ...request, ...approved }, namespace)
    const name = jitAssignmentName({ metadata: { name: REQUEST } })
    put(name, GUEST, { expiresAt: inMinutes(60), jitRequestId: REQUEST })
    const { status, body } = await server.ask('delete', `${authorization}/jitRequests/${REQUEST}`)
    expect(status, JSON.stringify(body)).to.equal(204)
    const { items } = await server.client.list(RoleAssignment.resource, { namespace })
    expect(items.map(({ metadata }) => metadata.name)).to.not.include(name)
  })

  describe('does not count a managed identity', () => {
    const groupNamespaceName = groupNamespace(BOUNDARY, 'shop')
    const principalId = managedIdentityPrincipal(groupNamespaceName, IDENTITY, 'life')
    beforeEach(() => {
      const of = { resourceName: 'web', resourceType: 'functionnamespaces', resourceUid: 'u' }
      server.put(ManagedIdentity, IDENTITY, of, groupNamespaceName)
      server.put(PlatformClient, principalId, { displayName: 'web', secretName: 'x' }, SYSTEM_NAMESPACE)
      put('identity', principalId)
    })

    it('when the last other Owner is removed', async () => {
      expect(await take(OWNER)).to.deep.equal([409, 'last_owner'])
      put('guest', GUEST)
      expect(await take(OWNER)).to.deep.equal([204, undefined])
    })

    it('when a deny excludes only it', async () => {
      const all = { isEveryone: true, actions: ['jobs/read'], excludedPrincipalIds: [principalId] }
      expect(await deny(OWNER, all)).to.deep.equal([422, 'lockout'])
    })
  })

  it('does not count an Owner whose deny is overridden at the root only', async () => {
    put('guest', GUEST)
    expect(await deny(OWNER, { principalId: GUEST, actions: ['jobs/read'] })).to.deep.equal([201, undefined])
    server.grant(GUEST, 'Owner', '/')
    expect(await take(OWNER)).to.deep.equal([409, 'last_owner'])
  })

  it('counts an Owner through a group of the platform', async () => {
    server.put(PrincipalGroup, GROUP, { displayName: 'Owners', memberIds: [OWNER] }, SYSTEM_NAMESPACE)
    put('group', GROUP, { principalType: 'Group' })
    const answer = await server.ask('delete', `${B}/iam/members/${OWNER}`)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(204)
  })

  it('refuses to remove the group of the last Owner', async () => {
    put('guest', GUEST)
    server.put(PrincipalGroup, GROUP, { displayName: 'Owners', memberIds: [OWNER] }, namespace)
    put('group', GROUP, { principalType: 'Group' })
    await server.client.remove(RoleAssignment.resource, { namespace, name: (await own()) ?? '' })
    expect(await deny(OWNER, { principalId: GUEST, actions: ['jobs/read'] })).to.deep.equal([201, undefined])
    const { status, body } = await server.ask('delete', `${authorization}/groups/${GROUP}`)
    expect([status, body.code]).to.deep.equal([409, 'last_owner'])
  })

  it('refuses to remove a group that a deny excludes', async () => {
    server.put(PrincipalGroup, GROUP, { displayName: 'Spared', memberIds: [OWNER] }, namespace)
    const sparing = { isEveryone: true, excludedPrincipalIds: [GROUP], actions: ['jobs/read'], scope: B }
    expect(await deny(OWNER, sparing)).to.deep.equal([201, undefined])
    const { status, body } = await server.ask('delete', `${authorization}/groups/${GROUP}`)
    expect([status, body.code]).to.deep.equal([409, 'last_owner'])
  })

  it('refuses to remove a member from the group that a deny excludes', async () => {
    server.put(PrincipalGroup, GROUP, { displayName: 'Spared', memberIds: [OWNER] }, namespace)
    const platform = '55555555-5555-4555-8555-555555555555'
    server.put(PrincipalGroup, platform, { displayName: 'Owners', memberIds: [OWNER] }, SYSTEM_NAMESPACE)
    put('group', platform, { principalType: 'Group' })
    const sparing = { isEveryone: true, excludedPrincipalIds: [GROUP], actions: ['jobs/read'], scope: B }
    server.put(DenyAssignment, 'd', sparing, namespace)
    const { status, body } = await server.ask('delete', `${B}/iam/members/${OWNER}`)
    expect([status, body.code]).to.deep.equal([409, 'last_owner'])
  })
})
