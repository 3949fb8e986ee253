import { expect } from 'chai'
import { NOW } from '../../test/make/authorizationPolicy.ts'
import { ANNA, assign, B1, BERT, deny, evaluatorOf, STAFF, TEAM } from '../../test/make/authorizationRecords.ts'

/** Anna is in the team, which is in the staff. Each change follows a decision about Anna. */
describe('a cached decision about a member of nested groups', () => {
  const nested = [
    { id: TEAM, memberIds: [ANNA] },
    { id: STAFF, memberIds: [TEAM] },
  ]
  const asked = (given: Parameters<typeof evaluatorOf>[0]) => {
    const evaluator = evaluatorOf({ groups: nested, ...given })
    const reads = (principal = ANNA) => evaluator.isAllowed(principal, 'apps/read', B1, NOW)
    return { policy: evaluator.policy, reads, before: reads() }
  }

  it('changes when an outer group receives its first assignment at the root', () => {
    const { policy, reads, before } = asked({})
    policy.upsertAssignment(assign('Reader', '/', { principalId: STAFF }))
    expect([before, reads()]).to.deep.equal([false, true])
  })

  it('changes when that assignment is removed and another one added', () => {
    const first = assign('Reader', '/', { principalId: STAFF })
    const { policy, reads, before } = asked({ assignments: [first] })
    policy.removeAssignment(first.id)
    expect([before, reads()]).to.deep.equal([true, false])
    policy.upsertAssignment(assign('Reader', '/', { principalId: STAFF }))
    expect(reads()).to.equal(true)
  })

  it('changes when an outer group receives its first deny', () => {
    const { policy, reads, before } = asked({ assignments: [assign('Reader', B1)] })
    policy.upsertDeny(deny(B1, ['*'], { principal: { id: STAFF } }))
    expect([before, reads()]).to.deep.equal([true, false])
  })

  it('changes when an outer group receives an assignment below the root', () => {
    const { policy, reads, before } = asked({})
    policy.upsertAssignment(assign('Reader', B1, { principalId: STAFF }))
    expect([before, reads()]).to.deep.equal([false, true])
  })

  it('changes when the group becomes a member of another one', () => {
    const { policy, reads, before } = asked({ assignments: [assign('Reader', '/', { principalId: BERT })] })
    policy.upsertGroup({ id: BERT, memberIds: [STAFF] })
    expect([before, reads()]).to.deep.equal([false, true])
  })
})
