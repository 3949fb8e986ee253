import { z } from 'zod'
import { notFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { Description, DisplayName, Uuid } from '../../crds/fields.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { brokenNesting, everyoneIn, groupsAround, type Memberships } from '../../iam/groups.ts'
import { noContent, ok } from '../answer.ts'
import { boundaryScope } from '../boundaries/visibility.ts'
import type { Context, Services } from '../context.ts'
import { pagedListOf } from '../dto.ts'
import { etagOf } from '../etag.ts'
import { pagedParts } from '../pages.ts'
import type { ListShape } from '../paging.ts'
import { findBoundary } from '../places.ts'
import type { RecordOf } from '../records.ts'
import { refuseWhileDeleting } from '../resourceWrites.ts'
import { action, type RouteDraft, route } from '../route.ts'
import { principalNotFound } from './denies.ts'
import {
  assignmentIdOf,
  exceedingRefused,
  grantRefusal,
  groupsIn,
  isInForce,
  isOver,
  knownRole,
  oneAtATime,
  rootOnlyRefused,
  takesLastOwner,
} from './grants.ts'
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

/** Who comes into a group gains every role of it and of the groups around it. @throws PlatformError forbidden */
function refuseGain({ services, caller, parameters }: One, gained: readonly string[]): void {
  const { boundaryId, groupId } = parameters
  if (gained.length === 0) return
  const holders = groupsAround(groupId, groupsIn(services, boundaryId)).add(groupId)
  const assignments = services.records.peekAll(RoleAssignment, {})
  for (const assignment of assignments) {
    const { principalId, roleDefinitionName, scope } = assignment.spec
    if (!holders.has(principalId) || !isInForce(services, assignment)) continue
    const role = knownRole(services.records, roleDefinitionName)
    if (role === undefined) continue
    const refusal = grantRefusal(services, caller, { role, scope, principalIds: gained, boundaryId })
    if (refusal?.kind === 'RootOnly') throw rootOnlyRefused(role, scope)
    if (refusal !== undefined) throw exceedingRefused('forbidden', role, scope, refusal.actions)
  }
}

/** Nobody leaves a group, or removes it, to be rid of a deny on it. @throws PlatformError forbidden */
function refuseShedding({ services, caller, parameters }: One, later: Memberships): void {
  const { boundaryId } = parameters
  const before = groupsAround(caller.principalId, groupsIn(services, boundaryId))
  const after = groupsAround(caller.principalId, later)
  const left = new Set([...before].filter((id) => !after.has(id)))
  const denies = services.records.peekAll(DenyAssignment, { namespace: boundaryNamespace(boundaryId) })
  const held = denies.some(({ spec }) => left.has(spec.principalId ?? '') && !isOver(spec.expiresAt, services.clock))
  if (!held) return
  const message = 'A deny reaches you through this group: somebody else must take you out of it.'
  throw new PlatformError('forbidden', message, { groupId: parameters.groupId })
}

/** @throws PlatformError last_owner */
async function refuseLockout({ services, parameters }: One, removed: Set<string>, groups: Memberships): Promise<void> {
  const { boundaryId, groupId } = parameters
  // Who owns through a group that loses its last member owns no more: as if the assignment were taken away.
  if (!(await takesLastOwner(services, { level: 'boundary', boundaryId }, removed, { groups }))) return
  const message = `Boundary "${boundaryId}" would be left without an Owner: make somebody else Owner first.`
  throw new PlatformError('last_owner', message, { groupId })
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
    if (body.memberIds !== undefined) await checkMembers(context, group, [...new Set(body.memberIds ?? [])])
    const others = services.records.peekAll(PrincipalGroup, { namespace })
    if (others.some(({ metadata, spec }) => metadata.name !== groupId && spec.displayName === displayName)) {
      throw new PlatformError('already_exists', `The boundary has a group "${displayName}" already.`, { displayName })
    }
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

async function checkMembers(context: Patch, group: GroupRecord, memberIds: string[]): Promise<void> {
  const { services, parameters } = context
  const { boundaryId, groupId } = parameters
  const gained = memberIds.filter((id) => !group.spec.memberIds.includes(id))
  const known = await services.principals.find(gained, boundaryId)
  for (const id of gained) if (!known.has(id)) throw principalNotFound(id)
  const groups = groupsIn(services, boundaryId)
  if (brokenNesting(groupId, memberIds, groups) !== undefined) {
    throw new PlatformError('group_cycle', 'Groups may be nested five deep and never in a circle.', { memberIds })
  }
  const place = context as unknown as One
  refuseGain(place, gained)
  const later = new Map(groups).set(groupId, memberIds)
  const before = everyoneIn(groupId, groups)
  if ([...before].every((id) => everyoneIn(groupId, later).has(id))) return
  refuseShedding(place, later)
  await refuseLockout(place, new Set(), later)
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
    refuseShedding(context, later)
    await refuseLockout(context, new Set(own.map(assignmentIdOf)), later)
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
