import type { RouteDraft } from '../http/route.ts'
import { alertmanagerRoute } from './alertmanager.ts'
import { alertRoutes } from './alerts.ts'
import { claimsRoute } from './claims.ts'
import { nodesRoute } from './nodes.ts'
import { platformMetricsRoute } from './platformMetrics.ts'
import { requestsRoute } from './requests.ts'
import { seriesRoute } from './series.ts'
import { utilizationRoute } from './utilization.ts'
import { volumesRoute } from './volumes.ts'

/** The routes of monitoring (interface section 4.16), and the one that Alertmanager calls. */
export const monitoringRoutes: readonly RouteDraft[] = [
  seriesRoute,
  ...alertRoutes,
  requestsRoute,
  utilizationRoute,
  platformMetricsRoute,
  nodesRoute,
  volumesRoute,
  claimsRoute,
  alertmanagerRoute,
]
