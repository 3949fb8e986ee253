import { DAY_MS, timestamp } from '../core/clock.ts'
import { uuidV5 } from '../core/ids.ts'
import type { JitRequest, RoleAssignment } from '../crds/rbac.ts'

export const JIT_STATES = ['Pending', 'Active', 'Denied', 'Cancelled', 'Expired', 'Ended'] as const
export type JitState = (typeof JIT_STATES)[number]

/** How long a request waits for a decision before it expires. */
export const PENDING_TTL_MS = DAY_MS

export type JitObject = Pick<JitRequest, 'spec' | 'status'> & {
  readonly metadata: { readonly name: string; readonly creationTimestamp?: string }
}

/** Returns when an undecided request expires; undefined if its creation time is unreadable. */
export function pendingUntil({ metadata }: JitObject): number | undefined {
  return parseTime(metadata.creationTimestamp, PENDING_TTL_MS)
}

/** Returns when the granted role ends, in milliseconds since the epoch; undefined unless the request was approved. */
export function activeUntil({ spec }: Pick<JitObject, 'spec'>): number | undefined {
  return spec.decision === 'Approved' ? parseTime(spec.decidedAt, spec.durationMinutes * 60_000) : undefined
}

/** Returns the state of a request now, derived from decision and time, so that nobody must store an expiry. */
export function jitState(request: JitObject, now: number): JitState {
  const { decision } = request.spec
  switch (decision) {
    case undefined:
      return now < (pendingUntil(request) ?? Number.POSITIVE_INFINITY) ? 'Pending' : 'Expired'
    case 'Approved':
      // Without a readable time an approval would never end. It also ends if somebody deletes its assignment.
      if (!(now < (activeUntil(request) ?? 0))) return 'Ended'
      return request.status?.state === 'Ended' ? 'Ended' : 'Active'
    default:
      return decision
  }
}

/** Returns the name of the assignment that an approval creates. It is the same for every retry. */
export function jitAssignmentName({ metadata }: Pick<JitObject, 'metadata'>): string {
  return uuidV5(`jit/${metadata.name}`)
}

/**
 * Returns the assignment spec for an approved request. It names the incarnation of the requested scope, so that it does
 * not apply to an object that was recreated in the meantime. Undefined if the request is not approved or has no
 * incarnation.
 * @param scopeIncarnation the incarnation of the scope when it was requested
 */
export function jitAssignmentSpec(
  request: JitObject,
  scopeIncarnation: string | undefined,
): RoleAssignment['spec'] | undefined {
  const expiry = activeUntil(request)
  if (expiry === undefined || scopeIncarnation === undefined) return undefined
  const { principalId, principalType, roleDefinitionName, scope, justification } = request.spec
  return {
    principalId,
    principalType,
    roleDefinitionName,
    scope,
    scopeIncarnation,
    expiresAt: timestamp(expiry),
    reason: justification,
    jitRequestId: request.metadata.name,
  }
}

function parseTime(text: string | undefined, later: number): number | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : time + later
}
