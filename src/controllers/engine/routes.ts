import { resourceId } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { ingress } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Observed, Pass } from './pass.ts'

/** What leads callers from outside to a workload. */
const ROUTES = [ingress, httpRoute]

/** The routes that a controller keeps. */
export function routesAmong(observes: readonly Observed[]) {
  const ids = new Set(observes.map((each) => resourceId('resource' in each ? each.resource : each)))
  return ROUTES.filter((route) => ids.has(resourceId(route)))
}

/** Removes the routes to a resource that is being deleted: its pods end slowly, and answer with errors meanwhile. */
export function cutRoutes(routes: typeof ROUTES) {
  return async function cutRoutes({ children, workloads }: Pick<Pass, 'children' | 'workloads'>): Promise<Outcome> {
    for (const route of routes) if (workloads.isServed(route)) await children.prune(route, [])
    return done()
  }
}
