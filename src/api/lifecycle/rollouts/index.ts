import type { Resource } from '../../../core/object.ts'
import {
  clusterRole,
  customResourceDefinition,
  daemonSet,
  deployment,
  resourceQuota,
  statefulSet,
} from '../../../kube/builtin.ts'
import { certificate } from '../../../kube/certmanager.ts'
import { postgresqlCluster } from '../../../kube/postgresql.ts'
import type { RouteDraft } from '../../http/route.ts'
import { driftRoutes } from './drift.ts'
import { executions } from './executions.ts'
import { planRoutes } from './plans.ts'
import { preflightRoutes } from './preflight.ts'
import { requestRoutes } from './requests.ts'

export { additionalPlanRoutes } from './plans.ts'

/** What the facade reads for the checks, and for values that are taken over. */
export function rolloutReads(): { resource: Resource; verbs: readonly string[]; resourceNames?: readonly string[] }[] {
  const listed = [clusterRole, customResourceDefinition, resourceQuota, postgresqlCluster, certificate]
  return [
    ...listed.map((resource) => ({ resource, verbs: ['list'] })),
    ...[deployment, statefulSet, daemonSet].map((resource) => ({ resource, verbs: ['get', 'list'] })),
  ]
}

/** Plans, rollouts, checks and drift (interface section 4.21). */
export const rolloutRoutes: readonly RouteDraft[] = [
  ...planRoutes,
  ...executions.routes(),
  ...requestRoutes,
  ...preflightRoutes,
  ...driftRoutes,
]
