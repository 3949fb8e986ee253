import { expect } from 'chai'
import { NOW } from '../../test/make/authorizationPolicy.ts'
import { ANNA, assign, B1, evaluatorOf, INDEX, STAFF, TEAM } from '../../test/make/authorizationRecords.ts'

describe('a decision', () => {
  it('is explained by the widest record, what names the caller before its groups', () => {
    const wide = assign('Reader', '/', { principalId: TEAM, expiresAt: NOW + 5 })
    const asked = evaluatorOf({
      groups: [
        { id: TEAM, memberIds: [ANNA] },
        { id: STAFF, memberIds: [TEAM] },
      ],
      assignments: [assign('Owner', B1), wide],
    })
    const expected = {
      kind: 'RoleAssignment',
      id: wide.id,
      roleDefinitionName: 'Reader',
      scope: '/',
      viaGroupId: TEAM,
      expiresAt: NOW + 5,
    }
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy).to.deep.equal(expected)
    const own = assign('Reader', '/', { jitRequestId: 'request-1' })
    asked.policy.upsertAssignment(own)
    const decidedBy = { kind: 'JitRequest', id: 'request-1', roleDefinitionName: 'Reader', scope: '/' }
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy).to.deep.equal(decidedBy)
  })

  it('names a resource scope letter by letter', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', INDEX)] })
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy?.scope).to.equal(INDEX)
  })
})
