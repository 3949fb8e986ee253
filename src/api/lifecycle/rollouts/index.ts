import type { Resource } from '../../../core/object.ts'
import { CHECKED_TYPES, INSPECTED_TYPES } from '../../../kube/inspectedTypes.ts'
import type { RouteDraft } from '../../http/route.ts'
import { ceilingRoutes } from './ceiling.ts'
import { driftRoutes } from './drift.ts'
import { executions } from './executions.ts'
import { planRoutes } from './plans.ts'
import { preflightRoutes } from './preflight.ts'
import { requestRoutes } from './requests.ts'

export { additionalPlanRoutes } from './plans.ts'

/** Returns the permissions of the facade for the checks and for adopting values. */
export function rolloutReads(): { resource: Resource; verbs: readonly string[] }[] {
  return [
    ...CHECKED_TYPES.map((resource) => ({ resource, verbs: ['list'] })),
    ...INSPECTED_TYPES.workloads.map((resource) => ({ resource, verbs: ['get', 'list'] })),
  ]
}

/** Plans, rollouts, checks and drift (interface section 4.21). */
export const rolloutRoutes: readonly RouteDraft[] = [
  ...planRoutes,
  ...executions.routes(),
  ...requestRoutes,
  ...preflightRoutes,
  ...ceilingRoutes,
  ...driftRoutes,
]
