import type { JitRequest } from '../crds/rbac.ts'

const DAY = 86_400_000

/** When a grant ends; undefined for one without an end, or with one that cannot be read. Milliseconds since the epoch. */
export function endOfGrant({ spec }: { spec: { expiresAt?: string | undefined } }): number | undefined {
  return readTime(spec.expiresAt)
}

/**
 * When a request for a while is removed: a day after it ran out undecided, was decided against, or the role was over, so
 * that whoever asked can read how it ended.
 */
export function endOfRequest({ metadata, spec }: Pick<JitRequest, 'metadata' | 'spec'>): number | undefined {
  const asked = readTime(metadata.creationTimestamp)
  const since = readTime(spec.decidedAt) ?? asked
  if (since === undefined) return undefined
  if (spec.decision === undefined) return since + DAY + DAY
  return spec.decision === 'Approved' ? since + spec.durationMinutes * 60_000 + DAY : since + DAY
}

function readTime(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}
