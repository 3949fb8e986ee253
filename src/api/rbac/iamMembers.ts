import { z } from 'zod'
import { ignoreNotFound, notFound } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { DenyAssignment, JitRequest, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import type { Memberships } from '../../iam/groups.ts'
import { invitationStateAt, isInvitationOpen, isSameAddress } from '../../iam/invitations.ts'
import { noContent } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { refuseStale } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { boundaryLock, withChangeLock } from '../rules/changeLocks.ts'
import { refuseEscapingDenies } from '../rules/denies.ts'
import { refuseUngoverned } from '../rules/governing.ts'
import { assignmentIdOf, groupsIn, removeAssignments } from '../rules/grants.ts'
import { BoundaryMemberDto, membersOf, PRINCIPAL_TYPES } from '../rules/memberRecord.ts'

const IamMemberDto = namedRecord('IamMemberDto', {
  userId: Uuid,
  displayName: z.string(),
  email: z.string().nullable(),
  principalType: z.enum(PRINCIPAL_TYPES),
  isEnabled: z.boolean(),
  lastSignInAt: DateTime.nullable(),
  assignments: z.array(BoundaryMemberDto),
  groups: z.array(namedRecord('IamMemberGroup', { id: Uuid, displayName: z.string() })),
  denies: z.int().describe('Denies of the boundary that name the person'),
})
type IamMemberDto = z.output<typeof IamMemberDto>

/** Returns people and service accounts with an assignment or a group here. Inherited ones alone do not count. */
async function peopleOf(context: Context<'boundaryId'>): Promise<IamMemberDto[]> {
  const { services, parameters } = context
  const { boundaryId } = parameters
  const namespace = boundaryNamespace(boundaryId)
  const assignments = await membersOf(context, boundaryId)
  const groups = services.records.peekAll(PrincipalGroup, { namespace })
  const denies = services.records.peekAll(DenyAssignment, { namespace })
  const ids = new Set([
    ...assignments.filter(({ isInherited }) => !isInherited).map(({ principalId }) => principalId),
    ...groups.flatMap(({ spec }) => spec.memberIds),
  ])
  const known = await services.principals.find(ids, boundaryId)
  const assignmentsOf = Map.groupBy(assignments, ({ principalId }) => principalId)
  const deniesOf = Map.groupBy(denies, ({ spec }) => spec.principalId)
  const groupsOf = Map.groupBy(
    groups.flatMap(({ metadata, spec }) =>
      [...new Set(spec.memberIds)].map((memberId) => ({
        memberId,
        shown: { id: metadata.name, displayName: spec.displayName },
      })),
    ),
    ({ memberId }) => memberId,
  )
  return [...ids].flatMap((userId) => {
    const principal = known.get(userId)
    const own = assignmentsOf.get(userId) ?? []
    const principalType = principal?.principalType ?? own[0]?.principalType ?? 'User'
    if (principalType === 'Group') return []
    return {
      userId,
      displayName: principal?.displayName ?? userId,
      email: principal?.email ?? null,
      principalType,
      isEnabled: principal?.isEnabled ?? false,
      lastSignInAt: principal?.lastSignInAt ?? null,
      assignments: own,
      groups: (groupsOf.get(userId) ?? []).map(({ shown }) => shown),
      denies: deniesOf.get(userId)?.length ?? 0,
    }
  })
}

/**
 * Removes every assignment, membership and open request of a person in the boundary. A row stands for many objects:
 * If-Match names a version of one of them.
 * @throws PlatformError NOT_FOUND (not a member), CONFLICT, forbidden (leaving a group would evade a deny of their
 * own), last_owner
 */
async function removePerson({ services, caller, ifMatch, parameters }: Context<'boundaryId' | 'userId'>) {
  const { boundaryId, userId } = parameters
  await findBoundary({ services }, boundaryId)
  const namespace = boundaryNamespace(boundaryId)
  const { records } = services
  return withChangeLock(services, boundaryLock(boundaryId), async () => {
    const assignments = (await records.list(RoleAssignment, { namespace }, { fresh: true })).filter(
      ({ spec }) => spec.principalId === userId && spec.principalType !== 'Group',
    )
    const groups = records.peekAll(PrincipalGroup, { namespace }).filter(({ spec }) => spec.memberIds.includes(userId))
    const isGroup = records.peek(PrincipalGroup, { namespace, name: userId }) !== undefined
    if (isGroup || assignments.length + groups.length === 0) {
      throw notFound(`Member "${userId}" of boundary "${boundaryId}"`)
    }
    refuseStale([...assignments, ...groups], ifMatch)
    const left = membershipsWithout(groupsIn(services, boundaryId), groups, userId)
    if (userId === caller.principalId) refuseEscapingDenies(services, caller, boundaryId, left)
    const after = { removed: new Set(assignments.map(assignmentIdOf)), groups: left }
    await refuseUngoverned(services, { level: 'boundary', boundaryId }, after, 'last_owner', { userId })
    await withdrawRequests(services, caller, namespace, userId)
    await removeAssignments(services, caller, assignments)
    for (const { metadata } of groups) {
      const ref = { namespace, name: metadata.name }
      const change = ({ spec }: (typeof groups)[number]) => ({
        ...spec,
        memberIds: spec.memberIds.filter((id) => id !== userId),
      })
      await records.update(PrincipalGroup, ref, { caller, change }).catch(ignoreNotFound)
    }
    return noContent()
  })
}

/** Returns the memberships without a person in these groups of the boundary. */
function membershipsWithout(
  memberships: Memberships,
  groups: readonly { metadata: { name: string } }[],
  userId: string,
): Memberships {
  const after = new Map(memberships)
  for (const { metadata } of groups) {
    after.set(
      metadata.name,
      (after.get(metadata.name) ?? []).filter((id) => id !== userId),
    )
  }
  return after
}

/**
 * Withdraws what could still become an assignment, before the assignments are removed: open requests, and open
 * invitations to the person's address, which would let them return at once.
 */
async function withdrawRequests(
  { records, principals, clock }: Context['services'],
  caller: Context['caller'],
  namespace: string,
  userId: string,
): Promise<void> {
  for (const { metadata, spec } of records.peekAll(JitRequest, { namespace })) {
    if (spec.principalId !== userId || (spec.decision !== undefined && spec.decision !== 'Approved')) continue
    await records.remove(JitRequest, { namespace, name: metadata.name }, { caller }).catch(ignoreNotFound)
  }
  const email = (await principals.find([userId])).get(userId)?.email
  for (const { metadata, spec } of records.peekAll(MemberInvitation, { namespace })) {
    const isOfUser = spec.accountId === userId || (email != null && isSameAddress(spec.email, email))
    if (!isOfUser || !isInvitationOpen(invitationStateAt(spec, clock.now()))) continue
    const change = (stored: { spec: object }) => ({ ...stored.spec, state: 'Revoked' })
    await records.update(MemberInvitation, { namespace, name: metadata.name }, { caller, change })
  }
}

export const iamMemberRoutes: readonly RouteDraft[] = [
  listRoute('{B}/iam/members', {
    auth: action('rbac/members/read'),
    summary: 'The people of the boundary, one row each',
    dto: IamMemberDto,
    columns: {
      displayName: text('Name', { isSearched: true }),
      email: text('E-mail', { isSorted: false, isSearched: true }),
      principalType: enumeration('Type', PRINCIPAL_TYPES, { isSorted: false }),
      lastSignInAt: dateTime('Last sign-in', { isFiltered: false }),
    },
    sort: 'displayName',
    name: 'displayName',
    id: 'userId',
    rows: async (context) => {
      await findBoundary(context, context.parameters.boundaryId ?? '')
      return peopleOf(context as Context<'boundaryId'>)
    },
  }),
  route('DELETE', '{B}/iam/members/{userId}', {
    auth: action('rbac/members/write'),
    summary: 'Remove all access of a person to the boundary',
    handler: removePerson,
  }),
]
