import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope } from '../../core/scope.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { isRootOnly, type Role } from '../../iam/roles.ts'
import { ofType, type Principal, type PrincipalType } from '../callers/principals.ts'
import { findVisiblePrincipals } from '../callers/visiblePeople.ts'
import type { Services } from '../http/context.ts'
import { refusePast } from './expiry.ts'
import { findRole, type Granter, isInForce, refuseExceeding, rootOnlyRefused } from './grants.ts'

export type NewAssignment = {
  principalId: string
  /** Looked up when absent. */
  principalType?: PrincipalType | undefined
  roleDefinitionName: string
  scope: string
  expiresAt?: string | undefined
  /** Absent at the root. */
  boundaryId?: string | undefined
}

/**
 * Checks the rules for assigning a role, for REST and kubectl alike; the first broken rule decides.
 *
 * @throws PlatformError unknown_role, forbidden, BAD_REQUEST, PRINCIPAL_NOT_FOUND, already_member, GRANT_EXCEEDS_CALLER
 */
export async function checkNewAssignment(
  services: Services,
  caller: Granter,
  wanted: NewAssignment,
): Promise<{ role: Role; principal: Principal }> {
  const { principalId, principalType, roleDefinitionName, scope, boundaryId } = wanted
  const role = findRole(services, roleDefinitionName)
  if (boundaryId !== undefined && isRootOnly(role)) throw rootOnlyRefused(role, scope)
  refusePast(services.clock.now(), 'expiresAt', wanted)
  const known = (await findVisiblePrincipals(services, caller, [principalId], boundaryId)).get(principalId)
  const principal = ofType(known, principalType)
  if (principal === undefined) {
    const message = `No ${principalType ?? 'principal'} has the id "${principalId}".`
    throw new PlatformError('PRINCIPAL_NOT_FOUND', message, { principalId })
  }
  const namespace = boundaryId === undefined ? SYSTEM_NAMESPACE : boundaryNamespace(boundaryId)
  const present = services.records
    .peekAll(RoleAssignment, { namespace })
    .filter(({ spec }) => spec.principalId === principalId && spec.scope === scope)
    .some((one) => one.spec.roleDefinitionName === role.displayName && isInForce(services, one))
  if (present) throw alreadyMember(principalId, role.displayName, scope)
  const grant = { role, scope, principalIds: [principalId], boundaryId }
  refuseExceeding(services, caller, grant, 'GRANT_EXCEEDS_CALLER')
  return { role, principal }
}

export function alreadyMember(principalId: string, role: string, scope: string): PlatformError {
  const message = `"${principalId}" already holds the role "${role}" at ${scope}.`
  return new PlatformError('already_member', message, { principalId, roleDefinitionName: role, scope })
}

/** The permission that assigning a role requires, by the level of its scope; for resources the one of their group. */
const GRANT_ACTIONS = {
  root: 'rbac/members/admin',
  boundary: 'boundaries/members/manage',
  resourceGroup: 'rbac/members/write',
  resource: 'rbac/members/write',
} as const

/**
 * Returns why the caller may give the role to nobody at the scope; undefined if it may be assigned. The API server asks
 * this as the virtual verb `grant`, without a principal: a Platform Owner's grant to themselves is refused later.
 */
export function grantRefusalMessage(
  services: Services,
  { principalId }: Granter,
  roleName: string,
  scope: string,
): string | undefined {
  const action = GRANT_ACTIONS[parseScope(scope)?.level ?? 'root']
  if (!services.access.isAllowed(principalId, action, scope)) return `The permission ${action} is missing at ${scope}.`
  try {
    const role = findRole(services, roleName)
    if (scope !== '/' && isRootOnly(role)) throw rootOnlyRefused(role, scope)
    refuseExceeding(services, { principalId }, { role, scope, principalIds: [] }, 'GRANT_EXCEEDS_CALLER')
    return undefined
  } catch (error) {
    if (error instanceof PlatformError) return error.message
    throw error
  }
}
