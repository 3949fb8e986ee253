import { ACTIONS } from '../../src/core/actions.ts'
import type { Assignment, DecisionReason, Deny, PrincipalGroup, Trust } from '../../src/iam/records.ts'
import type { Role } from '../../src/iam/roles.ts'

export type NaivePolicy = {
  roles: Role[]
  assignments: Assignment[]
  denies: Deny[]
  groups: PrincipalGroup[]
  trusts: Trust[]
}

/**
 * The rules of authorization written as plainly as possible: examines every record for every question and shares no
 * code with the evaluator except the list of actions. Any difference is an error in one of them.
 */
export function naiveReason(
  policy: NaivePolicy,
  principalId: string,
  action: string,
  scope: string,
  at: number,
): DecisionReason {
  const subjects = new Set([principalId, ...groupsHolding(policy.groups, principalId)])
  if (isDenied(policy, subjects, action, scope, at)) return 'DeniedByAssignment'
  if (isGranted(policy, subjects, action, scope, at)) return 'AllowedByAssignment'
  for (const trust of policy.trusts) {
    if (trust.expiresAt !== undefined && at >= trust.expiresAt) continue
    if (!trust.actions.includes(action) || definition(action)?.isData || definition(action)?.isRoot) continue
    const pairs = [[trust.boundaryId, trust.trustedBoundaryId]]
    if (trust.bidirectional) pairs.push([trust.trustedBoundaryId, trust.boundaryId])
    for (const [granting, trusted] of pairs) {
      const there = `/boundaries/${trusted}`
      if (!contains(`/boundaries/${granting}`, scope)) continue
      if (isGranted(policy, subjects, action, there, at) && !isDenied(policy, subjects, action, there, at))
        return 'AllowedByTrust'
    }
  }
  return definition(action)?.isRoot ? 'RootOnly' : 'NoAssignment'
}

export function naiveAllows(
  policy: NaivePolicy,
  principalId: string,
  action: string,
  scope: string,
  at: number,
): boolean {
  return naiveReason(policy, principalId, action, scope, at).startsWith('Allowed')
}

function isGranted(policy: NaivePolicy, subjects: Set<string>, action: string, scope: string, at: number): boolean {
  return policy.assignments.some((assignment) => {
    if (!subjects.has(assignment.principalId)) return false
    if (assignment.expiresAt !== undefined && at >= assignment.expiresAt) return false
    if (!contains(assignment.scope, scope)) return false
    if (definition(action)?.isRoot && assignment.scope !== '/') return false
    const role = policy.roles.find((each) => each.displayName === assignment.roleName)
    if (role === undefined) return false
    if (!role.assignableScopes.includes(assignment.scope === '/' ? '/' : '/boundaries/*')) return false
    if (definition(action)?.isData) return matches(role.dataActions, action) && !matches(role.notDataActions, action)
    return matches(role.actions, action) && !matches(role.notActions, action)
  })
}

function isDenied(policy: NaivePolicy, subjects: Set<string>, action: string, scope: string, at: number): boolean {
  return policy.denies.some((deny) => {
    if (deny.principal !== 'everyone' && !subjects.has(deny.principal.id)) return false
    if (deny.excludedPrincipalIds.some((id) => subjects.has(id))) return false
    if (deny.scope !== '/' && isRootOwner(policy, subjects, at)) return false
    if (deny.expiresAt !== undefined && at >= deny.expiresAt) return false
    if (!contains(deny.scope, scope)) return false
    return matches(definition(action)?.isData ? deny.dataActions : deny.actions, action)
  })
}

/** Owners of the platform are exempt from denies below the root. */
function isRootOwner(policy: NaivePolicy, subjects: Set<string>, at: number): boolean {
  return policy.assignments.some(
    ({ principalId, roleName, scope, expiresAt }) =>
      subjects.has(principalId) && roleName === 'Owner' && scope === '/' && (expiresAt === undefined || at < expiresAt),
  )
}

function groupsHolding(groups: readonly PrincipalGroup[], id: string, seen = new Set<string>()): Set<string> {
  for (const group of groups) {
    if (!group.memberIds.includes(id) || seen.has(group.id)) continue
    seen.add(group.id)
    groupsHolding(groups, group.id, seen)
  }
  return seen
}

function contains(outer: string, inner: string): boolean {
  const outside = outer.split('/').filter((segment) => segment !== '')
  const inside = inner.split('/').filter((segment) => segment !== '')
  return outside.every((segment, index) => inside[index] === segment)
}

function matches(patterns: readonly string[], action: string): boolean {
  return patterns.some((pattern) => {
    const wanted = pattern.split('/')
    const given = action.split('/')
    if (pattern === '*') return true
    if (wanted.at(-1) === '*') {
      const head = wanted.slice(0, -1)
      return given.length > head.length && head.every((segment, index) => given[index] === segment)
    }
    if (wanted[0] === '*') {
      const tail = wanted.slice(1)
      return (
        given.length > tail.length &&
        tail.every((segment, index) => given[given.length - tail.length + index] === segment)
      )
    }
    return pattern === action
  })
}

function definition(action: string) {
  return ACTIONS.find((each) => each.name === action)
}
