import { expect } from 'chai'
import { NOW } from '../../test/make/authorizationPolicy.ts'
import {
  ANNA,
  assign,
  B1,
  B2,
  deny,
  evaluatorOf,
  INDEX,
  SHOP,
  STAFF,
  TEAM,
  trust,
} from '../../test/make/authorizationRecords.ts'

describe('Evaluator.explain', () => {
  it('names the assignment with the widest scope, and prefers one of the caller to one of a group', () => {
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

  it('names the deny with the widest scope, whichever was told first', () => {
    const [wide, narrow] = [deny(B1, ['apps/read']), deny(SHOP, ['apps/read'])]
    for (const denies of [
      [wide, narrow],
      [narrow, { ...wide, principal: { id: TEAM } }],
    ]) {
      const groups = [{ id: TEAM, memberIds: [ANNA] }]
      const asked = evaluatorOf({ assignments: [assign('Owner', B1)], groups, denies })
      expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy).to.include({ id: wide.id, scope: B1 })
    }
  })

  it('names the trust that lends the action', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', B2)], trusts: [trust(['apps/read'])] })
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy).to.include({ id: 'trust' })
  })

  it('returns the scope of a resource exactly as written', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', INDEX)] })
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy?.scope).to.equal(INDEX)
  })
})
