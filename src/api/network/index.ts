import type { RouteDraft } from '../http/route.ts'
import { checkRoute } from './check.ts'
import { denyRoutes } from './denies.ts'
import { graphRoute } from './graph.ts'
import { statusRoutes } from './status.ts'

/** Which connections of a boundary are allowed, and which were seen (interface section 4.13). */
export const networkRoutes: readonly RouteDraft[] = [checkRoute, ...denyRoutes, graphRoute, ...statusRoutes]
