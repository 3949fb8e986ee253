import { z } from 'zod'
import { findAction, isKnownAction, isOpenAction, OPEN_ACTION_PREFIXES } from '../../core/actions.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { parseScope, scopeContains } from '../../core/scope.ts'
import { Scope } from '../../crds/fields.ts'
import type { Decision } from '../../iam/records.ts'
import { boundaryScope, findVisibleBoundary, isAllowedNow } from '../callers/visibility.ts'
import { findVisiblePrincipals } from '../callers/visiblePeople.ts'
import { ok } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { checkedByHandler, type RouteDraft, route } from '../http/route.ts'
import { DateTime, Uuid } from '../resources/dto.ts'

const CHECKS_MAX = 100

/** A principal that cannot sign in may do nothing, whatever its assignments. */
const PRINCIPAL_REASONS = ['PrincipalDisabled', 'PrincipalNotFound'] as const
const REASONS = [
  'AllowedByAssignment',
  'AllowedByTrust',
  'DeniedByAssignment',
  'NoAssignment',
  'RootOnly',
  ...PRINCIPAL_REASONS,
] as const

const AccessCheck = strictRecord('AccessCheck', {
  action: z.string().min(1).max(128),
  isDataAction: z.boolean().nullish().describe('Looked up; refused where it says otherwise'),
  scope: Scope.nullish().describe('The boundary when absent'),
})

const CheckAccessRequestDto = strictRecord('CheckAccessRequestDto', {
  principalId: Uuid.nullish().describe('The caller when absent'),
  checks: z.array(AccessCheck).min(1).max(CHECKS_MAX).optional(),
  // The form for a single check.
  action: AccessCheck.shape.action.optional(),
  isDataAction: AccessCheck.shape.isDataAction,
  scope: AccessCheck.shape.scope,
})
type CheckAccessRequest = z.output<typeof CheckAccessRequestDto>

const AccessCheckResult = namedRecord('AccessCheckResult', {
  action: z.string(),
  scope: z.string(),
  allowed: z.boolean(),
  reason: z.enum(REASONS),
  decidedBy: namedRecord('DecidingGrant', {
    kind: z.enum(['RoleAssignment', 'DenyAssignment', 'JitRequest', 'BoundaryTrust']),
    id: z.string(),
    roleDefinitionName: z.string().nullable(),
    scope: z.string(),
    viaGroupId: z.string().nullable(),
    expiresAt: DateTime.nullable(),
  }).nullable(),
})

export const CheckAccessResultDto = namedRecord('CheckAccessResultDto', {
  principalId: Uuid,
  evaluatedAt: DateTime,
  results: z.array(AccessCheckResult),
})

type Check = { action: string; scope: string }

/**
 * Returns the checks in a body, with their scopes filled in.
 * @throws PlatformError BAD_REQUEST naming each field: both forms or neither, unknown actions, scopes outside the
 * boundary
 */
export function readChecks(body: CheckAccessRequest, boundaryId: string): Check[] {
  const { checks, action, isDataAction, scope } = body
  const isSingle = action !== undefined
  const single = { action, isDataAction, scope }
  const hasBothForms =
    checks !== undefined && Object.values(single).some((value) => value !== undefined && value !== null)
  if (hasBothForms || (checks === undefined && !isSingle)) {
    const message = 'give either checks or a single action, with its scope'
    throw refusedFields([{ field: 'checks', message }])
  }
  const requested = checks ?? [{ ...single, action: action ?? '' }]
  const errors = requested.flatMap((check, index) => {
    const path = isSingle ? '' : `checks.${index}.`
    return [...actionErrors(check, path), ...scopeErrors(check.scope, boundaryId, path)]
  })
  if (errors.length > 0) throw refusedFields(errors)
  return requested.map((check) => ({ action: check.action, scope: check.scope ?? boundaryScope(boundaryId) }))
}

function actionErrors({ action, isDataAction }: z.output<typeof AccessCheck>, path: string) {
  if (!isKnownAction(action) && !isOpenAction(action)) {
    const message = `is not an action of the platform, nor below ${OPEN_ACTION_PREFIXES.join(' or ')}`
    return [{ field: `${path}action`, message }]
  }
  const isData = findAction(action)?.isData ?? false
  if ((isDataAction ?? isData) === isData) return []
  return [{ field: `${path}isDataAction`, message: `the action is ${isData ? 'a' : 'not a'} data action` }]
}

function scopeErrors(text: string | null | undefined, boundaryId: string, path: string) {
  if (text === null || text === undefined) return []
  const scope = parseScope(text)
  const field = `${path}scope`
  if (scope === undefined)
    return [{ field, message: 'is not a scope: write it as /boundaries/<uuid>/resourcegroups/<name>' }]
  if (scopeContains({ level: 'boundary', boundaryId }, scope)) return []
  return [{ field, message: 'lies outside the boundary of the request' }]
}

/** Returns why the principal may do nothing at all; undefined if it can act. */
async function principalRefusal(
  services: Services,
  caller: Caller,
  principalId: string,
  boundaryId: string,
): Promise<(typeof PRINCIPAL_REASONS)[number] | undefined> {
  // The caller's token was verified for this request.
  if (principalId === caller.principalId) return undefined
  // Does not reveal that a principal without access to the boundary exists.
  const { everywhere, boundaryIds } = services.access.boundariesOf(principalId)
  const hasAccess = everywhere || boundaryIds.includes(boundaryId)
  const known = hasAccess
    ? await services.principals.find([principalId], boundaryId)
    : await findVisiblePrincipals(services, caller, [principalId], boundaryId)
  const found = known.get(principalId)
  if (found === undefined) return 'PrincipalNotFound'
  return found.isEnabled ? undefined : 'PrincipalDisabled'
}

type Answer = Omit<Decision, 'reason'> & { reason: (typeof REASONS)[number] }

function resultOf(check: Check, { allowed, reason, decidedBy }: Answer): z.output<typeof AccessCheckResult> {
  if (decidedBy === undefined) return { ...check, allowed, reason, decidedBy: null }
  const { kind, id, roleDefinitionName = null, scope, viaGroupId = null, expiresAt } = decidedBy
  const expiry = expiresAt === undefined ? null : timestamp(expiresAt)
  return {
    ...check,
    allowed,
    reason,
    decidedBy: { kind, id, roleDefinitionName, scope, viaGroupId, expiresAt: expiry },
  }
}

/** @throws PlatformError NOT_FOUND, FORBIDDEN (permissions of somebody else), BAD_REQUEST */
async function checkAccess(context: Context<'boundaryId', unknown, CheckAccessRequest>) {
  const { services, caller, body, parameters } = context
  const { access, clock } = services
  const { boundaryId } = parameters
  await findVisibleBoundary(context, boundaryId)
  const principalId = body.principalId ?? caller.principalId
  const readsMembers = () => isAllowedNow(services, caller.principalId, 'rbac/members/read', boundaryScope(boundaryId))
  if (principalId !== caller.principalId && !(await readsMembers())) {
    const message = 'Only holders of rbac/members/read at the boundary may see what others may do.'
    throw new PlatformError('FORBIDDEN', message, { action: 'rbac/members/read', scope: boundaryScope(boundaryId) })
  }
  const checks = readChecks(body, boundaryId)
  const evaluatedAt = timestamp(clock.now())
  const refusal = await principalRefusal(services, caller, principalId, boundaryId)
  const results = checks.map((check) =>
    resultOf(
      check,
      refusal === undefined
        ? access.explain(principalId, check.action, check.scope)
        : { allowed: false, reason: refusal },
    ),
  )
  return ok({ principalId, evaluatedAt, results })
}

export const checkAccessRoutes: readonly RouteDraft[] = [
  route('POST', '{B}/providers/authorization/checkAccess', {
    auth: checkedByHandler('a role in the boundary, and to ask about others the action `rbac/members/read` at it'),
    summary: 'Whether a principal may do something, and which record decides it',
    body: CheckAccessRequestDto,
    reply: CheckAccessResultDto,
    handler: checkAccess,
  }),
]
