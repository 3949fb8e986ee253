import { invitationRoutes } from '../../src/api/invitations/index.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { PlatformTenant, RoleAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import { makeAccounts } from '../make/accounts.ts'
import { ANNA, assign, B1, BERT, type Given } from '../make/authorizationRecords.ts'
import { ManualClock } from '../make/clock.ts'
import { codeOf, makeFacade } from './facade.ts'

export const BOUNDARY = B1.slice('/boundaries/'.length)
export const TENANT = '55555555-5555-4555-8555-555555555555'
export const PATH = `${B1}/providers/authorization/invitations`
export const PASSWORD = 'Correct-horse-7'
export const CARL = 'carl@example.com'
export const person = { password: PASSWORD, firstName: 'Carl', lastName: 'Cramer' }

type Shown = { id: string; status: string; link: string | null; canResend: boolean; nextResendAt: string | null }

/** A boundary of a tenant, with an Owner and another person, whose routes of invitations are called. */
export function invitationsWorld(
  given: Given = { assignments: [assign('Owner', B1)] },
  { mail = false, tenantId = TENANT as string | null } = {},
) {
  const clock = new ManualClock()
  const { accounts, users, mailer } = makeAccounts({ clock, mail })
  const facade = makeFacade({ roles: [...BUILT_IN_ROLES], ...given }, { clock, accounts })
  facade.records.put(PlatformTenant, { name: TENANT }, { displayName: 'Acme' })
  facade.boundary(BOUNDARY, tenantId === null ? {} : { tenantId })
  for (const [name, userName] of [
    [ANNA, 'anna'],
    [BERT, 'bert'],
  ] as const)
    facade.records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name }, { userName })
  for (const { name, ...spec } of BUILT_IN_ROLES) facade.records.put(RoleDefinition, { name }, spec)
  const call = (method: string, path: string, request: object = {}) =>
    facade.call(invitationRoutes, method, path, request) as Promise<{
      status: number
      headers: Record<string, string>
      body: Shown & Record<string, string>
    }>
  const invite = async (body: object = {}) =>
    (await call('POST', PATH, { body: { email: CARL, roleDefinitionName: 'Reader', ...body } })).body
  const refusal = async (body: object) => (await codeOf(invite(body))).code
  const tokenOf = ({ link }: Shown) => link?.split('/').at(-1) ?? ''
  const setPassword = (token: string, body: object = person) =>
    call('POST', `/invitations/${token}/set-password`, { body })
  const accept = (token: string, userId: string, claims: object = {}) =>
    call('POST', '/invitations/accept', { body: { token }, caller: userId, claims })
  const assignments = () => facade.records.peekAll(RoleAssignment)
  return { ...facade, clock, accounts, users, mailer, call, invite, refusal, tokenOf, setPassword, accept, assignments }
}
