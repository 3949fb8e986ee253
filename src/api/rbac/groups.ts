import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { Description, DisplayName, Uuid } from '../../crds/fields.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { brokenNesting, groupsAround, type Memberships } from '../../iam/groups.ts'
import { isRootOnly, type Role } from '../../iam/roles.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { created } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { findBoundary } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import {
  findRole,
  type Granter,
  groupsIn,
  isInForce,
  knownRole,
  oneAtATime,
  refuseExceeding,
  rootOnlyRefused,
  writeAssignment,
} from '../rules/grants.ts'
import { principalNotFound } from './denies.ts'

const CreateBoundaryGroupRequest = z
  .strictObject({
    displayName: DisplayName.describe('Unique in the boundary'),
    description: Description.nullish(),
    memberIds: z.array(Uuid).max(1000).default([]).describe('People, service accounts and groups'),
    roleDefinitionName: DisplayName.nullish().describe('Given to the group at the boundary'),
  })
  .meta({ id: 'CreateBoundaryGroupRequest' })

export const BoundaryGroupDto = z
  .object({
    id: UuidDto,
    boundaryId: UuidDto,
    displayName: z.string(),
    description: z.string(),
    memberIds: z.array(UuidDto),
    memberCount: z.int(),
    roleDefinitionName: z.string().nullable().describe('The role that it was made with'),
    createdAt: DateTime,
  })
  .meta({ id: 'BoundaryGroupDto' })

export function groupDto(
  boundaryId: string,
  { metadata, spec }: RecordOf<typeof PrincipalGroup>,
  roleDefinitionName: string | null,
): z.output<typeof BoundaryGroupDto> {
  const { displayName, description, memberIds } = spec
  const createdAt = metadata.creationTimestamp ?? '1970-01-01T00:00:00Z'
  const memberCount = memberIds.length
  return {
    id: metadata.name,
    boundaryId,
    displayName,
    description,
    memberIds,
    memberCount,
    roleDefinitionName,
    createdAt,
  }
}

type Create = Context<'boundaryId', unknown, z.output<typeof CreateBoundaryGroupRequest>>

/** Giving a role to a group gives it to its members. @throws PlatformError unknown_role, forbidden */
function roleToGive({ services, caller, body, parameters }: Create): Role | undefined {
  const { boundaryId } = parameters
  if (body.roleDefinitionName === null || body.roleDefinitionName === undefined) return undefined
  const scope = boundaryScope(boundaryId)
  const role = findRole(services, body.roleDefinitionName)
  if (isRootOnly(role)) throw rootOnlyRefused(role, scope)
  refuseExceeding(services, caller, { role, scope, principalIds: body.memberIds, boundaryId }, 'forbidden')
  return role
}

/** @throws PlatformError unknown_role, forbidden, principal_not_found, group_cycle, already_exists */
async function createGroup(context: Create) {
  const { services, caller, body, parameters } = context
  const { boundaryId } = parameters
  refuseWhileDeleting(await findBoundary(context, boundaryId))
  const role = roleToGive(context)
  const memberIds = [...new Set(body.memberIds)]
  const id = randomUUID()
  await checkMembers(services, boundaryId, { id, memberIds, added: memberIds })
  const namespace = boundaryNamespace(boundaryId)
  return oneAtATime(`${boundaryScope(boundaryId)}/groups`, async () => {
    const { displayName, description } = body
    refuseTakenName(services, boundaryId, { id, displayName })
    // The assignment first: of a group that is not there it grants nothing, and a group without its role would be no
    // answer to the request.
    const scope = boundaryScope(boundaryId)
    const grant = { principalId: id, principalType: 'Group' as const, scope }
    const assignment = role === undefined ? undefined : await writeAssignment(services, caller, { ...grant, role })
    try {
      const spec = { displayName, description: description ?? '', memberIds }
      const { object } = await services.records.create(PrincipalGroup, { namespace, name: id, spec, caller })
      return created(groupDto(boundaryId, object, role?.displayName ?? null), { etag: etagOf(object) })
    } catch (error) {
      const name = assignment?.object.metadata.name
      if (name !== undefined) await services.records.remove(RoleAssignment, { namespace, name }, { caller })
      throw error
    }
  })
}

/** @throws PlatformError principal_not_found, group_cycle */
export async function checkMembers(
  services: Services,
  boundaryId: string,
  { id, memberIds, added }: { id: string; memberIds: readonly string[]; added: readonly string[] },
): Promise<void> {
  const known = await services.principals.find(added, boundaryId)
  for (const member of added) if (!known.has(member)) throw principalNotFound(member)
  if (brokenNesting(id, memberIds, groupsIn(services, boundaryId)) === undefined) return
  throw new PlatformError('group_cycle', 'Groups may be nested five deep and never in a circle.', { memberIds })
}

/** @throws PlatformError already_exists */
export function refuseTakenName(
  { records }: Services,
  boundaryId: string,
  { id, displayName }: { id: string; displayName: string },
): void {
  const present = records.peekAll(PrincipalGroup, { namespace: boundaryNamespace(boundaryId) })
  if (!present.some(({ metadata, spec }) => metadata.name !== id && spec.displayName === displayName)) return
  throw new PlatformError('already_exists', `The boundary has a group "${displayName}" already.`, { displayName })
}

/**
 * Who comes into a group gains every role of it and of the groups around it. Also for a group that is new: roles may
 * have been given to its id before, or be left of an earlier group.
 *
 * @param groups the memberships once the change is made
 * @throws PlatformError of the code
 */
export function refuseWidening(
  services: Services,
  caller: Granter,
  boundaryId: string,
  { id, added, groups }: { id: string; added: readonly string[]; groups: Memberships },
  code: 'GRANT_EXCEEDS_CALLER' | 'forbidden',
): void {
  if (added.length === 0) return
  const gaining = groupsAround(id, groups).add(id)
  const given = services.records
    .peekAll(RoleAssignment, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ spec }) => spec.principalType === 'Group' && gaining.has(spec.principalId))
    .filter((assignment) => isInForce(services, assignment))
  for (const { spec } of given) {
    const role = knownRole(services.records, spec.roleDefinitionName)
    if (role === undefined) continue
    refuseExceeding(services, caller, { role, scope: spec.scope, principalIds: added, boundaryId }, code)
  }
}

export const groupRoutes: readonly RouteDraft[] = [
  route(
    'POST',
    '{B}/providers/authorization/groups',
    {
      auth: action('rbac/members/write'),
      summary: 'Make a group of principals, with a role at the boundary if one is named',
      body: CreateBoundaryGroupRequest,
      reply: BoundaryGroupDto,
      answers: [200, 201],
    },
    createGroup,
  ),
]
