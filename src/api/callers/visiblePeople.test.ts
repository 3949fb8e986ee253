import { expect } from 'chai'
import { ANNA, assign, B1, B2, BERT, type Given } from '../../../test/make/authorizationRecords.ts'
import { makeFacade } from '../../../test/worlds/facade.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { PlatformTenant, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { findVisiblePrincipals } from './visiblePeople.ts'

const ID = B1.slice(12)
const OWN = '55555555-5555-4555-8555-555555555555'
const OTHER = '66666666-6666-4666-8666-666666666666'
type Case = {
  given?: Given
  /** The tenants of the caller and of the other user. */
  tenants?: [string[], string[]]
  more?: [AnyKind, string, string, object][]
  wanted: boolean
}

const reader = { principalId: BERT, principalType: 'User', roleDefinitionName: 'Reader', scope: B1 }
const CASES: Readonly<Record<string, Case>> = {
  'hides users of another tenant': { tenants: [[OWN], [OTHER]], wanted: false },
  'hides users without a tenant': { wanted: false },
  'shows users of the own tenant': { tenants: [[OWN], [OWN]], wanted: true },
  'shows users of the tenant of a boundary whose members the caller may read': {
    given: { assignments: [assign('Owner', B1)] },
    tenants: [[], [OWN]],
    wanted: true,
  },
  'shows all users to a Platform Owner': {
    given: { assignments: [assign('Platform Owner', '/')] },
    tenants: [[], [OTHER]],
    wanted: true,
  },
  'shows users with a role in the boundary': {
    more: [[RoleAssignment, boundaryNamespace(ID), 'one', reader]],
    wanted: true,
  },
  'shows users with a role at the root': {
    more: [[RoleAssignment, SYSTEM_NAMESPACE, 'one', { ...reader, scope: '/' }]],
    wanted: true,
  },
  'shows members of a group of the boundary': {
    more: [[PrincipalGroup, boundaryNamespace(ID), 'team', { displayName: 'Team', memberIds: [BERT] }]],
    wanted: true,
  },
  'hides users with a role in another boundary': {
    more: [[RoleAssignment, boundaryNamespace(B2.slice(12)), 'one', { ...reader, scope: B2 }]],
    wanted: false,
  },
}

describe('findVisiblePrincipals', () => {
  for (const [title, { given = {}, tenants = [[], []], more = [], wanted }] of Object.entries(CASES)) {
    it(title, async () => {
      const { services, records, boundary } = makeFacade({ roles: [...BUILT_IN_ROLES], ...given })
      boundary(ID, { tenantId: OWN })
      records.put(PlatformTenant, { name: OWN }, { displayName: 'Own' })
      for (const [index, name] of [ANNA, BERT].entries()) {
        const spec = { userName: name.slice(0, 4), tenantIds: tenants[index] }
        records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name }, spec)
      }
      for (const [kind, namespace, name, spec] of more) records.put(kind, { namespace, name }, spec)
      const found = await findVisiblePrincipals(services, { principalId: ANNA }, [BERT], ID)
      expect(found.has(BERT)).to.equal(wanted)
    })
  }

  it('shows service accounts', async () => {
    const { services, records } = makeFacade({})
    records.put(PlatformClient, { namespace: SYSTEM_NAMESPACE, name: BERT }, { displayName: 'ci', secretName: 'ci' })
    expect((await findVisiblePrincipals(services, { principalId: ANNA }, [BERT], ID)).has(BERT)).to.equal(true)
  })
})
