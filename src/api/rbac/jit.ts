import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { badRequest, notFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, isUuid } from '../../core/names.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import { Description, DisplayName } from '../../crds/fields.ts'
import { JitRequest, RoleAssignment } from '../../crds/rbac.ts'
import { scopeIncarnationOf } from '../../crds/scopeObjects.ts'
import { activeUntil, JIT_STATES, jitAssignmentName, jitAssignmentSpec, jitState } from '../../iam/jit.ts'
import { isRootOnly } from '../../iam/roles.ts'
import { principalNotFound } from '../callers/principals.ts'
import { boundaryScope, findVisibleBoundary } from '../callers/visibility.ts'
import { created, noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, authenticated, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, pagedListOf, Uuid } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { findBoundary } from '../resources/places.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import {
  exceedingRefused,
  findRole,
  grantRefusal,
  incarnationAt,
  oneAtATime,
  rootOnlyRefused,
} from '../rules/grants.ts'

type JitRecord = RecordOf<typeof JitRequest>

const CreateJitRequest = z
  .strictObject({
    roleDefinitionName: DisplayName.describe('Matched exactly'),
    scope: z.string().max(300).describe('The boundary, or something in it'),
    justification: z.string().trim().min(1).max(512),
    durationMinutes: z.int().min(15).max(480).default(60),
  })
  .meta({ id: 'CreateJitRequest' })

const JitDecisionRequest = z.strictObject({ reason: Description.nullish() }).meta({ id: 'JitDecisionRequest' })

const JitRequestDto = z
  .object({
    id: Uuid,
    boundaryId: Uuid,
    principalId: Uuid,
    displayName: z.string().nullable(),
    roleDefinitionName: z.string(),
    scope: z.string(),
    justification: z.string(),
    durationMinutes: z.int(),
    status: z.enum(JIT_STATES),
    requestedAt: DateTime,
    decidedAt: DateTime.nullable(),
    decidedBy: Uuid.nullable(),
    decisionReason: z.string().nullable(),
    activeFrom: DateTime.nullable(),
    activeUntil: DateTime.nullable(),
  })
  .meta({ id: 'JitRequestDto' })
type JitRequestDto = z.output<typeof JitRequestDto>

const jitShape: ListShape<JitRequestDto> = {
  fields: {
    displayName: { title: 'Name', type: 'text', of: (row) => row.displayName, isSearched: true },
    principalId: { title: 'Principal', type: 'text', of: (row) => row.principalId, isSorted: false },
    roleDefinitionName: { title: 'Role', type: 'text', of: (row) => row.roleDefinitionName },
    scope: { title: 'Scope', type: 'text', of: (row) => row.scope, isSorted: false },
    status: { title: 'Status', type: 'enumeration', values: JIT_STATES, of: (row) => row.status },
    requestedAt: { title: 'Requested', type: 'dateTime', of: (row) => row.requestedAt },
  },
  defaultSort: '-requestedAt',
  nameOf: (row) => row.displayName ?? row.principalId,
  idOf: (row) => row.id,
}

async function dtosOf(services: Services, boundaryId: string, rows: readonly JitRecord[]): Promise<JitRequestDto[]> {
  const known = await services.principals.find(
    rows.map(({ spec }) => spec.principalId),
    boundaryId,
  )
  return rows.map((request) => {
    const { metadata, spec } = request
    const until = activeUntil(request)
    return {
      id: metadata.name,
      boundaryId,
      principalId: spec.principalId,
      displayName: known.get(spec.principalId)?.displayName ?? null,
      roleDefinitionName: spec.roleDefinitionName,
      scope: spec.scope,
      justification: spec.justification,
      durationMinutes: spec.durationMinutes,
      status: jitState(request, services.clock.now()),
      requestedAt: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
      decidedAt: spec.decidedAt ?? null,
      decidedBy: spec.decidedBy ?? null,
      decisionReason: spec.decisionReason ?? null,
      activeFrom: until === undefined ? null : (spec.decidedAt ?? null),
      activeUntil: until === undefined ? null : timestamp(until),
    }
  })
}

async function shown(services: Services, boundaryId: string, request: JitRecord) {
  const [dto] = await dtosOf(services, boundaryId, [request])
  return { dto: dto as JitRequestDto, etag: etagOf(request) }
}

function mayReadAll({ services, caller }: Context, boundaryId: string): boolean {
  return services.access.isAllowed(caller.principalId, 'rbac/members/read', boundaryScope(boundaryId))
}

/** Others than holders of rbac/members/read see their own. @throws PlatformError NOT_FOUND, alike for hidden ones */
async function findRequest(context: Context<'boundaryId' | 'jitId'>): Promise<JitRecord> {
  const { boundaryId, jitId } = context.parameters
  await findVisibleBoundary(context, boundaryId)
  const ref = { namespace: boundaryNamespace(boundaryId), name: jitId }
  const found = isUuid(jitId) ? await context.services.records.get(JitRequest, ref, { fresh: true }) : undefined
  const isMine = found?.spec.principalId === context.caller.principalId
  if (found === undefined || !(isMine || mayReadAll(context, boundaryId))) {
    throw notFound(`Request "${jitId}" of boundary "${boundaryId}"`)
  }
  return found
}

/** @throws PlatformError BAD_REQUEST for what is no scope, lies outside the boundary, or where nothing is */
function readScope(services: Services, text: string, boundaryId: string): { scope: Scope; incarnation: string } {
  const scope = parseScope(text)
  const refuse = (message: string) => badRequest('The scope of the request cannot be.', [{ field: 'scope', message }])
  if (scope === undefined) throw refuse('must be a scope as the platform writes it')
  if (!scopeContains({ level: 'boundary', boundaryId }, scope)) throw refuse('must lie in the boundary')
  const incarnation = incarnationAt(services, scope)
  if (incarnation === undefined) throw refuse('there is nothing at this scope')
  return { scope, incarnation }
}

/** Whoever may read the boundary may ask. @throws PlatformError FORBIDDEN, unknown_role, forbidden, BAD_REQUEST, duplicate_pending */
async function createRequest(context: Context<'boundaryId', unknown, z.output<typeof CreateJitRequest>>) {
  const { services, caller, body, parameters } = context
  const { boundaryId } = parameters
  refuseWhileDeleting(await findVisibleBoundary(context, boundaryId))
  requireAction(context, 'boundaries/read', boundaryId)
  const role = findRole(services, body.roleDefinitionName)
  if (isRootOnly(role)) throw rootOnlyRefused(role, body.scope)
  const { incarnation } = readScope(services, body.scope, boundaryId)
  const namespace = boundaryNamespace(boundaryId)
  return oneAtATime(`${boundaryScope(boundaryId)}/jit/${caller.principalId}`, async () => {
    const all = await services.records.list(JitRequest, { namespace }, { fresh: true })
    const isOpenSame = (request: JitRecord) =>
      request.spec.principalId === caller.principalId &&
      request.spec.roleDefinitionName === role.displayName &&
      request.spec.scope === body.scope &&
      ['Pending', 'Active'].includes(jitState(request, services.clock.now()))
    const open = all.find(isOpenSame)
    if (open !== undefined) {
      const message = 'You have an open request for this role at this scope already.'
      throw new PlatformError('duplicate_pending', message, { id: open.metadata.name })
    }
    const { object } = await services.records.create(JitRequest, {
      namespace,
      name: randomUUID(),
      spec: {
        ...body,
        principalId: caller.principalId,
        principalType: caller.principalType,
        scopeIncarnation: incarnation,
      },
      caller,
    })
    const { dto, etag } = await shown(services, boundaryId, object)
    return created(dto, { etag })
  })
}

function requireAction({ services, caller }: Context, name: string, boundaryId: string): void {
  const scope = boundaryScope(boundaryId)
  if (services.access.isAllowed(caller.principalId, name, scope)) return
  throw new PlatformError('FORBIDDEN', `The permission ${name} is missing at ${scope}.`, { action: name, scope })
}

function notPending(request: JitRecord, now: number): PlatformError {
  const status = jitState(request, now)
  return new PlatformError('invalid_state', `The request is ${status}, not Pending.`, { status }, { status: 409 })
}

type Decide = Context<'boundaryId' | 'jitId', unknown, z.output<typeof JitDecisionRequest> | undefined>

/** What both decisions ask for: another person than the requester, who could give the role themselves. */
async function decidable(context: Decide): Promise<JitRecord> {
  const { services, caller, parameters } = context
  const { boundaryId } = parameters
  await findBoundary({ services }, boundaryId)
  const request = await findRequest(context)
  const { spec } = request
  if (spec.principalId === caller.principalId) {
    throw new PlatformError('self_approval', 'Nobody decides on their own request.', { id: request.metadata.name })
  }
  if (jitState(request, services.clock.now()) !== 'Pending') throw notPending(request, services.clock.now())
  const role = findRole(services, spec.roleDefinitionName)
  const { scope, principalId } = spec
  const refusal = grantRefusal(services, caller, { role, scope, principalIds: [principalId], boundaryId })
  if (refusal?.kind === 'RootOnly') throw rootOnlyRefused(role, scope)
  if (refusal !== undefined) throw exceedingRefused('forbidden', role, scope, refusal.actions)
  return request
}

async function decide(context: Decide, decision: 'Approved' | 'Denied'): Promise<JitRecord> {
  const { services, caller, body, ifMatch, parameters } = context
  const ref = { namespace: boundaryNamespace(parameters.boundaryId), name: parameters.jitId }
  const { object } = await services.records.update(JitRequest, ref, {
    caller,
    ifMatch,
    change: (stored) => {
      const now = services.clock.now()
      // Somebody else may have decided, or the requester cancelled, since we looked.
      if (jitState(stored, now) !== 'Pending') throw notPending(stored, now)
      const decisionReason = body?.reason ?? undefined
      return { ...stored.spec, decision, decidedAt: timestamp(now), decidedBy: caller.principalId, decisionReason }
    },
  })
  return object
}

/**
 * The decision first: it is what the controller makes the assignment from, should this process stop here.
 *
 * @throws PlatformError NOT_FOUND, self_approval, invalid_state, unknown_role, forbidden, principal_not_found
 */
async function approve(context: Decide) {
  const { services, caller, parameters } = context
  const { boundaryId } = parameters
  const request = await decidable(context)
  const { principalId, scope: text } = request.spec
  const principal = (await services.principals.find([principalId], boundaryId)).get(principalId)
  if (principal?.isEnabled !== true) throw principalNotFound(principalId)
  const scope = parseScope(text)
  const incarnation = scopeIncarnationOf(request)
  if (scope === undefined || incarnation === undefined || incarnationAt(services, scope) !== incarnation) {
    const message = `What was at ${text} when this was asked for is not there any more.`
    throw new PlatformError('invalid_state', message, { scope: text }, { status: 409 })
  }
  const decided = await decide(context, 'Approved')
  const spec = jitAssignmentSpec(decided, incarnation)
  if (spec === undefined) throw new RangeError('An approved request has an end and a life of its scope.')
  const namespace = boundaryNamespace(boundaryId)
  const name = jitAssignmentName(decided)
  await services.records.create(RoleAssignment, { namespace, name, spec, caller, isSame: () => true })
  const { dto, etag } = await shown(services, boundaryId, decided)
  return ok(dto, { etag })
}

/** @throws PlatformError NOT_FOUND, self_approval, invalid_state, unknown_role, forbidden */
async function deny(context: Decide) {
  await decidable(context)
  const { services, parameters } = context
  const { dto, etag } = await shown(services, parameters.boundaryId, await decide(context, 'Denied'))
  return ok(dto, { etag })
}

/** Takes a request back, or ends the role at once. @throws PlatformError NOT_FOUND, FORBIDDEN, invalid_state */
async function endRequest(context: Context<'boundaryId' | 'jitId'>) {
  const { services, caller, ifMatch, parameters } = context
  const { boundaryId, jitId } = parameters
  const request = await findRequest(context)
  if (request.spec.principalId !== caller.principalId) requireAction(context, 'rbac/members/write', boundaryId)
  const namespace = boundaryNamespace(boundaryId)
  await services.records.update(
    JitRequest,
    { namespace, name: jitId },
    {
      caller,
      ifMatch,
      change: (stored) => {
        const now = services.clock.now()
        const status = jitState(stored, now)
        if (status === 'Pending') return { ...stored.spec, decision: 'Cancelled', decidedAt: timestamp(now) }
        if (status === 'Active') return { ...stored.spec, decision: 'Ended' }
        throw new PlatformError('invalid_state', `The request is ${status} already.`, { status }, { status: 409 })
      },
    },
  )
  const name = jitAssignmentName(request)
  try {
    await services.records.remove(RoleAssignment, { namespace, name }, { caller })
  } catch (error) {
    if (!(error instanceof PlatformError && error.code === 'NOT_FOUND')) throw error
    await untilUnheld(services, { namespace, name })
  }
  return noContent()
}

/** Milliseconds that an answer waits at most for what another process has removed already. */
const HEARD_WITHIN = 1_000

/** The controller was first: the answer waits until our watch has told, so that the next request here obeys. */
async function untilUnheld({ records }: Services, ref: { namespace: string; name: string }): Promise<void> {
  const deadline = performance.now() + HEARD_WITHIN
  while (records.peek(RoleAssignment, ref) !== undefined && performance.now() < deadline) await delay(5)
}

const BASE = '{B}/providers/authorization/jitRequests'
export const jitRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    BASE,
    {
      auth: authenticated,
      summary: 'Requests for a role for a while: all of them to who may read members, else those of the caller',
      list: jitShape as never,
      reply: pagedListOf(JitRequestDto),
      answers: [200],
    },
    async (context) => {
      const { services, caller, fresh, parameters } = context
      const { boundaryId } = parameters
      await findVisibleBoundary(context, boundaryId)
      const all = await services.records.list(JitRequest, { namespace: boundaryNamespace(boundaryId) }, { fresh })
      const isAll = mayReadAll(context, boundaryId)
      const rows = all.filter(({ spec }) => isAll || spec.principalId === caller.principalId)
      return pagedParts(await dtosOf(services, boundaryId, rows), context.list, jitShape, (row) => row)
    },
  ),
  route(
    'POST',
    BASE,
    {
      auth: authenticated,
      summary: 'Ask for a role for a while',
      body: CreateJitRequest,
      reply: JitRequestDto,
      answers: [201],
    },
    createRequest,
  ),
  route(
    'GET',
    `${BASE}/{jitId}`,
    { auth: authenticated, summary: 'Read a request for a role', reply: JitRequestDto, answers: [200] },
    async (context) => {
      const request = await findRequest(context)
      const { dto, etag } = await shown(context.services, context.parameters.boundaryId, request)
      return ok(dto, { etag })
    },
  ),
  route(
    'POST',
    `${BASE}/{jitId}/approve`,
    {
      auth: action('rbac/members/write'),
      summary: 'Give the role that is asked for, for as long as is asked',
      body: JitDecisionRequest,
      isBodyOptional: true,
      reply: JitRequestDto,
      answers: [200],
    },
    (context) => approve(context as Decide),
  ),
  route(
    'POST',
    `${BASE}/{jitId}/deny`,
    {
      auth: action('rbac/members/write'),
      summary: 'Refuse a request for a role',
      body: JitDecisionRequest,
      isBodyOptional: true,
      reply: JitRequestDto,
      answers: [200],
    },
    (context) => deny(context as Decide),
  ),
  route(
    'DELETE',
    `${BASE}/{jitId}`,
    { auth: authenticated, summary: 'Take a request back, or end the role at once', answers: [204] },
    endRequest,
  ),
]
