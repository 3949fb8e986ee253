import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { badRequest, notFound, PlatformError } from '../../core/errors.ts'
import { idOf } from '../../core/ids.ts'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import { Description, Uuid } from '../../crds/fields.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { ACTIONS, isOpenAction } from '../../iam/actions.ts'
import { groupsAround, type Memberships } from '../../iam/groups.ts'
import { compilePermissions, hasAction } from '../../iam/permissions.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { created, noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, pagedListOf, Uuid as UuidDto } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { findBoundary } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { actingOwners, type Granter, groupsIn, incarnationAt, isOver, oneAtATime } from '../rules/grants.ts'
import { PRINCIPAL_TYPES } from '../rules/memberRecord.ts'

type DenyRecord = RecordOf<typeof DenyAssignment>

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
/** What the rules look at: the body of REST and the spec of kubectl alike. */
export type WantedDeny = Pick<CreateDeny, 'excludedPrincipalIds' | 'actions' | 'dataActions'> &
  Partial<Pick<CreateDeny, 'principalId' | 'isEveryone' | 'principalType' | 'scope' | 'expiresAt'>>

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

export function denyIdOf({ metadata: { namespace, name } }: DenyRecord): string {
  return idOf({ group: DenyAssignment.resource.group, kind: DenyAssignment.kind, namespace, name })
}

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

/** Whom a deny reaches, groups included. */
export function reaches(
  services: Services,
  boundaryId: string,
  deny: {
    principalId?: string | null | undefined
    isEveryone?: boolean | null | undefined
    excludedPrincipalIds: string[]
  },
  principalId: string,
  memberships?: Memberships,
): boolean {
  const around = groupsAround(principalId, memberships ?? groupsIn(services, boundaryId)).add(principalId)
  if (deny.excludedPrincipalIds.some((id) => around.has(id))) return false
  return deny.isEveryone === true || around.has(deny.principalId ?? '')
}

/** @throws PlatformError BAD_REQUEST */
function readScope(text: string | null | undefined, boundaryId: string): Scope {
  const boundary: Scope = { level: 'boundary', boundaryId }
  if (text === null || text === undefined) return boundary
  const scope = parseScope(text)
  const message =
    scope === undefined
      ? 'is no scope: write it as /boundaries/<uuid>/resourcegroups/<name>'
      : 'lies outside the boundary'
  if (scope === undefined || !scopeContains(boundary, scope)) {
    throw badRequest('The scope of the deny was refused.', [{ field: 'scope', message }])
  }
  return scope
}

/** Patterns that match no action deny nothing, and whoever wrote them believes otherwise. */
function patternErrors(field: 'actions' | 'dataActions', patterns: readonly string[]) {
  const isData = field === 'dataActions'
  return patterns.flatMap((pattern, index) =>
    isMatching(pattern, isData)
      ? []
      : [{ field: `${field}.${index}`, message: `matches no ${isData ? 'data action' : 'action'} of the platform` }],
  )
}

function isMatching(pattern: string, isData: boolean): boolean {
  if (!isData && isOpenAction(pattern)) return true
  try {
    const set = compilePermissions({
      actions: isData ? [] : [pattern],
      dataActions: isData ? [pattern] : [],
      notActions: [],
      notDataActions: [],
    }).atRoot
    return ACTIONS.some(({ index }) => hasAction(set, index))
  } catch {
    return false
  }
}

/** @throws PlatformError BAD_REQUEST naming each field */
function checkBody(body: WantedDeny, now: number): void {
  const errors = [...patternErrors('actions', body.actions), ...patternErrors('dataActions', body.dataActions)]
  if ((body.isEveryone === true) === (typeof body.principalId === 'string')) {
    errors.push({ field: 'principalId', message: 'give exactly one of principalId and isEveryone' })
  }
  if (body.actions.length + body.dataActions.length === 0) {
    errors.push({ field: 'actions', message: 'a deny takes away at least one action' })
  }
  if (typeof body.expiresAt === 'string' && Date.parse(body.expiresAt) <= now) {
    errors.push({ field: 'expiresAt', message: 'must lie in the future' })
  }
  if (errors.length > 0) throw badRequest('The deny was refused.', errors)
}

/**
 * A deny on a group holds its members, and one that spares a group holds whoever is not in it: nobody gets rid of one by
 * joining or leaving.
 *
 * @param after the memberships once the change is made
 * @throws PlatformError forbidden
 */
export function refuseSheddingDenies(
  services: Services,
  caller: Granter,
  boundaryId: string,
  after: Memberships,
): void {
  const userId = caller.principalId
  const sheds = services.records
    .peekAll(DenyAssignment, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ spec }) => !isOver(spec.expiresAt, services.clock))
    .some(
      ({ spec }) => reaches(services, boundaryId, spec, userId) && !reaches(services, boundaryId, spec, userId, after),
    )
  if (!sheds) return
  const message = 'A deny reaches you through a group: somebody else must take you out of it.'
  throw new PlatformError('forbidden', message, { userId })
}

/** Nobody takes a deny away that holds them back themselves. @throws PlatformError forbidden */
export function refuseOwnDeny(services: Services, caller: Granter, boundaryId: string, deny: DenyRecord): void {
  if (!reaches(services, boundaryId, deny.spec, caller.principalId)) return
  const message = 'This deny holds you back yourself: somebody whom it does not reach must remove it.'
  throw new PlatformError('forbidden', message, { denyId: denyIdOf(deny) })
}

/** Somebody must be left who can take the deny away again: an Owner of the boundary whom it does not reach. */
export async function refuseLockout(services: Services, boundaryId: string, body: WantedDeny): Promise<void> {
  const scope: Scope = { level: 'boundary', boundaryId }
  for (const owner of await actingOwners(services, scope)) {
    if (reaches(services, boundaryId, body, owner)) continue
    if (services.access.isAllowed(owner, 'rbac/members/write', boundaryScope(boundaryId))) return
  }
  const message = `The deny would leave boundary "${boundaryId}" without an Owner able to remove it: exclude one.`
  throw new PlatformError('lockout', message, { boundaryId })
}

/**
 * The rules of a deny but for the lock-out. Answers its scope and the type of whom it names.
 *
 * @throws PlatformError BAD_REQUEST, principal_not_found
 */
export async function checkDeny(services: Services, boundaryId: string, wanted: WantedDeny) {
  checkBody(wanted, services.clock.now())
  const scope = readScope(wanted.scope, boundaryId)
  const { principalId, excludedPrincipalIds } = wanted
  const named = typeof principalId === 'string' ? [principalId] : []
  const known = await services.principals.find([...named, ...excludedPrincipalIds], boundaryId)
  for (const id of [...named, ...excludedPrincipalIds]) {
    if (!known.has(id)) throw principalNotFound(id)
  }
  const principalType = known.get(principalId ?? '')?.principalType
  if (wanted.principalType && wanted.principalType !== principalType && principalType !== undefined) {
    throw principalNotFound(principalId ?? '')
  }
  return { scope, principalType }
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

export function principalNotFound(principalId: string): PlatformError {
  return new PlatformError('principal_not_found', `No principal has the id "${principalId}".`, { principalId })
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
