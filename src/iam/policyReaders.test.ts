import { expect } from 'chai'
import { ReadTracker } from '../core/readTrackers.ts'
import { PolicyIndex } from './policyIndex.ts'

const [ANNA, BEN] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
const SHOP = '33333333-3333-4333-8333-333333333333'
const TEAM = 'platform/team'
const scope = `/boundaries/${SHOP}`
const grantOf = (principalId: string) =>
  ({ id: `of ${principalId}`, principalId, principalType: 'User', roleName: 'Reader', scope }) as const
const denyOf = (principal: 'everyone' | { id: string }) => ({
  ...{ id: 'deny', principal, excludedPrincipalIds: [], actions: ['jobs/write'], dataActions: [], scope },
})
const ROLE = {
  ...{ name: 'custom', displayName: 'Custom', description: '', assignableScopes: ['/'] as const },
  ...{ actions: ['jobs/read'], notActions: [], dataActions: [], notDataActions: [] },
}
const TRUST = { id: 'trust', boundaryId: SHOP, trustedBoundaryId: ANNA, actions: ['jobs/read'], bidirectional: false }

type Change = (policy: PolicyIndex) => void

describe('readers of the policy for Anna', () => {
  const cases: { what: string; given?: Change; change: Change; hears: boolean }[] = [
    { what: 'an assignment of hers', change: (all) => all.upsertAssignment(grantOf(ANNA)), hears: true },
    { what: 'an assignment of another principal', change: (all) => all.upsertAssignment(grantOf(BEN)), hears: false },
    {
      what: 'the removal of her assignment',
      given: (all) => all.upsertAssignment(grantOf(ANNA)),
      change: (all) => all.removeAssignment(`of ${ANNA}`),
      hears: true,
    },
    { what: 'a deny of hers', change: (all) => all.upsertDeny(denyOf({ id: ANNA })), hears: true },
    { what: 'a deny of another principal', change: (all) => all.upsertDeny(denyOf({ id: BEN })), hears: false },
    { what: 'a deny for everyone', change: (all) => all.upsertDeny(denyOf('everyone')), hears: true },
    {
      what: 'the removal of a deny for everyone',
      given: (all) => all.upsertDeny(denyOf('everyone')),
      change: (all) => all.removeDeny('deny'),
      hears: true,
    },
    { what: 'the members of a group', change: (all) => all.upsertGroup({ id: TEAM, memberIds: [ANNA] }), hears: true },
    {
      what: 'an assignment of a group with members',
      given: (all) => all.upsertGroup({ id: TEAM, memberIds: [ANNA] }),
      change: (all) => all.upsertAssignment(grantOf(TEAM)),
      hears: true,
    },
    {
      what: 'the removal of a group',
      given: (all) => all.upsertGroup({ id: TEAM, memberIds: [ANNA] }),
      change: (all) => all.removeGroup(TEAM),
      hears: true,
    },
    { what: 'a role', change: (all) => all.upsertRole(ROLE), hears: true },
    {
      what: 'the removal of a role',
      given: (all) => all.upsertRole(ROLE),
      change: (all) => all.removeRole('custom'),
      hears: true,
    },
    { what: 'a trust', change: (all) => all.upsertTrust(TRUST), hears: true },
    {
      what: 'the removal of a trust',
      given: (all) => all.upsertTrust(TRUST),
      change: (all) => all.removeTrust('trust'),
      hears: true,
    },
  ]
  for (const { what, given, change, hears } of cases) {
    it(`${hears ? 'are notified of' : 'are not notified of'} ${what}`, async () => {
      const policy = new PolicyIndex()
      given?.(policy)
      let heard = false
      const { reading, result } = ReadTracker.begin(
        () => {
          heard = true
        },
        async () => policy.readers.note(ANNA),
      )
      await result
      change(policy)
      reading.end()
      expect(heard).to.equal(hears)
    })
  }
})
