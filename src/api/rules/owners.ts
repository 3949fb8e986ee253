import { INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { formatScope, type Scope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { namesCurrentPrincipal } from '../../crds/principals.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { expandMembers, type Memberships } from '../../iam/groups.ts'
import type { Services } from '../http/context.ts'
import { assignmentIdOf, groupsIn, isInForce, OWNER_ROLE, principalLookup } from './grants.ts'

/** An assignment of the Owner role; `until` is infinite if it does not end. */
export type OwnerAssignment = { readonly id: string; readonly principalId: string; readonly until: number }

/** Returns the Owner assignments at exactly this scope; for a boundary also its initial owner until it has one. */
export async function ownersAt(services: Services, scope: Scope): Promise<OwnerAssignment[]> {
  const isBoundary = scope.level === 'boundary'
  const namespace = isBoundary ? boundaryNamespace(scope.boundaryId) : SYSTEM_NAMESPACE
  const text = isBoundary ? formatScope(scope) : '/'
  // From the API server, because what another replica has just accepted must count.
  const all = await services.records.list(RoleAssignment, { namespace }, { fresh: true })
  const owners = all
    .filter(({ spec }) => spec.roleDefinitionName === OWNER_ROLE && spec.scope === text)
    .filter((assignment) => isInForce(services, assignment))
    .map((assignment) => ({
      id: assignmentIdOf(assignment),
      principalId: assignment.spec.principalId,
      until: expiryTimeOf(assignment.spec.expiresAt),
    }))
  const boundary = isBoundary ? services.records.peek(Boundary, { name: scope.boundaryId }) : undefined
  const isWritten = boundary?.metadata.annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] !== undefined
  const first = isWritten ? undefined : boundary?.spec.initialOwner
  if (boundary === undefined || first === undefined) return owners
  if (!namesCurrentPrincipal(principalLookup(services), boundary, first.principalId)) return owners
  return [...owners, { id: 'initial-owner', principalId: first.principalId, until: Number.POSITIVE_INFINITY }]
}

/** When something ends: milliseconds since the epoch, infinity if never. */
export function expiryTimeOf(expiresAt: string | null | undefined): number {
  return typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.POSITIVE_INFINITY
}

/** Everybody who acts as Owner of the scope: people and service accounts that exist and are enabled. */
export async function actingOwners(services: Services, scope: Scope): Promise<Set<string>> {
  const actors = await actorsBehind(services, scope, await ownersAt(services, scope))
  return new Set([...actors.values()].flat())
}

/** By the principal of each owner: the people and service accounts behind it that can sign in. */
export async function actorsBehind(
  services: Services,
  scope: Scope,
  owners: readonly OwnerAssignment[],
  memberships?: Memberships,
): Promise<Map<string, string[]>> {
  const boundaryId = scope.level === 'root' ? undefined : scope.boundaryId
  const groups = memberships ?? groupsIn(services, boundaryId)
  const members = new Map(owners.map(({ principalId }) => [principalId, expandMembers(principalId, groups)]))
  const known = await services.principals.find(
    [...members.values()].flatMap((ids) => [...ids]),
    boundaryId,
  )
  const isActor = (id: string) => known.get(id)?.isEnabled === true && known.get(id)?.principalType !== 'Group'
  return new Map([...members].map(([id, everyone]) => [id, [...everyone].filter(isActor)]))
}
