import { PlatformError } from '../../core/errors.ts'
import { parseScope } from '../../core/scope.ts'
import type { JitRequest } from '../../crds/rbac.ts'
import { scopeIncarnationOf } from '../../crds/scopeObjects.ts'
import { jitState } from '../../iam/jit.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { incarnationAt } from './grants.ts'

type RequestRecord = RecordOf<typeof JitRequest>
type Wanted = Pick<JitRequest['spec'], 'principalId' | 'roleDefinitionName' | 'scope'>

/**
 * Requests of one person in a boundary, with those that ended within a day. Whoever may only read can make them, and there is room in the
 * boundary for so many objects only: it is not for readers to keep its Owners from assignments.
 */
export const REQUESTS_MAX = 200

/**
 * Whether one may ask for a role beside what one has asked for, by REST and kubectl.
 *
 * @param requests of the boundary
 * @throws PlatformError duplicate_pending, QUOTA_EXCEEDED
 */
export function refuseRequest(services: Services, requests: readonly RequestRecord[], wanted: Wanted): void {
  const own = requests.filter(({ spec }) => spec.principalId === wanted.principalId)
  refuseSecond(services, own, wanted)
  const used = own.length
  if (used < REQUESTS_MAX) return
  const message = `You have ${used} requests in this boundary, and may have ${REQUESTS_MAX}: ended ones are deleted after a day.`
  throw new PlatformError('QUOTA_EXCEEDED', message, { quota: 'jitRequests', limit: REQUESTS_MAX, used, requested: 1 })
}

/**
 * Nobody asks for a role for which they wait, or which they hold for a while. What was asked for about an earlier object at
 * the scope is no such request.
 */
function refuseSecond(services: Services, own: readonly RequestRecord[], wanted: Wanted): void {
  const scope = parseScope(wanted.scope)
  const life = scope && incarnationAt(services, scope)
  const open = own.find(
    (request) =>
      request.spec.roleDefinitionName === wanted.roleDefinitionName &&
      request.spec.scope === wanted.scope &&
      // One that kubectl made a moment ago says nothing of a life yet.
      (scopeIncarnationOf(request) ?? life) === life &&
      ['Pending', 'Active'].includes(jitState(request, services.clock.now())),
  )
  if (open === undefined) return
  const message = 'You already have an open request for this role at this scope.'
  throw new PlatformError('duplicate_pending', message, { id: open.metadata.name })
}
