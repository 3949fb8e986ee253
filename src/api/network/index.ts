import type { RouteDraft } from '../http/route.ts'
import { checkRoute } from './check.ts'
import { denyRoutes } from './denies.ts'
import { graphRoute } from './graph.ts'
import { statusRoutes } from './status.ts'

/** What lets connections of a boundary pass, and which there were (interface section 4.13). */
export const networkRoutes: readonly RouteDraft[] = [checkRoute, ...denyRoutes, graphRoute, ...statusRoutes]
