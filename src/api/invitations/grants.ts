import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { isRootOnly, type Role } from '../../iam/roles.ts'
import type { Caller, Services } from '../http/context.ts'
import { exceedingRefused, grantRefusal, isInForce, objectAt, rootOnlyRefused } from '../rules/grants.ts'

/** @throws PlatformError invalid_state for what is no scope, lies outside the boundary, or does not suit the role */
export function invitedScope(text: string, boundaryId: string, role: Role): Scope {
  const scope = parseScope(text)
  if (scope === undefined) throw new PlatformError('invalid_state', 'The scope is not written as one.')
  if (isRootOnly(role)) {
    if (scope.level === 'root') return scope
    throw new PlatformError('invalid_state', `The role "${role.displayName}" exists at the scope / only.`)
  }
  if (scopeContains({ level: 'boundary', boundaryId }, scope)) return scope
  throw new PlatformError('invalid_state', 'The scope lies outside the boundary.')
}

/**
 * Nobody hands on what they do not hold. A role at the root takes the right to give roles there as well: the route asked
 * for the right to invite at the boundary only.
 *
 * @param invitee undefined for somebody who has no account yet, and so is not the caller
 * @throws PlatformError forbidden
 */
export function requireGrantRights(
  services: Services,
  caller: Caller,
  invitee: string | undefined,
  role: Role,
  boundaryId: string,
  scope: string,
): void {
  const principalIds = invitee === undefined ? [] : [invitee]
  const refusal = grantRefusal(services, caller, { role, scope, principalIds, boundaryId })
  const mayGiveAtRoot = () => services.access.isAllowed(caller.principalId, 'rbac/members/write', scope)
  if (refusal?.kind === 'RootOnly' || (scope === '/' && !mayGiveAtRoot())) throw rootOnlyRefused(role, scope)
  if (refusal !== undefined) throw exceedingRefused('forbidden', role, scope, refusal.actions)
}

/** @throws PlatformError invalid_state */
export function requireSomethingAt({ records }: Services, scope: Scope): void {
  if (scope.level === 'root' || objectAt(records, scope) !== undefined) return
  throw new PlatformError('invalid_state', 'There is nothing at the scope.')
}

/** Where an assignment at the scope stands. */
export function assignmentNamespace(scope: Scope): string {
  return scope.level === 'root' ? SYSTEM_NAMESPACE : boundaryNamespace(scope.boundaryId)
}

/** Whether the principal was given the role at the scope directly, and still has it. */
export function holdsDirectly(
  services: Services,
  principalId: string,
  role: string,
  scope: Scope,
  text: string,
): boolean {
  return services.records
    .peekAll(RoleAssignment, { namespace: assignmentNamespace(scope) })
    .filter(({ spec }) => spec.principalId === principalId && spec.roleDefinitionName === role && spec.scope === text)
    .some((assignment) => isInForce(services, assignment))
}
