import { z } from 'zod'
import { BINDING_LABEL } from '../../contracts/sso.ts'
import { ignoreNotFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, scopeContains } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { Uuid } from '../../crds/fields.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { BoundaryTrust, PlatformTenant, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { IdpBinding } from '../../crds/sso.ts'
import { expandMembers } from '../../iam/groups.ts'
import { invitationStateAt, isInvitationOpen } from '../../iam/invitations.ts'
import type { BoundaryRecord } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Caller, Services } from '../http/context.ts'
import { refuseStale, type SeenVersion } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { Uuid as UuidDto } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { boundaryLock, withChangeLock } from '../rules/changeLocks.ts'
import { refuseUngoverned } from '../rules/governing.ts'
import { assignmentIdOf, groupsIn, isInForce, isPastExpiry, removeAssignments } from '../rules/grants.ts'
import { noTenant, withTenantLock } from '../rules/tenants.ts'

const BoundaryTenantMoveRequest = strictRecord('BoundaryTenantMoveRequest', {
  tenantId: Uuid.nullable().describe('Null detaches'),
  fromTenantId: Uuid.nullish().describe('Refused where the boundary belongs to another one'),
})

const BoundaryTenantMoveResult = namedRecord('BoundaryTenantMoveResult', {
  boundaryId: UuidDto,
  tenantId: UuidDto.nullable(),
  movedAssignments: z.int(),
  removedAssignments: z.int(),
})

export type TenantMove = { boundary: BoundaryRecord; movedAssignments: number; removedAssignments: number }

/** @throws PlatformError with the code if the tenant does not exist */
export function checkTenant(
  services: Services,
  tenantId: string | undefined,
  code: 'TENANT_NOT_FOUND' | 'tenant_not_found',
): void {
  if (tenantId === undefined || services.records.peek(PlatformTenant, { name: tenantId }) !== undefined) return
  throw noTenant(tenantId, code)
}

/**
 * Moves a boundary to another tenant, or detaches it. People outside the new tenant lose their assignments in the
 * boundary and their membership in its groups, unless a trust covers them; service accounts stay. Bindings of other
 * tenants into the boundary are deleted. All removals precede the move, so that repeating the request after a failure
 * completes it.
 * @param lastOwner the error code if nobody inside the new tenant could act as Owner
 */
export async function moveTenant(
  services: Services,
  caller: Caller,
  { boundaryId, tenantId, ifMatch, lastOwner }: Move,
): Promise<TenantMove> {
  return withChangeLock(services, boundaryLock(boundaryId), async () => {
    const namespace = boundaryNamespace(boundaryId)
    const found = await foreignPrincipals(services, boundaryId, tenantId)
    const removed = new Set(found.assignments.map(assignmentIdOf))
    const groups = new Map(groupsIn(services, boundaryId))
    for (const { name, memberIds } of found.groups) groups.set(name, memberIds)
    await refuseUngoverned(services, { level: 'boundary', boundaryId }, { removed, groups }, lastOwner, { tenantId })
    // Before anything is removed, so that a request refused for a stale version changes nothing.
    refuseStale([await findBoundary({ services }, boundaryId, { fresh: true })], ifMatch)
    // First, because a binding would recreate its assignments at the next sign-in.
    for (const { metadata } of found.bindings) {
      const ref = { namespace: SYSTEM_NAMESPACE, name: metadata.name }
      await services.records.remove(IdpBinding, ref, { caller }).catch(ignoreNotFound)
    }
    await removeAssignments(services, caller, found.assignments)
    for (const { name } of found.groups) {
      const change = ({ spec }: RecordOf<typeof PrincipalGroup>) => ({
        ...spec,
        memberIds: found.withoutOutsiders(spec.memberIds),
      })
      await services.records.update(PrincipalGroup, { namespace, name }, { caller, change }).catch(ignoreNotFound)
    }
    await removeInvitations(services, caller, namespace, tenantId)
    const object = await changeTenant(services, caller, { boundaryId, tenantId, lastOwner })
    const removedAssignments = removed.size
    return { boundary: object, movedAssignments: found.total - removedAssignments, removedAssignments }
  })
}

async function changeTenant(
  { records }: Services,
  caller: Caller,
  { boundaryId, tenantId, lastOwner }: Move,
): Promise<BoundaryRecord> {
  const change = async () => {
    const { object } = await records.update(
      Boundary,
      { name: boundaryId },
      {
        caller,
        change: (stored) => {
          refuseWhileDeleting(stored)
          const { tenantId: _before, ...rest } = stored.spec
          return tenantId === undefined ? rest : { ...rest, tenantId }
        },
      },
    )
    return object
  }
  if (tenantId === undefined) return change()
  const moved = await withTenantLock({ records }, tenantId, change)
  if (moved !== undefined) return moved
  throw noTenant(tenantId, lastOwner === 'LAST_OWNER' ? 'TENANT_NOT_FOUND' : 'tenant_not_found')
}

type Move = {
  boundaryId: string
  tenantId: string | undefined
  ifMatch?: readonly SeenVersion[] | undefined
  lastOwner: 'LAST_OWNER' | 'last_owner'
}

/** Removes open invitations of other tenants: nobody could accept them, and they would block new ones. */
async function removeInvitations(
  { records, clock }: Services,
  caller: Caller,
  namespace: string,
  tenantId: string | undefined,
): Promise<void> {
  for (const { metadata, spec } of await records.list(MemberInvitation, { namespace }, { fresh: true })) {
    if (
      spec.tenantId === undefined ||
      spec.tenantId === tenantId ||
      !isInvitationOpen(invitationStateAt(spec, clock.now()))
    )
      continue
    await records.remove(MemberInvitation, { namespace, name: metadata.name }, { caller }).catch(ignoreNotFound)
  }
}

type Binding = RecordOf<typeof IdpBinding>

/** Returns the bindings by which people of other tenants get access in the boundary at each sign-in. */
async function bindingsOfOthers(
  { records }: Services,
  boundaryId: string,
  tenantId: string | undefined,
  groups: ReadonlySet<string>,
): Promise<Binding[]> {
  if (tenantId === undefined) return []
  const all = await records.list(IdpBinding, { namespace: SYSTEM_NAMESPACE }, { fresh: true })
  const isInside = ({ groupId, scope }: Binding['spec']) => {
    const place = scope === undefined ? undefined : parseScope(scope)
    const isIn = place !== undefined && scopeContains({ level: 'boundary', boundaryId }, place)
    return isIn || (groupId !== undefined && groups.has(groupId))
  }
  return all.filter(({ spec }) => spec.tenantId !== tenantId && isInside(spec))
}

/**
 * Returns what people outside the tenant hold in the boundary: bindings with their assignments, other assignments, and
 * the groups that would shrink.
 */
async function foreignPrincipals(services: Services, boundaryId: string, tenantId: string | undefined) {
  const namespace = boundaryNamespace(boundaryId)
  const [assignments, groups] = await Promise.all([
    services.records.list(RoleAssignment, { namespace }, { fresh: true }),
    services.records.list(PrincipalGroup, { namespace }, { fresh: true }),
  ])
  const groupNames = new Set(groups.map(({ metadata }) => metadata.name))
  const bindings = await bindingsOfOthers(services, boundaryId, tenantId, groupNames)
  const bindingNames = new Set(bindings.map(({ metadata }) => metadata.name))
  const isBound = ({ metadata }: (typeof assignments)[number]) =>
    bindingNames.has(metadata.labels?.[BINDING_LABEL] ?? '')
  const memberships = groupsIn(services, boundaryId)
  const principalIds = new Set([
    ...assignments.map(({ spec }) => spec.principalId),
    ...groups.flatMap(({ spec }) => spec.memberIds),
  ])
  const nested = new Map(
    [...principalIds].map((id) => [id, groupNames.has(id) ? [] : [...expandMembers(id, memberships)]]),
  )
  const nestedMembers = (id: string) => nested.get(id) ?? []
  const ids = [...principalIds].flatMap((id) => [id, ...nestedMembers(id)])
  const known = await services.principals.find(ids, boundaryId)
  const trustedIds = trustedPeople(services, boundaryId)
  const isOutsider = (id: string, type = known.get(id)?.principalType) =>
    tenantId !== undefined && type === 'User' && !trustedIds.has(id) && !known.get(id)?.tenantIds.includes(tenantId)
  // A platform group cannot be changed for one boundary, so it loses its access if it has any outsider.
  const losesAccess = (id: string, type?: 'User' | 'Group' | 'ServicePrincipal') =>
    isOutsider(id, type) || nestedMembers(id).some((member) => isOutsider(member))
  const withoutOutsiders = (memberIds: readonly string[]) => memberIds.filter((id) => !losesAccess(id))
  return {
    total: assignments.length,
    bindings,
    assignments: assignments.filter((one) => isBound(one) || losesAccess(one.spec.principalId, one.spec.principalType)),
    groups: groups
      .map(({ metadata, spec }) => ({
        name: metadata.name,
        before: spec.memberIds,
        memberIds: withoutOutsiders(spec.memberIds),
      }))
      .filter(({ before, memberIds }) => memberIds.length < before.length),
    withoutOutsiders,
  }
}

/** Returns the principals with an assignment in a boundary that this one trusts, directly or through a group. */
function trustedPeople(services: Services, boundaryId: string): Set<string> {
  const trusts = services.records
    .peekAll(BoundaryTrust, { namespace: SYSTEM_NAMESPACE })
    .filter(({ spec }) => !isPastExpiry(spec.expiresAt, services.clock))
  const trusted = trusts.flatMap(({ spec }) => {
    if (spec.boundaryId === boundaryId) return [spec.trustedBoundaryId]
    return spec.bidirectional && spec.trustedBoundaryId === boundaryId ? [spec.boundaryId] : []
  })
  const people = trusted.flatMap((id) => {
    const groups = groupsIn(services, id)
    const assignments = services.records.peekAll(RoleAssignment, { namespace: boundaryNamespace(id) })
    const holders = new Set(assignments.filter((one) => isInForce(services, one)).map(({ spec }) => spec.principalId))
    return [...holders].flatMap((holder) => [...expandMembers(holder, groups)])
  })
  return new Set(people)
}

export const tenantMoveRoutes: readonly RouteDraft[] = [
  route('POST', '{B}/providers/authorization/tenant-move', {
    auth: action('boundaries/tenant/admin'),
    scope: 'root',
    isHeld: true,
    summary: 'Move the boundary to another tenant and remove the rights of people outside it',
    body: BoundaryTenantMoveRequest,
    reply: BoundaryTenantMoveResult,
    handler: async (context) => {
      const { services, caller, body, ifMatch, parameters } = context
      const { boundaryId } = parameters
      const boundary = await findBoundary(context, boundaryId)
      refuseWhileDeleting(boundary)
      const tenantId = body.tenantId ?? undefined
      checkTenant(services, tenantId, 'tenant_not_found')
      if (body.fromTenantId !== undefined && body.fromTenantId !== (boundary.spec.tenantId ?? null)) {
        const current = boundary.spec.tenantId ?? null
        throw new PlatformError('conflict', 'The boundary belongs to a different tenant than the request says.', {
          tenantId: current,
        })
      }
      const { movedAssignments, removedAssignments } = await moveTenant(services, caller, {
        boundaryId,
        tenantId,
        ifMatch,
        lastOwner: 'last_owner',
      })
      return ok({ boundaryId, tenantId: tenantId ?? null, movedAssignments, removedAssignments })
    },
  }),
]
