import { PlatformError } from '../../core/errors.ts'
import type { JitRequest } from '../../crds/rbac.ts'

/**
 * Requests of one person in a boundary, with those that ended within a day. Whoever may only read can make them, and there is room in the
 * boundary for so many objects only: it is not for readers to keep its Owners from assignments.
 */
export const REQUESTS_MAX = 200

/** @throws PlatformError QUOTA_EXCEEDED */
export function refuseTooManyRequests(requests: readonly Pick<JitRequest, 'spec'>[], principalId: string): void {
  const used = requests.filter(({ spec }) => spec.principalId === principalId).length
  if (used < REQUESTS_MAX) return
  const message = `You have ${used} requests in this boundary, and may have ${REQUESTS_MAX}: ended ones are deleted after a day.`
  throw new PlatformError('QUOTA_EXCEEDED', message, { quota: 'jitRequests', limit: REQUESTS_MAX, used, requested: 1 })
}
