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
 * The most requests of one person in a boundary, including those that ended within a day. Readers may create requests,
 * and a boundary holds a limited number of objects: readers must not keep its Owners from creating assignments.
 */
export const MAX_ROLE_REQUESTS = 200

/**
 * Refuses a duplicate request for a role, and one too many, for REST and kubectl alike.
 *
 * @param requests of the boundary
 * @throws PlatformError duplicate_pending, QUOTA_EXCEEDED
 */
export function refuseRequest(services: Services, requests: readonly RequestRecord[], wanted: Wanted): void {
  const own = requests.filter(({ spec }) => spec.principalId === wanted.principalId)
  refuseSecond(services, own, wanted)
  const used = own.length
  if (used < MAX_ROLE_REQUESTS) return
  const message = `You have ${used} requests in this boundary, and may have ${MAX_ROLE_REQUESTS}: ended ones are deleted after a day.`
  throw new PlatformError('QUOTA_EXCEEDED', message, {
    quota: 'jitRequests',
    limit: MAX_ROLE_REQUESTS,
    used,
    requested: 1,
  })
}

/**
 * Refuses a request for a role that the person has requested already, or holds temporarily. A request about an earlier
 * object at the scope does not count.
 */
function refuseSecond(services: Services, own: readonly RequestRecord[], wanted: Wanted): void {
  const scope = parseScope(wanted.scope)
  const incarnation = scope && incarnationAt(services, scope)
  const open = own.find(
    (request) =>
      request.spec.roleDefinitionName === wanted.roleDefinitionName &&
      request.spec.scope === wanted.scope &&
      // A request that kubectl has just created names no incarnation yet.
      (scopeIncarnationOf(request) ?? incarnation) === incarnation &&
      ['Pending', 'Active'].includes(jitState(request, services.clock.now())),
  )
  if (open === undefined) return
  const message = 'You already have an open request for this role at this scope.'
  throw new PlatformError('duplicate_pending', message, { id: open.metadata.name })
}
