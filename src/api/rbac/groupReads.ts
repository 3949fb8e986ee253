import { z } from 'zod'
import { notFound } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { Description, DisplayName, Uuid } from '../../crds/fields.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { pagedListOf } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { findBoundary } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { refuseSheddingDenies } from '../rules/denies.ts'
import { assignmentIdOf, groupsIn, isInForce, oneAtATime, refuseLastOwner } from '../rules/grants.ts'
import { checkMembers, refuseTakenName, refuseWidening } from '../rules/groups.ts'
import { BoundaryGroupDto, groupDto } from './groups.ts'

type GroupRecord = RecordOf<typeof PrincipalGroup>
type One = Context<'boundaryId' | 'groupId'>

const UpdateBoundaryGroupRequest = z
  .strictObject({
    displayName: DisplayName.optional().describe('Unique in the boundary'),
    description: Description.nullish(),
    memberIds: z.array(Uuid).max(1000).nullish().describe('All members from now on; null leaves none'),
  })
  .meta({ id: 'UpdateBoundaryGroupRequest' })
type Patch = Context<'boundaryId' | 'groupId', unknown, z.output<typeof UpdateBoundaryGroupRequest>>

const groupShape: ListShape<GroupRecord> = {
  fields: {
    displayName: { title: 'Name', type: 'text', of: ({ spec }) => spec.displayName, isSearched: true },
    createdAt: { title: 'Created', type: 'dateTime', of: ({ metadata }) => metadata.creationTimestamp },
  },
  defaultSort: 'displayName',
  nameOf: ({ spec }) => spec.displayName,
  idOf: ({ metadata }) => metadata.name,
}

/** The role that the group holds at the boundary itself, the first by name of several. */
function roleOf(services: Services, boundaryId: string, groupId: string): string | null {
  const at = services.records
    .peekAll(RoleAssignment, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ spec }) => spec.principalId === groupId && spec.scope === boundaryScope(boundaryId))
    .filter((assignment) => isInForce(services, assignment))
  return at.map(({ spec }) => spec.roleDefinitionName).sort()[0] ?? null
}

function shown(services: Services, boundaryId: string, group: GroupRecord) {
  return groupDto(boundaryId, group, roleOf(services, boundaryId, group.metadata.name))
}

async function findGroup(context: One): Promise<GroupRecord> {
  const { services, fresh, parameters } = context
  const { boundaryId, groupId } = parameters
  await findBoundary(context, boundaryId)
  const ref = { namespace: boundaryNamespace(boundaryId), name: groupId }
  const group = await services.records.get(PrincipalGroup, ref, { fresh })
  if (group === undefined) throw notFound(`Group "${groupId}" of boundary "${boundaryId}"`)
  return group
}

/** @throws PlatformError NOT_FOUND, principal_not_found, group_cycle, forbidden, already_exists, last_owner */
async function changeGroup(context: Patch) {
  const { services, caller, body, ifMatch, parameters } = context
  const { boundaryId, groupId } = parameters
  refuseWhileDeleting(await findBoundary(context, boundaryId))
  const namespace = boundaryNamespace(boundaryId)
  return oneAtATime(boundaryScope(boundaryId), async () => {
    const group = await findGroup(context as unknown as One)
    const { displayName } = body
    if (body.memberIds !== undefined) await checkChange(context, group, [...new Set(body.memberIds ?? [])])
    if (displayName !== undefined) refuseTakenName(services, boundaryId, { id: groupId, displayName })
    const { object } = await services.records.update(
      PrincipalGroup,
      { namespace, name: groupId },
      {
        caller,
        ifMatch,
        change: ({ spec }) => ({
          ...spec,
          ...(displayName === undefined ? {} : { displayName }),
          ...(body.description === undefined ? {} : { description: body.description ?? '' }),
          ...(body.memberIds === undefined ? {} : { memberIds: [...new Set(body.memberIds ?? [])] }),
        }),
      },
    )
    return ok(shown(services, boundaryId, object), { etag: etagOf(object) })
  })
}

async function checkChange(context: Patch, group: GroupRecord, memberIds: string[]): Promise<void> {
  const { services, caller, parameters } = context
  const { boundaryId, groupId } = parameters
  const added = memberIds.filter((id) => !group.spec.memberIds.includes(id))
  await checkMembers(services, boundaryId, { id: groupId, memberIds, added })
  const groups = new Map(groupsIn(services, boundaryId)).set(groupId, memberIds)
  refuseWidening(services, caller, boundaryId, { id: groupId, added, groups }, 'forbidden')
  refuseSheddingDenies(services, caller, boundaryId, groups)
  await refuseLastOwner(services, { level: 'boundary', boundaryId }, { groups }, 'last_owner', { groupId })
}

/** Its assignments go first, so that no assignment of nobody is left behind. @throws PlatformError NOT_FOUND, forbidden, last_owner */
async function removeGroup(context: One) {
  const { services, caller, ifMatch, parameters } = context
  const { boundaryId, groupId } = parameters
  await findGroup(context)
  const namespace = boundaryNamespace(boundaryId)
  return oneAtATime(boundaryScope(boundaryId), async () => {
    const later = new Map(groupsIn(services, boundaryId)).set(groupId, [])
    const all = await services.records.list(RoleAssignment, { namespace }, { fresh: true })
    const own = all.filter(({ spec }) => spec.principalId === groupId)
    refuseSheddingDenies(services, caller, boundaryId, later)
    const after = { removed: new Set(own.map(assignmentIdOf)), groups: later }
    await refuseLastOwner(services, { level: 'boundary', boundaryId }, after, 'last_owner', { groupId })
    for (const { metadata } of own) {
      await services.records.remove(RoleAssignment, { namespace, name: metadata.name }, { caller })
    }
    await services.records.remove(PrincipalGroup, { namespace, name: groupId }, { caller, ifMatch })
    return noContent()
  })
}

const BASE = '{B}/providers/authorization/groups'
export const groupReadRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    BASE,
    {
      auth: action('rbac/members/read'),
      summary: 'The groups of the boundary',
      list: groupShape as never,
      reply: pagedListOf(BoundaryGroupDto),
      answers: [200],
    },
    async (context) => {
      const { services, fresh, list, parameters } = context
      const { boundaryId } = parameters
      await findBoundary(context, boundaryId)
      const all = await services.records.list(PrincipalGroup, { namespace: boundaryNamespace(boundaryId) }, { fresh })
      return pagedParts(all, list, groupShape, (group) => shown(services, boundaryId, group))
    },
  ),
  route(
    'GET',
    `${BASE}/{groupId}`,
    { auth: action('rbac/members/read'), summary: 'Read a group', reply: BoundaryGroupDto, answers: [200] },
    async (context) => {
      const group = await findGroup(context)
      return ok(shown(context.services, context.parameters.boundaryId, group), { etag: etagOf(group) })
    },
  ),
  route(
    'PATCH',
    `${BASE}/{groupId}`,
    {
      auth: action('rbac/members/write'),
      summary: 'Change the name or the members of a group',
      body: UpdateBoundaryGroupRequest,
      mediaTypes: ['application/json', 'application/merge-patch+json'],
      reply: BoundaryGroupDto,
      answers: [200],
    },
    changeGroup,
  ),
  route(
    'DELETE',
    `${BASE}/{groupId}`,
    { auth: action('rbac/members/write'), summary: 'Remove a group and what it was given', answers: [204] },
    removeGroup,
  ),
]
