import { z } from 'zod'
import { badRequest, notFound, PlatformError } from '../../core/errors.ts'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import { Description, DisplayName, Uuid } from '../../crds/fields.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { isRootOnly } from '../../iam/roles.ts'
import { principalNotFound } from '../callers/principals.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { created, noContent } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime, pagedListOf, Uuid as UuidDto } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { findBoundary } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import {
  type AssignmentRecord,
  assignmentIdOf,
  exceedingRefused,
  findRole,
  grantRefusal,
  isInForce,
  knownRole,
  objectAt,
  oneAtATime,
  refuseLastOwner,
  rootOnlyRefused,
  writeAssignment,
} from '../rules/grants.ts'
import { PRINCIPAL_TYPES } from '../rules/memberRecord.ts'
import { roleIdOf } from './roleDefinitions.ts'

const STATUSES = ['Active', 'Expired'] as const

const CreateRoleAssignmentRequest = z
  .strictObject({
    principalId: Uuid,
    principalType: z.enum(PRINCIPAL_TYPES).nullish().describe('Looked up when absent'),
    roleDefinitionName: DisplayName.describe('Matched exactly'),
    scope: z.string().max(300).nullish().describe('The boundary when absent'),
    expiresAt: DateTime.nullish(),
    reason: Description.nullish(),
  })
  .meta({ id: 'CreateRoleAssignmentRequest' })

const RoleAssignmentDto = z
  .object({
    id: UuidDto,
    principalId: UuidDto,
    principalType: z.enum(PRINCIPAL_TYPES),
    roleDefinitionName: z.string(),
    roleDefinitionId: UuidDto.nullable().describe('Null where the role is not there any more'),
    scope: z.string(),
    expiresAt: DateTime.nullable(),
    reason: z.string().nullable(),
    createdAt: DateTime,
    createdBy: z.string().nullable(),
    status: z.enum(STATUSES).describe('Expired also where the thing at the scope is another one by now'),
  })
  .meta({ id: 'RoleAssignmentDto' })
type RoleAssignmentDto = z.output<typeof RoleAssignmentDto>

function assignmentDto(services: Services, assignment: AssignmentRecord): RoleAssignmentDto {
  const { metadata, spec } = assignment
  const role = knownRole(services.records, spec.roleDefinitionName)
  return {
    id: assignmentIdOf(assignment),
    principalId: spec.principalId,
    principalType: spec.principalType,
    roleDefinitionName: spec.roleDefinitionName,
    roleDefinitionId: role === undefined ? null : roleIdOf(role.name),
    scope: spec.scope,
    expiresAt: spec.expiresAt ?? null,
    reason: spec.reason ?? null,
    createdAt: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
    createdBy: metadata.annotations?.[CREATED_BY_ANNOTATION] ?? null,
    status: isInForce(services, assignment) ? 'Active' : 'Expired',
  }
}

const assignmentShape: ListShape<RoleAssignmentDto> = {
  fields: {
    principalId: { title: 'Principal', type: 'text', of: (row) => row.principalId, isSorted: false },
    principalType: {
      title: 'Type',
      type: 'enumeration',
      values: PRINCIPAL_TYPES,
      of: (row) => row.principalType,
      isSorted: false,
    },
    roleDefinitionName: { title: 'Role', type: 'text', of: (row) => row.roleDefinitionName, isSearched: true },
    scope: { title: 'Scope', type: 'text', of: (row) => row.scope },
    status: { title: 'Status', type: 'enumeration', values: STATUSES, of: (row) => row.status, isSorted: false },
    createdAt: { title: 'Created', type: 'dateTime', of: (row) => row.createdAt },
  },
  defaultSort: '-createdAt',
  nameOf: (row) => row.roleDefinitionName,
  idOf: (row) => row.id,
}

/** @throws PlatformError BAD_REQUEST */
function readScope(services: Services, text: string, boundaryId: string): Scope {
  const scope = parseScope(text)
  const refuse = (message: string) => badRequest('The role cannot be given there.', [{ field: 'scope', message }])
  if (scope === undefined) throw refuse('must be a scope as the platform writes it')
  if (!scopeContains({ level: 'boundary', boundaryId }, scope)) throw refuse('must lie in the boundary')
  if (objectAt(services.records, scope) === undefined) throw refuse('there is nothing at this scope')
  return scope
}

type Create = Context<'boundaryId', unknown, z.output<typeof CreateRoleAssignmentRequest>>

/** @throws PlatformError unknown_role, forbidden, BAD_REQUEST, principal_not_found, already_exists; the first wins */
async function createAssignment(context: Create) {
  const { services, caller, body, parameters } = context
  const { boundaryId } = parameters
  const { principalId } = body
  refuseWhileDeleting(await findBoundary(context, boundaryId))
  const text = body.scope ?? boundaryScope(boundaryId)
  const role = findRole(services, body.roleDefinitionName)
  if (isRootOnly(role)) throw rootOnlyRefused(role, text)
  readScope(services, text, boundaryId)
  if (body.expiresAt != null && !(Date.parse(body.expiresAt) > services.clock.now())) {
    throw badRequest('The role cannot end before it begins.', [
      { field: 'expiresAt', message: 'must be in the future' },
    ])
  }
  const principal = (await services.principals.find([principalId], boundaryId)).get(principalId)
  const isOtherType = body.principalType != null && body.principalType !== principal?.principalType
  if (principal === undefined || isOtherType) throw principalNotFound(principalId)
  const refusal = grantRefusal(services, caller, { role, scope: text, principalIds: [principalId], boundaryId })
  if (refusal?.kind === 'RootOnly') throw rootOnlyRefused(role, text)
  if (refusal !== undefined) throw exceedingRefused('forbidden', role, text, refusal.actions)
  const { principalType } = principal
  const more = { expiresAt: body.expiresAt ?? undefined, reason: body.reason ?? undefined }
  const { object, isNew } = await writeAssignment(services, caller, {
    principalId,
    principalType,
    role,
    scope: text,
    ...more,
  })
  if (!isNew) {
    const message = `"${principalId}" already holds the role "${role.displayName}" at ${text}.`
    throw new PlatformError('already_exists', message, { id: assignmentIdOf(object) })
  }
  return created(assignmentDto(services, object), { etag: etagOf(object) })
}

/** @throws PlatformError NOT_FOUND, also for what stands above the boundary; last_owner */
async function removeAssignment(context: Context<'boundaryId' | 'assignmentId'>) {
  const { services, caller, ifMatch, parameters } = context
  const { boundaryId, assignmentId } = parameters
  await findBoundary(context, boundaryId)
  const namespace = boundaryNamespace(boundaryId)
  return oneAtATime(boundaryScope(boundaryId), async () => {
    const all = await services.records.list(RoleAssignment, { namespace }, { fresh: true })
    const found = all.find((one) => assignmentIdOf(one) === assignmentId)
    if (found === undefined) throw notFound(`Assignment "${assignmentId}" of boundary "${boundaryId}"`)
    const removed = new Set([assignmentId])
    await refuseLastOwner(services, { level: 'boundary', boundaryId }, { removed }, 'last_owner', { assignmentId })
    await services.records.remove(RoleAssignment, { namespace, name: found.metadata.name }, { caller, ifMatch })
    return noContent()
  })
}

const BASE = '{B}/providers/authorization/roleAssignments'
export const assignmentRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    BASE,
    {
      auth: action('rbac/members/read'),
      summary: 'The assignments of the boundary, at it and at anything in it',
      list: assignmentShape as never,
      reply: pagedListOf(RoleAssignmentDto),
      answers: [200],
    },
    async (context) => {
      const { services, fresh, list, parameters } = context
      const { boundaryId } = parameters
      await findBoundary(context, boundaryId)
      const all = await services.records.list(RoleAssignment, { namespace: boundaryNamespace(boundaryId) }, { fresh })
      const rows = all.map((assignment) => assignmentDto(services, assignment))
      return pagedParts(rows, list, assignmentShape, (row) => row)
    },
  ),
  route(
    'POST',
    BASE,
    {
      auth: action('rbac/members/write'),
      summary: 'Give a role at the boundary or at something in it',
      body: CreateRoleAssignmentRequest,
      reply: RoleAssignmentDto,
      answers: [201],
    },
    createAssignment,
  ),
  route(
    'DELETE',
    `${BASE}/{assignmentId}`,
    { auth: action('rbac/members/write'), summary: 'Take a role away', answers: [204] },
    removeAssignment,
  ),
]
