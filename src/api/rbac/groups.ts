import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { boundaryNamespace } from '../../core/names.ts'
import { Description, DisplayName, Uuid } from '../../crds/fields.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { isRootOnly, type Role } from '../../iam/roles.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { created } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { findBoundary } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { findRole, oneAtATime, refuseExceeding, rootOnlyRefused, writeAssignment } from '../rules/grants.ts'
import { checkMembers, refuseTakenName } from '../rules/groups.ts'

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
