import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformClient } from '../../crds/identity.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'

const GROUP = '44444444-4444-4444-8444-444444444444'
const GUEST = '33333333-3333-4333-8333-333333333333'
const B = `/boundaries/${BOUNDARY}`
const namespace = boundaryNamespace(BOUNDARY)
const authorization = `${B}/providers/authorization`

describe('that an Owner remains who can remove a deny', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    for (const id of [OWNER, GUEST])
      server.put(PlatformClient, id, { displayName: id, secretName: 'x' }, SYSTEM_NAMESPACE)
  })
  afterEach(() => server.stop())

  /** An Owner for an hour, as by an approved request. */
  const lend = () => {
    const { annotations } = server.caches.get(Boundary.resource).get(undefined, BOUNDARY)?.metadata ?? {}
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const spec = { principalId: GUEST, principalType: 'ServicePrincipal', roleDefinitionName: 'Owner', scope: B }
    const life = { scopeIncarnation: annotations?.[INCARNATION_ANNOTATION], expiresAt }
    server.put(RoleAssignment, 'lent', { ...spec, ...life }, namespace)
  }
  const deny = async (as: string, body: object) => {
    const answer = await server.ask('post', `${authorization}/denyAssignments`, as).send(body)
    return [answer.status, answer.body.code]
  }

  it('is asked of Owners who stay, not of one whose role ends', async () => {
    lend()
    expect(await deny(GUEST, { principalId: OWNER, actions: ['rbac/*'] })).to.deep.equal([422, 'lockout'])
    const soon = new Date(Date.now() + 60_000).toISOString()
    expect(await deny(GUEST, { principalId: OWNER, actions: ['rbac/*'], expiresAt: soon })).to.deep.equal([
      201,
      undefined,
    ])
  })

  it('is not asked where none stays anyway', async () => {
    lend()
    const [own] = (await server.client.list(RoleAssignment.resource, { namespace })).items.filter(
      ({ metadata }) => metadata.name !== 'lent',
    )
    await server.client.remove(RoleAssignment.resource, { namespace, name: own?.metadata.name ?? '' })
    expect(await deny(GUEST, { principalId: OWNER, actions: ['apps/write'] })).to.deep.equal([201, undefined])
  })

  it('is asked too where an Owner comes into a group that is denied something', async () => {
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
})
