import { timestamp } from '../core/clock.ts'
import { uuidV5 } from '../core/ids.ts'
import type { JitRequest, RoleAssignment } from '../crds/rbac.ts'

export const JIT_STATES = ['Pending', 'Active', 'Denied', 'Cancelled', 'Expired', 'Ended'] as const
export type JitState = (typeof JIT_STATES)[number]

/** How long a request may wait for a decision. */
export const PENDING_MILLISECONDS = 86_400_000

export type JitObject = Pick<JitRequest, 'spec' | 'status'> & {
  readonly metadata: { readonly name: string; readonly creationTimestamp?: string }
}

/** When a request that nobody decided runs out; undefined if its creation cannot be read. */
export function pendingUntil({ metadata }: JitObject): number | undefined {
  return readTime(metadata.creationTimestamp, PENDING_MILLISECONDS)
}

/** When the role is over; undefined for what was not approved. Milliseconds since the epoch. */
export function activeUntil({ spec }: Pick<JitObject, 'spec'>): number | undefined {
  return spec.decision === 'Approved' ? readTime(spec.decidedAt, spec.durationMinutes * 60_000) : undefined
}

/** What a request is at this moment: told from the decision and the time, so that nobody must write that time passed. */
export function jitState(request: JitObject, now: number): JitState {
  const { decision } = request.spec
  switch (decision) {
    case undefined:
      return now < (pendingUntil(request) ?? Number.POSITIVE_INFINITY) ? 'Pending' : 'Expired'
    case 'Approved':
      // An approval without a readable time would have no end. An assignment that somebody took away ended it.
      if (!(now < (activeUntil(request) ?? 0))) return 'Ended'
      return request.status?.state === 'Ended' ? 'Ended' : 'Active'
    default:
      return decision
  }
}

/** The name of the assignment that an approval makes; every attempt to make it meets the first. */
export function jitAssignmentName({ metadata }: Pick<JitObject, 'metadata'>): string {
  return uuidV5(`jit/${metadata.name}`)
}

/**
 * What the assignment of an approved request says. It names the life of the scope that the request was about, so that a
 * thing made anew meanwhile is not opened by it. Undefined if nothing is approved, or the request is of no life.
 *
 * @param scopeIncarnation of the request
 */
export function jitAssignmentSpec(
  request: JitObject,
  scopeIncarnation: string | undefined,
): RoleAssignment['spec'] | undefined {
  const end = activeUntil(request)
  if (end === undefined || scopeIncarnation === undefined) return undefined
  const { principalId, principalType, roleDefinitionName, scope, justification } = request.spec
  return {
    principalId,
    principalType,
    roleDefinitionName,
    scope,
    scopeIncarnation,
    expiresAt: timestamp(end),
    reason: justification,
    jitRequestId: request.metadata.name,
  }
}

function readTime(text: string | undefined, later: number): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? undefined : time + later
}
