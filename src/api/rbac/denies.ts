import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { notFound } from '../../core/errors.ts'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { Description, Uuid } from '../../crds/fields.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { groupsAround } from '../../iam/groups.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { created, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime, pagedListOf, Uuid as UuidDto } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { findBoundary } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { checkDeny, type DenyRecord, denyIdOf, refuseLockout, refuseOwnDeny } from '../rules/denies.ts'
import { groupsIn, incarnationAt, oneAtATime } from '../rules/grants.ts'
import { PRINCIPAL_TYPES } from '../rules/memberRecord.ts'

const Patterns = z.array(z.string().min(1).max(128)).max(200)

const CreateDenyAssignmentRequest = z
  .strictObject({
    principalId: Uuid.nullish(),
    isEveryone: z.boolean().nullish().describe('Exactly one of principalId and isEveryone'),
    principalType: z.enum(PRINCIPAL_TYPES).nullish().describe('Looked up when absent'),
    excludedPrincipalIds: z.array(Uuid).max(200).default([]),
    actions: Patterns.default([]),
    dataActions: Patterns.default([]),
    scope: z.string().max(300).nullish().describe('The boundary when absent'),
    reason: Description.nullish(),
    expiresAt: DateTime.nullish(),
  })
  .meta({ id: 'CreateDenyAssignmentRequest' })
type CreateDeny = z.output<typeof CreateDenyAssignmentRequest>
const DenyAssignmentDto = z
  .object({
    id: UuidDto,
    principalId: UuidDto.nullable(),
    isEveryone: z.boolean(),
    principalType: z.enum(PRINCIPAL_TYPES).nullable(),
    excludedPrincipalIds: z.array(UuidDto),
    actions: z.array(z.string()),
    dataActions: z.array(z.string()),
    scope: z.string(),
    reason: z.string().nullable(),
    createdAt: DateTime,
    createdBy: z.string().nullable(),
    expiresAt: DateTime.nullable(),
  })
  .meta({ id: 'DenyAssignmentDto' })
type DenyAssignmentDto = z.output<typeof DenyAssignmentDto>

function denyDto(deny: DenyRecord): DenyAssignmentDto {
  const { metadata, spec } = deny
  return {
    id: denyIdOf(deny),
    principalId: spec.principalId ?? null,
    isEveryone: spec.isEveryone,
    principalType: spec.principalType ?? null,
    excludedPrincipalIds: spec.excludedPrincipalIds,
    actions: spec.actions,
    dataActions: spec.dataActions,
    scope: spec.scope,
    reason: spec.reason ?? null,
    createdAt: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
    createdBy: metadata.annotations?.[CREATED_BY_ANNOTATION] ?? null,
    expiresAt: spec.expiresAt ?? null,
  }
}

const denyShape: ListShape<DenyRecord> = {
  fields: {
    scope: { title: 'Scope', type: 'text', of: ({ spec }) => spec.scope, isSorted: false },
    principalType: {
      title: 'Type',
      type: 'enumeration',
      values: PRINCIPAL_TYPES,
      of: ({ spec }) => spec.principalType,
      isSorted: false,
    },
    createdAt: {
      title: 'Created',
      type: 'dateTime',
      of: ({ metadata }) => metadata.creationTimestamp,
      isFiltered: false,
    },
  },
  defaultSort: '-createdAt',
  nameOf: denyIdOf,
  idOf: denyIdOf,
}

/** @throws PlatformError BAD_REQUEST, principal_not_found, lockout */
async function createDeny(context: Context<'boundaryId', unknown, CreateDeny>) {
  const { services, caller, body, parameters } = context
  const { boundaryId } = parameters
  refuseWhileDeleting(await findBoundary(context, boundaryId))
  const { scope, principalType } = await checkDeny(services, boundaryId, body)
  const { principalId, excludedPrincipalIds, actions, dataActions } = body
  return oneAtATime(boundaryScope(boundaryId), async () => {
    await refuseLockout(services, boundaryId, body)
    const scopeIncarnation = incarnationAt(services, scope)
    const { object } = await services.records.create(DenyAssignment, {
      namespace: boundaryNamespace(boundaryId),
      name: randomUUID(),
      spec: {
        ...(typeof principalId === 'string' ? { principalId, principalType } : {}),
        isEveryone: body.isEveryone === true,
        excludedPrincipalIds,
        actions,
        dataActions,
        scope: body.scope ?? boundaryScope(boundaryId),
        scopeIncarnation,
        reason: body.reason,
        expiresAt: body.expiresAt,
      },
      caller,
    })
    return created(denyDto(object), { etag: etagOf(object) })
  })
}

async function findDeny(context: Context<'boundaryId' | 'denyId'>): Promise<DenyRecord> {
  const { boundaryId, denyId } = context.parameters
  await findBoundary(context, boundaryId)
  const { services, fresh } = context
  const denies = await services.records.list(DenyAssignment, { namespace: boundaryNamespace(boundaryId) }, { fresh })
  const found = denies.find((deny) => denyIdOf(deny) === denyId)
  if (found === undefined) throw notFound(`Deny "${denyId}" of boundary "${boundaryId}"`)
  return found
}

/** Nobody takes a deny away that holds them back themselves. @throws PlatformError NOT_FOUND, forbidden */
async function removeDeny(context: Context<'boundaryId' | 'denyId'>) {
  const { services, caller, ifMatch, parameters } = context
  const deny = await findDeny(context)
  refuseOwnDeny(services, caller, parameters.boundaryId, deny)
  const { namespace = '', name } = deny.metadata
  await services.records.remove(DenyAssignment, { namespace, name }, { caller, ifMatch })
  return noContent()
}

const BASE = '{B}/providers/authorization/denyAssignments'
export const denyRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    BASE,
    {
      auth: action('rbac/members/read'),
      summary: 'The denies of the boundary',
      query: z.object({ principalId: Uuid.optional().describe('Denies of this principal and of the groups it is in') }),
      list: denyShape as never,
      reply: pagedListOf(DenyAssignmentDto),
      answers: [200],
    },
    async (context) => {
      const { services, fresh, parameters, query } = context
      const { boundaryId } = parameters
      await findBoundary(context, boundaryId)
      const { principalId } = query as { principalId?: string }
      const all = await services.records.list(DenyAssignment, { namespace: boundaryNamespace(boundaryId) }, { fresh })
      const around =
        principalId === undefined
          ? undefined
          : groupsAround(principalId, groupsIn(services, boundaryId)).add(principalId)
      const rows = all.filter(({ spec }) => around === undefined || around.has(spec.principalId ?? ''))
      return pagedParts(rows, context.list, denyShape, denyDto)
    },
  ),
  route(
    'POST',
    BASE,
    {
      auth: action('rbac/members/write'),
      summary: 'Take actions away from somebody, or from everyone',
      body: CreateDenyAssignmentRequest,
      reply: DenyAssignmentDto,
      answers: [200, 201],
    },
    createDeny,
  ),
  route(
    'GET',
    `${BASE}/{denyId}`,
    { auth: action('rbac/members/read'), summary: 'Read a deny', reply: DenyAssignmentDto, answers: [200] },
    async (context) => {
      const deny = await findDeny(context as never)
      return ok(denyDto(deny), { etag: etagOf(deny) })
    },
  ),
  route(
    'DELETE',
    `${BASE}/{denyId}`,
    { auth: action('rbac/members/write'), summary: 'Remove a deny', answers: [200, 204] },
    (context) => removeDeny(context as never),
  ),
]
