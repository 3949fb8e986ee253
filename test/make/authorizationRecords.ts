import { Evaluator } from '../../src/iam/evaluate.ts'
import type { Assignment, Deny, PrincipalGroup, Trust } from '../../src/iam/records.ts'
import type { Role } from '../../src/iam/roles.ts'

export const ANNA = '11111111-1111-4111-8111-111111111111'
export const BERT = '22222222-2222-4222-8222-222222222222'
export const TEAM = '33333333-3333-4333-8333-333333333333'
export const STAFF = '44444444-4444-4444-8444-444444444444'
export const B1 = '/boundaries/6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b'
export const B2 = '/boundaries/6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1c'
export const SHOP = `${B1}/resourcegroups/shop`
export const INDEX = `${SHOP}/resources/vectorclusters/index`

export type Given = {
  assignments?: Assignment[]
  denies?: Deny[]
  groups?: PrincipalGroup[]
  roles?: Role[]
  trusts?: Trust[]
}

let made = 0
export const assign = (roleName: string, scope: string, more: Partial<Assignment> = {}): Assignment => {
  made += 1
  return { id: `assignment-${made}`, principalId: ANNA, principalType: 'User', roleName, scope, ...more }
}
export const deny = (scope: string, actions: string[], more: Partial<Deny> = {}): Deny => {
  made += 1
  return {
    id: `deny-${made}`,
    principal: { id: ANNA },
    excludedPrincipalIds: [],
    actions,
    dataActions: [],
    scope,
    ...more,
  }
}
export const role = (actions: string[], more: Partial<Role> = {}): Role => ({
  name: 'custom',
  displayName: 'Custom',
  description: '',
  actions,
  notActions: [],
  dataActions: [],
  notDataActions: [],
  assignableScopes: ['/', '/boundaries/*'],
  ...more,
})
export const trust = (actions: string[], more: Partial<Trust> = {}): Trust => ({
  id: 'trust',
  boundaryId: B1.slice(12),
  trustedBoundaryId: B2.slice(12),
  actions,
  bidirectional: false,
  ...more,
})

/** An evaluator that was told the records given, roles first. */
export function evaluatorOf(given: Given): Evaluator {
  const evaluator = new Evaluator()
  for (const each of given.roles ?? []) evaluator.policy.upsertRole(each)
  for (const each of given.assignments ?? []) evaluator.policy.upsertAssignment(each)
  for (const each of given.denies ?? []) evaluator.policy.upsertDeny(each)
  for (const each of given.groups ?? []) evaluator.policy.upsertGroup(each)
  for (const each of given.trusts ?? []) evaluator.policy.upsertTrust(each)
  return evaluator
}
