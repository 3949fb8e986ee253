import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { unreadableFields } from '../../core/errors.ts'
import { Description, DisplayName, Uuid } from '../../crds/fields.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import { refuseStale } from '../http/etag.ts'
import { GRANT_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { type BoundaryParent, inBoundary } from '../resources/collection/parents.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { dateTime, text } from '../resources/paging.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { withIgnoredReadFields } from '../resources/writtenBody.ts'
import { boundaryLock, withChangeLock } from '../rules/changeLocks.ts'
import { refuseEscapingDenies } from '../rules/denies.ts'
import { refuseDenyingRootOwners, refuseUngoverned } from '../rules/governing.ts'
import { assignmentIdOf, groupsIn, isInForce, removeAssignments, roleToGive, writeAssignment } from '../rules/grants.ts'
import { checkMembers, refuseTakenName, refuseWidening } from '../rules/groups.ts'
import { RoleName } from '../rules/memberRecord.ts'

type GroupRecord = RecordOf<typeof PrincipalGroup>

const CreateBoundaryGroupRequest = strictRecord('CreateBoundaryGroupRequest', {
  displayName: DisplayName.describe('Unique in the boundary'),
  description: Description.nullish(),
  memberIds: z.array(Uuid).max(1000).default([]).describe('People, service accounts and groups'),
  roleDefinitionName: RoleName.nullish().describe('Given to the group at the boundary'),
})

const BoundaryGroupDto = namedRecord('BoundaryGroupDto', {
  id: UuidDto,
  boundaryId: UuidDto,
  displayName: z.string(),
  description: z.string().nullable(),
  memberIds: z.array(UuidDto),
  memberCount: z.int(),
  roleDefinitionName: z.string().nullable().describe('The role that it was made with'),
  createdAt: DateTime,
})

const UpdateBoundaryGroupRequest = strictRecord('UpdateBoundaryGroupRequest', {
  displayName: DisplayName.nullish().describe('Unique in the boundary'),
  description: Description.nullish(),
  memberIds: z.array(Uuid).max(1000).nullish().describe('All members from now on; null leaves none'),
})
/** Null is accepted here, so that it can be refused with a better message: a group must have a name. */
const DocumentedUpdate = withIgnoredReadFields(
  strictRecord('UpdateBoundaryGroupRequest', {
    ...UpdateBoundaryGroupRequest.shape,
    displayName: DisplayName.optional().describe('Unique in the boundary'),
  }),
  BoundaryGroupDto,
)
type Change = Context<string, unknown, z.output<typeof UpdateBoundaryGroupRequest>>

/** Returns the role that each group has at the boundary itself; of several, the first by name. */
function rolesByGroup(services: Services, { namespace, boundaryId }: BoundaryParent) {
  const roles = new Map<string, string>()
  for (const assignment of services.records.peekAll(RoleAssignment, { namespace })) {
    const { principalId, roleDefinitionName, scope } = assignment.spec
    if (scope !== boundaryScope(boundaryId) || !isInForce(services, assignment)) continue
    const known = roles.get(principalId)
    if (known === undefined || roleDefinitionName < known) roles.set(principalId, roleDefinitionName)
  }
  return roles
}

type Create = Context<string, unknown, z.output<typeof CreateBoundaryGroupRequest>>

/** @throws PlatformError unknown_role, forbidden, principal_not_found, group_cycle, already_exists */
async function makeGroup(context: Create, { boundaryId, namespace }: BoundaryParent) {
  const { services, caller, body } = context
  const scope = boundaryScope(boundaryId)
  // A role of a group is granted to all its members.
  const gaining = { scope, principalIds: body.memberIds, boundaryId }
  const role = roleToGive(services, caller, body.roleDefinitionName, gaining)
  const memberIds = [...new Set(body.memberIds)]
  const id = randomUUID()
  await checkMembers(services, caller, boundaryId, { id, memberIds, added: memberIds })
  return withChangeLock(services, boundaryLock(boundaryId), async () => {
    const { displayName, description } = body
    refuseTakenName(services, boundaryId, { id, displayName })
    // The assignment first: without its group it grants nothing, but a group without its role was not requested.
    const grant = { principalId: id, principalType: 'Group' as const, scope }
    const assignment = role === undefined ? undefined : await writeAssignment(services, caller, { ...grant, role })
    try {
      const spec = { displayName, description: description ?? '', memberIds }
      return await services.records.create(PrincipalGroup, { namespace, name: id, spec, caller })
    } catch (error) {
      if (assignment !== undefined) await removeAssignments(services, caller, [assignment.object])
      throw error
    }
  })
}

/** @throws PlatformError principal_not_found, group_cycle, forbidden, lockout, last_owner, already_exists */
async function checkChange(
  { services, caller, body }: Change,
  group: GroupRecord,
  parent: BoundaryParent,
): Promise<void> {
  refuseWhileDeleting(parent.owner)
  if (body.displayName === null) throw unreadableFields([{ field: 'displayName', message: 'must be a string' }])
  const { boundaryId } = parent
  const id = group.metadata.name
  if (body.memberIds !== undefined) {
    const memberIds = [...new Set(body.memberIds ?? [])]
    const present = new Set(group.spec.memberIds)
    const added = memberIds.filter((member) => !present.has(member))
    await checkMembers(services, caller, boundaryId, { id, memberIds, added })
    const groups = new Map(groupsIn(services, boundaryId)).set(id, memberIds)
    refuseWidening(services, caller, boundaryId, { id, added, groups }, 'forbidden')
    refuseEscapingDenies(services, caller, boundaryId, groups)
    await refuseDenyingRootOwners(services, boundaryId, groups)
    await refuseUngoverned(services, { level: 'boundary', boundaryId }, { groups }, 'last_owner', { groupId: id })
  }
  if (body.displayName !== undefined) refuseTakenName(services, boundaryId, { id, displayName: body.displayName })
}

/**
 * Deletes its assignments first, so that none is left without a principal.
 * @returns true: If-Match has been checked
 * @throws PlatformError forbidden, last_owner, lockout, CONFLICT
 */
async function beforeRemoval(
  { services, caller, ifMatch }: Context,
  group: GroupRecord,
  parent: BoundaryParent,
): Promise<true> {
  const { namespace, boundaryId } = parent
  const groupId = group.metadata.name
  const groups = new Map(groupsIn(services, boundaryId)).set(groupId, [])
  const all = await services.records.list(RoleAssignment, { namespace }, { fresh: true })
  const own = all.filter(({ spec }) => spec.principalId === groupId)
  refuseEscapingDenies(services, caller, boundaryId, groups)
  const after = { removed: new Set(own.map(assignmentIdOf)), groups }
  await refuseUngoverned(services, { level: 'boundary', boundaryId }, after, 'last_owner', { groupId })
  // Before anything is removed, so that a request refused for a stale version changes nothing.
  refuseStale([group], ifMatch)
  await removeAssignments(services, caller, own)
  return true
}

export const groups = collection(PrincipalGroup, {
  path: '{B}/providers/authorization/groups',
  item: 'groupId',
  noun: 'Group',
  parent: inBoundary,
  keyOf: 'name',
  may: { read: action('rbac/members/read'), write: action('rbac/members/write') },
  dto: BoundaryGroupDto,
  related: (_groups, { services }, parent) => rolesByGroup(services, parent),
  toDto: ({ metadata, spec }, { parent, related }) => ({
    boundaryId: parent.boundaryId,
    description: spec.description === '' ? null : spec.description,
    memberCount: spec.memberIds.length,
    roleDefinitionName: related.get(metadata.name) ?? null,
  }),
  columns: { displayName: text('Name', { isSearched: true }), createdAt: dateTime('Created') },
  sort: 'displayName',
  name: 'displayName',
  list: { summary: 'The groups of the boundary' },
  get: { summary: 'Read a group' },
  create: {
    summary: 'Make a group of principals, with a role at the boundary if one is named',
    further: GRANT_RIGHTS,
    body: CreateBoundaryGroupRequest,
    make: makeGroup,
  },
  patch: {
    summary: 'Change the name or the members of a group',
    further: GRANT_RIGHTS,
    body: UpdateBoundaryGroupRequest,
    documentedBody: DocumentedUpdate,
    lock: ({ boundaryId }) => boundaryLock(boundaryId),
    before: checkChange,
    toSpec: ({ spec }, { body }) => ({
      ...spec,
      ...(body.displayName == null ? {} : { displayName: body.displayName }),
      ...(body.description === undefined ? {} : { description: body.description ?? '' }),
      ...(body.memberIds === undefined ? {} : { memberIds: [...new Set(body.memberIds ?? [])] }),
    }),
  },
  remove: {
    summary: 'Remove a group and what it was given',
    lock: ({ boundaryId }) => boundaryLock(boundaryId),
    before: beforeRemoval,
  },
})
