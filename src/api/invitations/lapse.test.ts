import { expect } from 'chai'
import { makeAccounts } from '../../../test/make/accounts.ts'
import { ANNA, assign, B1, BERT, type Given, role, SHOP } from '../../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { PlatformTenant, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { invitationRoutes } from './index.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)
const TENANT = '55555555-5555-4555-8555-555555555555'
const PATH = `${B1}/providers/authorization/invitations`
const CARL = 'carl@example.com'
const person = { password: 'Correct-horse-7', firstName: 'Carl', lastName: 'Cramer' }
const CUSTOM = role(['apps/*'], { displayName: 'Custom' })

type Shown = { id: string; link: string; hasAccount: boolean; assignmentId: string }

/** ANNA, an Owner, may invite CARL. */
function open(given: Given = { assignments: [assign('Owner', B1), assign('Custom', '/')] }) {
  const clock = new ManualClock()
  const { accounts, users } = makeAccounts({ clock, mail: false })
  const facade = makeFacade({ roles: [...BUILT_IN_ROLES, CUSTOM], ...given }, { clock, accounts })
  facade.records.put(PlatformTenant, { name: TENANT }, { displayName: 'Acme' })
  facade.boundary(BOUNDARY, { tenantId: TENANT })
  facade.group(BOUNDARY, 'shop')
  for (const name of [ANNA, BERT]) facade.records.put(PlatformUser, inSystem(name), { userName: name })
  facade.records.put(RoleDefinition, { name: 'custom' }, withoutName(CUSTOM))
  const call = async (method: string, path: string, request: object = {}) =>
    (await facade.call(invitationRoutes, method, path, request)).body as Shown
  const invite = (body: object = {}, request: object = {}) =>
    call('POST', PATH, { body: { email: CARL, roleDefinitionName: 'Reader', ...body }, ...request })
  const accept = ({ link }: Shown, caller: string) =>
    call('POST', '/invitations/accept', { body: { token: link.split('/').at(-1) }, caller })
  const setPassword = ({ link }: Shown) =>
    call('POST', `/invitations/${link.split('/').at(-1)}/set-password`, { body: person })
  return { ...facade, clock, users, call, invite, accept, setPassword }
}

const inSystem = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })
const inBoundary = (name: string) => ({ namespace: boundaryNamespace(BOUNDARY), name })
const withoutName = ({ name: _, ...spec }: typeof CUSTOM) => spec

describe('an invitation', () => {
  type World = ReturnType<typeof open>
  const madeAnew = ({ records, group }: World) => {
    const { metadata, spec } = group(BOUNDARY, 'shop')
    records.put(ResourceGroup, { ...metadata, annotations: { [INCARNATION_ANNOTATION]: 'another' } }, spec)
  }
  const lapsed: [title: string, body: object, change: (world: World) => unknown, resend?: string][] = [
    [
      'the group at its scope was deleted',
      { scope: SHOP },
      ({ records }) => records.remove(ResourceGroup, inBoundary('shop'), {} as never),
    ],
    [
      'its boundary was deleted',
      {},
      ({ records }) => records.remove(Boundary, { name: BOUNDARY }, {} as never),
      'NOT_FOUND',
    ],
    [
      'its role was deleted',
      { roleDefinitionName: 'Custom' },
      ({ records }) => records.remove(RoleDefinition, { name: 'custom' }, {} as never),
    ],
    ['the group at its scope was created again', { scope: SHOP }, madeAnew],
    [
      'the inviter was disabled',
      {},
      ({ records }) => records.put(PlatformUser, inSystem(ANNA), { userName: 'anna', isEnabled: false }),
    ],
    [
      'another role has its name',
      { roleDefinitionName: 'Custom' },
      ({ records }) =>
        records.put(
          RoleDefinition,
          { name: 'custom', annotations: { [INCARNATION_ANNOTATION]: 'another' } },
          withoutName(CUSTOM),
        ),
    ],
    [
      'the boundary belongs to another tenant',
      {},
      ({ boundary }) => boundary(BOUNDARY, { tenantId: TENANT.replaceAll('5', '6') }),
    ],
    [
      'another user has the id of the inviter',
      {},
      ({ records }) => {
        const [stored] = records.peekAll(MemberInvitation)
        if (stored === undefined) throw new Error('Nobody was invited.')
        const annotations = { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [ANNA]: 'first' }) }
        records.put(MemberInvitation, { ...stored.metadata, annotations }, stored.spec)
        const other = { ...inSystem(ANNA), annotations: { [INCARNATION_ANNOTATION]: 'second' } }
        records.put(PlatformUser, other, { userName: 'anna' })
      },
    ],
    ['the inviter was deleted', {}, ({ records }) => records.remove(PlatformUser, inSystem(ANNA), {} as never)],
  ]
  for (const [title, body, change] of lapsed) {
    it(`cannot be accepted, and stays Pending, if ${title}`, async () => {
      const world = open()
      const { id } = world.users.put({ userName: 'carl', email: CARL })
      const made = await world.invite(body)
      await change(world)
      expect((await codeOf(world.accept(made, id))).code).to.equal('invalid_state')
      expect(world.records.peekAll(RoleAssignment)).to.deep.equal([])
      expect(world.records.peekAll(MemberInvitation)[0]?.spec.state).to.equal('Pending')
    })
  }

  for (const [title, body, change, resend = 'invalid_state'] of lapsed) {
    it(`cannot be used for set-password nor resent if ${title}`, async () => {
      const world = open()
      const made = await world.invite(body)
      await change(world)
      expect((await codeOf(world.setPassword(made))).code).to.equal('invalid_state')
      expect([...world.users.users.values()]).to.deep.equal([])
      expect((await codeOf(world.call('POST', `${PATH}/${made.id}/resend`))).code).to.equal(resend)
    })
  }

  for (const [title, change] of [
    ['was deleted', ({ records }) => records.remove(ResourceGroup, inBoundary('shop'), {} as never)],
    ['was created again', madeAnew],
  ] as [string, (world: World) => unknown][])
    it(`does not block another one if the group at its scope ${title}`, async () => {
      const world = open()
      await world.invite({ scope: SHOP })
      await change(world)
      expect(await world.invite({ scope: B1 })).to.include({ status: 'Pending' })
      expect((await codeOf(world.invite({ scope: B1 }))).code).to.equal('duplicate_pending')
    })

  it('cannot be accepted if the inviter may no longer grant the role', async () => {
    const world = open()
    const { id } = world.users.put({ userName: 'carl', email: CARL })
    const made = await world.invite({ roleDefinitionName: 'Owner' })
    const { access } = makeFacade({ roles: [...BUILT_IN_ROLES], assignments: [assign('Contributor', B1)] }).services
    Object.assign(world.services, { access })
    expect((await codeOf(world.accept(made, id))).code).to.equal('invalid_state')
    expect(world.records.peekAll(RoleAssignment)).to.deep.equal([])
  })

  it('adds the tenant of the boundary to those of the user', async () => {
    const { invite, accept, users } = open()
    const { id } = users.put({ userName: 'carl', email: CARL, tenantIds: ['other'] })
    await accept(await invite(), id)
    expect((await users.find(id))?.tenantIds).to.deep.equal(['other', TENANT])
  })

  it('leaves the tenants unchanged if it is revoked during accept', async () => {
    const { invite, accept, users, records } = open()
    const { id } = users.put({ userName: 'carl', email: CARL })
    const made = await invite()
    const join = users.joinTenant.bind(users)
    users.joinTenant = async (...given) => {
      await join(...given)
      const [stored] = records.peekAll(MemberInvitation)
      if (stored !== undefined) records.put(MemberInvitation, stored.metadata, { ...stored.spec, state: 'Revoked' })
      // The revocation removes the assignment first.
      const [assignment] = records.peekAll(RoleAssignment)
      if (assignment !== undefined) await records.remove(RoleAssignment, assignment.metadata as never, {} as never)
    }
    expect((await codeOf(accept(made, id))).code).to.equal('invalid_state')
    expect((await users.find(id))?.tenantIds).to.deep.equal([])
  })

  it('can be accepted after a resend by an account that was created meanwhile', async () => {
    const { invite, accept, setPassword, users, call } = open()
    const made = await invite()
    const { id } = users.put({ userName: 'carl', email: CARL })
    expect((await codeOf(setPassword(made))).code).to.equal('user_already_exists')
    const again = await call('POST', `${PATH}/${made.id}/resend`)
    expect(again.hasAccount).to.equal(true)
    expect(await accept(again, id)).to.have.property('assignmentId')
  })

  it('is refused above 4 a day for one address, revoked ones included', async () => {
    const { invite, call, clock } = open()
    const revoke = async () => call('DELETE', `${PATH}/${(await invite()).id}`)
    for (let time = 1; time <= 4; time += 1) await revoke()
    const { code, extras } = await codeOf(invite({ email: 'Carl@Example.com' }))
    expect([code, extras.retryAfterSeconds]).to.deep.equal(['TOO_MANY_REQUESTS', 86_400])
    expect(await invite({ email: 'dora@example.com' })).to.have.property('id')
    await clock.advance(86_400_000)
    expect(await invite()).to.have.property('id')
  })
})
