import { DAY_MS } from '../core/clock.ts'
import type { JitRequest } from '../crds/rbac.ts'

/** Returns when a grant expires, in milliseconds since the epoch; undefined if it never does or the time is invalid. */
export function grantExpiryOf({ spec }: { spec: { expiresAt?: string | undefined } }): number | undefined {
  return readTime(spec.expiresAt)
}

/**
 * Returns when a just-in-time request is removed: a day after it expired undecided, was rejected, or its role expired,
 * so that the requester can read the outcome.
 */
export function requestRemovalTimeOf({ metadata, spec }: Pick<JitRequest, 'metadata' | 'spec'>): number | undefined {
  const createdAt = readTime(metadata.creationTimestamp)
  const since = readTime(spec.decidedAt) ?? createdAt
  if (since === undefined) return undefined
  if (spec.decision === undefined) return since + DAY_MS + DAY_MS
  return spec.decision === 'Approved' ? since + spec.durationMinutes * 60_000 + DAY_MS : since + DAY_MS
}

function readTime(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}
