import { expect } from 'chai'
import { makeAccounts } from '../../../test/make/accounts.ts'
import { ANNA, assign, B1 } from '../../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { makeFacade } from '../../../test/worlds/facade.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PlatformTenant, RoleAssignment } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { invitationsOnAccountPage } from './account.ts'
import { invitationRoutes } from './index.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)
const TENANT = '55555555-5555-4555-8555-555555555555'
const CARL = 'carl@example.com'

/** ANNA invited CARL, who signs in with the identity provider of his organization. */
async function open() {
  const clock = new ManualClock()
  const { accounts, users } = makeAccounts({ clock, mail: false })
  const facade = makeFacade({ roles: [...BUILT_IN_ROLES], assignments: [assign('Owner', B1)] }, { clock, accounts })
  facade.records.put(PlatformTenant, { name: TENANT }, { displayName: 'Acme' })
  facade.boundary(BOUNDARY, { tenantId: TENANT, displayName: 'Shop' })
  facade.records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: ANNA }, { userName: 'anna' })
  const { id } = users.put({ userName: 'carl', email: CARL, isExternal: true })
  const body = { email: CARL, roleDefinitionName: 'Reader' }
  await facade.call(invitationRoutes, 'POST', `${B1}/providers/authorization/invitations`, { body })
  const page = invitationsOnAccountPage(() => facade.services)
  const carl = { id, email: 'Carl@Example.com', emailVerified: true }
  return { ...facade, page, carl, clock }
}

describe('invitations on the account page', () => {
  it('are those for the verified address, and grant the role once', async () => {
    const { page, carl, records } = await open()
    const [shown] = await page.openTo(carl)
    expect(shown).to.include({ boundary: 'Shop', roleName: 'Reader' })
    expect(await page.accept(carl, shown?.id ?? '')).to.equal(undefined)
    const given = records.peekAll(RoleAssignment).map(({ spec }) => [spec.principalId, spec.roleDefinitionName])
    expect(given).to.deep.equal([[carl.id, 'Reader']])
    expect(await page.openTo(carl)).to.deep.equal([])
    expect(await page.accept(carl, shown?.id ?? '')).to.equal('The invitation is no longer open.')
  })

  for (const [title, change] of [
    ['with an unverified address', { emailVerified: false }],
    ['with another address', { email: 'dora@example.com' }],
    ['without an address', { email: undefined }],
  ] as const) {
    it(`are hidden from and refused for a user ${title}`, async () => {
      const { page, carl, records } = await open()
      const [shown] = await page.openTo(carl)
      expect(await page.openTo({ ...carl, ...change })).to.deep.equal([])
      expect(await page.accept({ ...carl, ...change }, shown?.id ?? '')).to.equal('The invitation is no longer open.')
      expect(records.peekAll(RoleAssignment)).to.deep.equal([])
    })
  }

  it('are refused with the reason if the inviter was deleted', async () => {
    const { page, carl, records } = await open()
    const [shown] = await page.openTo(carl)
    await records.remove(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: ANNA }, {} as never)
    expect(await page.accept(carl, shown?.id ?? '')).to.match(
      /^The person who invited you may no longer give this role/,
    )
  })

  it('are none before the services are available', async () => {
    const { carl } = await open()
    expect(await invitationsOnAccountPage(() => undefined).openTo(carl)).to.deep.equal([])
  })
})
