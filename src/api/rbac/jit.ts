import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { ignoreNotFound, PlatformError, permissionMissing } from '../../core/errors.ts'
import { FINALIZER } from '../../core/labels.ts'
import { createdAtOf, refOf } from '../../core/object.ts'
import { parseScope } from '../../core/scope.ts'
import { Description, Prose, Scope } from '../../crds/fields.ts'
import { namesCurrentPrincipal } from '../../crds/principals.ts'
import { JitRequest, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { namesCurrentRole } from '../../crds/roleIncarnations.ts'
import { scopeIncarnationOf } from '../../crds/scopeObjects.ts'
import { activeUntil, JIT_STATES, jitAssignmentName, jitAssignmentSpec, jitState } from '../../iam/jit.ts'
import { isRootOnly } from '../../iam/roles.ts'
import { principalNotFound } from '../callers/principals.ts'
import { boundaryScope, isAllowedNow, requireActionBelow } from '../callers/visibility.ts'
import { type Answer, noContent } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, checkedByHandler, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { type BoundaryParent, inVisibleBoundary } from '../resources/collection/parents.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { findRole, incarnationAt, principalLookup, refuseExceeding, rootOnlyRefused } from '../rules/grants.ts'
import { RoleName } from '../rules/memberRecord.ts'
import { refuseRequest } from '../rules/requests.ts'
import { nothingAtScope, readScope } from './scopes.ts'

type JitRecord = RecordOf<typeof JitRequest>

const CreateJitRequest = strictRecord('CreateJitRequest', {
  roleDefinitionName: RoleName,
  scope: Scope.describe('The boundary, or something in it'),
  justification: Prose.trim().min(1).max(512),
  durationMinutes: z.int().min(15).max(480).default(60),
})

const JitDecisionRequest = strictRecord('JitDecisionRequest', { reason: Description.nullish() })

const JitRequestDto = namedRecord('JitRequestDto', {
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
function mayReadAll({ services, caller }: Context, boundaryId: string): boolean {
  return services.access.isAllowed(caller.principalId, 'rbac/members/read', boundaryScope(boundaryId))
}

/** @throws PlatformError BAD_REQUEST if the scope is invalid, outside the boundary or does not exist */
function incarnationAtScope(services: Services, text: string, boundaryId: string): string {
  const incarnation = incarnationAt(services, readScope(services, text, boundaryId))
  if (incarnation === undefined) throw nothingAtScope()
  return incarnation
}

/** @throws PlatformError FORBIDDEN, unknown_role, forbidden, BAD_REQUEST, duplicate_pending, QUOTA_EXCEEDED */
async function requestSpec(
  context: Context<string, unknown, z.output<typeof CreateJitRequest>>,
  parent: BoundaryParent,
) {
  const { services, caller, body } = context
  const { boundaryId, namespace } = parent
  await requireAction(context as Context, 'boundaries/read', boundaryId)
  const role = findRole(services, body.roleDefinitionName)
  if (isRootOnly(role)) throw rootOnlyRefused(role, body.scope)
  const incarnation = incarnationAtScope(services, body.scope, boundaryId)
  const all = await services.records.list(JitRequest, { namespace }, { fresh: true })
  const { principalId, principalType } = caller
  refuseRequest(services, all, { ...body, roleDefinitionName: role.displayName, principalId })
  return { ...body, principalId, principalType, scopeIncarnation: incarnation }
}

async function requireAction({ services, caller }: Context, name: string, boundaryId: string): Promise<void> {
  const scope = boundaryScope(boundaryId)
  if (await isAllowedNow(services, caller.principalId, name, scope)) return
  throw permissionMissing(name, scope)
}

function notPending(request: JitRecord, now: number): PlatformError {
  const status = jitState(request, now)
  return new PlatformError('invalid_state', `The request is ${status}, not Pending.`, { status }, { status: 409 })
}

type Decide = Context<string, unknown, z.output<typeof JitDecisionRequest> | undefined>

/** Checks that apply to both decisions: the caller is not the requester, and could grant the role. */
async function requireDecidable(context: Decide): Promise<{ request: JitRecord; parent: BoundaryParent }> {
  const { services, caller } = context
  const { object: request, parent } = await jitRequests.find(context as Context)
  const { boundaryId } = parent
  const { spec } = request
  if (spec.principalId === caller.principalId) {
    throw new PlatformError('self_approval', 'You cannot decide on your own request.', { id: request.metadata.name })
  }
  if (jitState(request, services.clock.now()) !== 'Pending') throw notPending(request, services.clock.now())
  const { scope, principalId } = spec
  await requireActionBelow(context, 'rbac/members/write', scope)
  const role = findRole(services, spec.roleDefinitionName)
  refuseExceeding(services, caller, { role, scope, principalIds: [principalId], boundaryId }, 'forbidden')
  return { request, parent }
}

async function decide(context: Decide, request: JitRecord, decision: 'Approved' | 'Denied'): Promise<JitRecord> {
  const { services, caller, body, ifMatch } = context
  const ref = refOf(request)
  const { object } = await services.records.update(JitRequest, ref, {
    caller,
    ifMatch,
    change: (stored) => {
      refuseWhileDeleting(stored)
      const now = services.clock.now()
      // The request may have been decided or cancelled in the meantime.
      if (jitState(stored, now) !== 'Pending') throw notPending(stored, now)
      const decisionReason = body?.reason ?? undefined
      return { ...stored.spec, decision, decidedAt: timestamp(now), decidedBy: caller.principalId, decisionReason }
    },
  })
  return object
}

/**
 * Stores the decision first: the controller creates the assignment from it if this process stops here.
 * @throws PlatformError NOT_FOUND, self_approval, invalid_state, unknown_role, forbidden, principal_not_found
 */
async function approve(context: Decide) {
  const { services, caller } = context
  const { request, parent } = await requireDecidable(context)
  const { principalId, scope: text } = request.spec
  const { boundaryId, namespace } = parent
  const principal = (await services.principals.find([principalId], boundaryId)).get(principalId)
  if (principal?.isEnabled !== true) throw principalNotFound(principalId)
  const scope = parseScope(text)
  const incarnation = scopeIncarnationOf(request)
  if (scope === undefined || incarnation === undefined || incarnationAt(services, scope) !== incarnation) {
    const message = `What was at ${text} at the time of the request no longer exists.`
    throw new PlatformError('invalid_state', message, { scope: text }, { status: 409 })
  }
  if (!namesCurrentPrincipal(principalLookup(services), request, principalId)) throw principalNotFound(principalId)
  if (!namesCurrentRole(services.records.peekAll(RoleDefinition), request)) {
    const message = `The role "${request.spec.roleDefinitionName}" is not the one that was requested.`
    throw new PlatformError('invalid_state', message, { scope: text }, { status: 409 })
  }
  const decided = await decide(context, request, 'Approved')
  const spec = jitAssignmentSpec(decided, incarnation)
  if (spec === undefined) throw new RangeError('An approved request has an end and an incarnation of its scope.')
  const name = jitAssignmentName(decided)
  await services.records.create(RoleAssignment, { namespace, name, spec, caller, isSame: () => true })
  return jitRequests.show(context as Context, decided, parent)
}

/** @throws PlatformError NOT_FOUND, self_approval, invalid_state, unknown_role, forbidden */
async function deny(context: Decide) {
  const { request, parent } = await requireDecidable(context)
  return jitRequests.show(context as Context, await decide(context, request, 'Denied'), parent)
}

/** Withdraws a request, or ends the role at once. @throws PlatformError NOT_FOUND, FORBIDDEN, invalid_state */
async function endRequest(context: Context) {
  const { services, caller, ifMatch } = context
  const { object: request, parent } = await jitRequests.find(context)
  const { boundaryId, namespace } = parent
  if (request.spec.principalId !== caller.principalId) await requireAction(context, 'rbac/members/write', boundaryId)
  await services.records.update(
    JitRequest,
    { namespace, name: request.metadata.name },
    {
      caller,
      ifMatch,
      change: (stored) => {
        const now = services.clock.now()
        const status = jitState(stored, now)
        if (status === 'Pending') return { ...stored.spec, decision: 'Cancelled', decidedAt: timestamp(now) }
        if (status === 'Active') return { ...stored.spec, decision: 'Ended' }
        throw new PlatformError('invalid_state', `The request is already ${status}.`, { status }, { status: 409 })
      },
    },
  )
  const name = jitAssignmentName(request)
  // The controller may already have deleted it.
  await services.records.remove(RoleAssignment, { namespace, name }, { caller }).catch(ignoreNotFound)
  return noContent()
}

const jitRequests = collection(JitRequest, {
  path: '{B}/providers/authorization/jitRequests',
  item: 'jitId',
  noun: 'Request',
  parent: inVisibleBoundary,
  keyOf: 'name',
  isFresh: true,
  // Without rbac/members/read, callers see only their own requests.
  includes: ({ spec }, { boundaryId }, context) =>
    spec.principalId === context.caller.principalId || mayReadAll(context, boundaryId),
  may: {
    read: checkedByHandler('the action `rbac/members/read` at the boundary for requests of others than the caller'),
    write: checkedByHandler('the action `boundaries/read` at the boundary'),
  },
  dto: JitRequestDto,
  related: (requests, { services }, { boundaryId }) =>
    services.principals.find(
      requests.map(({ spec }) => spec.principalId),
      boundaryId,
    ),
  toDto: (request, { services, parent, related: principals }) => {
    const { metadata, spec } = request
    const until = activeUntil(request)
    return {
      boundaryId: parent.boundaryId,
      displayName: principals.get(spec.principalId)?.displayName ?? null,
      status: jitState(request, services.clock.now()),
      requestedAt: createdAtOf(metadata),
      activeFrom: until === undefined ? null : (spec.decidedAt ?? null),
      activeUntil: until === undefined ? null : timestamp(until),
    }
  },
  columns: {
    displayName: text('Name', { isSearched: true }),
    principalId: text('Principal', { isSorted: false }),
    roleDefinitionName: text('Role'),
    scope: text('Scope', { isSorted: false }),
    status: enumeration('Status', JIT_STATES),
    requestedAt: dateTime('Requested'),
  },
  sort: '-requestedAt',
  name: 'displayName',
  list: {
    summary: 'Requests for a role for a limited time: all of them for callers who may read members, else their own',
  },
  get: { summary: 'Read a request for a role' },
  create: {
    summary: 'Request a role for a limited time',
    body: CreateJitRequest,
    // `sees` is empty, because open requests are read from the API server.
    lock: ({ boundaryId }, { caller }) => ({
      key: `${boundaryScope(boundaryId)}/jit/${caller.principalId}`,
      sees: [],
    }),
    toSpec: requestSpec,
    // Set at creation: deleting the request must end the role that its approval granted.
    options: { finalizers: [FINALIZER] },
  },
})

const decision = (word: 'approve' | 'deny', summary: string, handle: (context: Decide) => Promise<Answer<never>>) =>
  route('POST', `${jitRequests.itemPath}/${word}` as string, {
    auth: action('rbac/members/write'),
    isHeld: true,
    summary,
    body: JitDecisionRequest,
    isBodyOptional: true,
    reply: JitRequestDto,
    handler: (context) => handle(context as Decide),
  })

export const jitRoutes: readonly RouteDraft[] = [
  ...jitRequests.routes(),
  decision('approve', 'Approve a request: give the role for the requested time', approve),
  decision('deny', 'Reject a request for a role', deny),
  // Not a removal of the object: ended requests stay readable.
  route('DELETE', jitRequests.itemPath, {
    auth: checkedByHandler('the action `rbac/members/write` at the boundary for requests of others than the caller'),
    summary: 'Withdraw a request, or end the role at once',
    answers: [204],
    handler: endRequest,
  }),
]
