import { PlatformError } from '../../core/errors.ts'
import { boundaryIdOf, boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { namesCurrentPrincipal } from '../../crds/principals.ts'
import { RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { namesCurrentRole } from '../../crds/roleIncarnations.ts'
import { isRootOnly, type Role } from '../../iam/roles.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Services } from '../http/context.ts'
import {
  type Granter,
  incarnationAt,
  isInForce,
  knownRole,
  objectAt,
  principalLookup,
  refuseExceeding,
  rootOnlyRefused,
} from '../rules/grants.ts'
import type { InvitationRecord } from './record.ts'

const INVITE = 'boundaries/invitations/create'

/** @throws PlatformError invalid_state if the scope is invalid, outside the boundary, or not allowed for the role */
export function invitedScope(text: string, boundaryId: string, role: Role): Scope {
  const scope = parseScope(text)
  if (scope === undefined)
    throw new PlatformError(
      'invalid_state',
      'The scope is not valid: write it as /boundaries/<uuid>/resourcegroups/<name>.',
    )
  if (isRootOnly(role)) {
    if (scope.level === 'root') return scope
    throw new PlatformError('invalid_state', `The role "${role.displayName}" can be assigned at the scope / only.`)
  }
  if (scopeContains({ level: 'boundary', boundaryId }, scope)) return scope
  throw new PlatformError('invalid_state', 'The scope lies outside the boundary.')
}

/**
 * Nobody may grant what they do not hold. A role at the root also needs the right to grant roles there, because the
 * route only checked the right to invite at the boundary.
 * @param invitee undefined for somebody without an account, who therefore is not the caller
 * @throws PlatformError forbidden
 */
export function requireGrantRights(
  services: Services,
  caller: Granter,
  invitee: string | undefined,
  role: Role,
  boundaryId: string,
  scope: string,
): void {
  const principalIds = invitee === undefined ? [] : [invitee]
  const mayGiveAtRoot = () => services.access.isAllowed(caller.principalId, 'rbac/members/write', scope)
  if (scope === '/' && !mayGiveAtRoot()) throw rootOnlyRefused(role, scope)
  refuseExceeding(services, caller, { role, scope, principalIds, boundaryId }, 'forbidden')
  // The route checks the boundary only, and a deny may be below it.
  if (scope === '/' || services.access.isAllowed(caller.principalId, INVITE, scope)) return
  throw new PlatformError('forbidden', `The permission ${INVITE} is missing at ${scope}.`, { action: INVITE, scope })
}

/** @throws PlatformError invalid_state */
export function requireScopeExists({ records }: Services, scope: Scope): void {
  if (scope.level === 'root' || objectAt(records, scope) !== undefined) return
  throw new PlatformError('invalid_state', 'Nothing exists at the scope.')
}

/**
 * When an invitation is accepted, its role and scope must still exist, and the inviter must still be allowed to grant
 * it.
 * @throws PlatformError invalid_state
 */
export async function requireStillGrantable(
  services: Services,
  invitation: InvitationRecord,
  inviteeId: string,
): Promise<void> {
  const { spec } = invitation
  const { records, accounts } = services
  const role = knownRole(records, spec.roleDefinitionName)
  if (role === undefined || !namesCurrentRole(records.peekAll(RoleDefinition), invitation))
    throw invitationOutdated(`The role "${spec.roleDefinitionName}" no longer exists`)
  if (!scopeStillExists(services, invitation)) throw invitationOutdated(`What was at ${spec.scope} no longer exists`)
  const boundaryId = boundaryIdOf(invitation.metadata)
  const boundary = records.peek(Boundary, { name: boundaryId })
  const tenantId = boundary === undefined ? undefined : accounts.tenants.ofBoundary(boundary)
  if (spec.tenantId !== undefined && spec.tenantId !== tenantId)
    throw invitationOutdated('The boundary belongs to another tenant')
  const isSame = namesCurrentPrincipal(principalLookup(services), invitation, spec.invitedBy)
  if (!isSame || !(await mayStillInvite(services, spec.invitedBy, { inviteeId, role, boundaryId, scope: spec.scope })))
    throw invitationOutdated('The person who invited you may no longer give this role')
}

/** Returns whether the scope has the same incarnation as when the invitation was created. */
export function scopeStillExists(services: Services, { spec }: InvitationRecord): boolean {
  const scope = parseScope(spec.scope)
  if (scope === undefined || scope.level === 'root') return scope !== undefined
  return objectAt(services.records, scope) !== undefined && incarnationAt(services, scope) === spec.scopeIncarnation
}

export function invitationOutdated(why: string): PlatformError {
  return new PlatformError('invalid_state', `${why}: ask for a new invitation.`)
}

type OfferedRole = { inviteeId: string; role: Role; boundaryId: string; scope: string }

async function mayStillInvite(services: Services, inviterId: string, offered: OfferedRole): Promise<boolean> {
  const { inviteeId, role, boundaryId, scope } = offered
  const inviter = (await services.principals.find([inviterId])).get(inviterId)
  const mayInvite = () => services.access.isAllowed(inviterId, INVITE, boundaryScope(boundaryId))
  if (inviter?.isEnabled !== true || !mayInvite()) return false
  try {
    requireGrantRights(services, { principalId: inviterId }, inviteeId, role, boundaryId, scope)
    return true
  } catch (error) {
    if (error instanceof PlatformError) return false
    throw error
  }
}

/** Returns the namespace of an assignment at the scope. */
export function assignmentNamespace(scope: Scope): string {
  return scope.level === 'root' ? SYSTEM_NAMESPACE : boundaryNamespace(scope.boundaryId)
}

/** Returns whether the principal was granted the role at the scope directly, and still has it. */
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
