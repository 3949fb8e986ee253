import { z } from 'zod'
import { notFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { Uuid } from '../../crds/fields.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { created, noContent } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { GRANT_RIGHTS } from '../http/furtherRights.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { listWithConfig } from '../resources/collection/columns.ts'
import { findBoundary } from '../resources/find.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { alreadyMember, checkNewAssignment } from '../rules/assignments.ts'
import { boundaryLock, withChangeLock } from '../rules/changeLocks.ts'
import { refuseUngoverned } from '../rules/governing.ts'
import { assignmentIdOf, writeAssignment } from '../rules/grants.ts'
import {
  BoundaryMemberDto,
  MEMBER_ORIGINS,
  memberDto,
  membersOf,
  PRINCIPAL_TYPES,
  RoleName,
} from '../rules/memberRecord.ts'

const AddBoundaryMemberRequest = strictRecord('AddBoundaryMemberRequest', {
  principalId: Uuid.describe('Id of the person, service account or group that gets the role'),
  principalType: z.enum(PRINCIPAL_TYPES).nullish().describe('Looked up when absent'),
  roleDefinitionName: RoleName,
})

/** @throws PlatformError unknown_role, forbidden, PRINCIPAL_NOT_FOUND, already_member, GRANT_EXCEEDS_CALLER; first wins */
async function addMember(context: Context<'boundaryId', unknown, z.output<typeof AddBoundaryMemberRequest>>) {
  const { services, caller, body, parameters } = context
  const { boundaryId } = parameters
  refuseWhileDeleting(await findBoundary(context, boundaryId))
  const scope = boundaryScope(boundaryId)
  const { principalId, roleDefinitionName } = body
  const wanted = { principalId, principalType: body.principalType ?? undefined, roleDefinitionName, scope, boundaryId }
  const { role, principal } = await checkNewAssignment(services, caller, wanted)
  const { principalType } = principal
  const { object, isNew } = await writeAssignment(services, caller, { principalId, principalType, role, scope })
  if (!isNew) throw alreadyMember(principalId, role.displayName, scope)
  return created(memberDto(boundaryId, object, principal), { etag: etagOf(object) })
}

/** @throws PlatformError NOT_FOUND, INHERITED_ASSIGNMENT, LAST_OWNER */
async function removeMember(context: Context<'boundaryId' | 'assignmentId'>) {
  const { services, caller, ifMatch, parameters } = context
  const { boundaryId, assignmentId } = parameters
  await findBoundary(context, boundaryId)
  return withChangeLock(services, boundaryLock(boundaryId), async () => {
    const assignmentIn = (namespace: string) =>
      services.records.peekAll(RoleAssignment, { namespace }).find((one) => assignmentIdOf(one) === assignmentId)
    const found = assignmentIn(boundaryNamespace(boundaryId))
    if (found === undefined) {
      const rootAssignment = assignmentIn(SYSTEM_NAMESPACE)
      if (rootAssignment === undefined) throw notFound(`Assignment "${assignmentId}" of boundary "${boundaryId}"`)
      const message = `The assignment "${assignmentId}" was made above the boundary: remove it at ${rootAssignment.spec.scope}.`
      throw new PlatformError('INHERITED_ASSIGNMENT', message, { scope: rootAssignment.spec.scope })
    }
    const removal = { removed: new Set([assignmentId]) }
    await refuseUngoverned(services, { level: 'boundary', boundaryId }, removal, 'LAST_OWNER', { assignmentId })
    await services.records.remove(RoleAssignment, refOf(found), { caller, ifMatch })
    return noContent()
  })
}

// Not a `collection`: a member is an assignment with its principal, which may be inherited.
export const memberRoutes: readonly RouteDraft[] = [
  ...listWithConfig('{B}/members', {
    auth: action('boundaries/members/read'),
    dto: BoundaryMemberDto,
    columns: {
      displayName: text('Name', { isFiltered: false, isSearched: true }),
      email: text('E-mail', { isSearched: true }),
      principalType: enumeration('Type', PRINCIPAL_TYPES, { isSorted: false }),
      roleDefinitionName: text('Role'),
      origin: enumeration('Origin', MEMBER_ORIGINS, { isSorted: false }),
      scope: text('Scope', { isSorted: false }),
      createdAt: dateTime('Created', { isFiltered: false }),
    },
    sort: 'displayName',
    name: 'displayName',
    id: 'assignmentId',
    summary: 'Every assignment that reaches into the boundary',
    rows: async (context) => {
      const { metadata } = await findBoundary(context, context.parameters.boundaryId ?? '')
      return membersOf(context, metadata.name)
    },
    collection: 'members',
    actionPrefix: 'boundaries/members',
    before: (context) => findBoundary(context, context.parameters.boundaryId ?? ''),
  }),
  route('POST', '{B}/members', {
    auth: action('boundaries/members/manage'),
    further: GRANT_RIGHTS,
    summary: 'Give somebody a role at the boundary',
    body: AddBoundaryMemberRequest,
    reply: BoundaryMemberDto,
    handler: addMember,
  }),
  route('DELETE', '{B}/members/{assignmentId}', {
    auth: action('boundaries/members/manage'),
    summary: 'Remove a role from somebody',
    handler: removeMember,
  }),
]
