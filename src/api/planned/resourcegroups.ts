import { action, planned, type RouteDraft } from '../route.ts'

/** Rows of resource groups that are not built yet. A row leaves when its route is built. */
export const plannedResourcegroups: readonly RouteDraft[] = [
  planned('GET', '/resourcegroups/orphaned-grants', { auth: action('resourcegroups/delete'), answers: [200] }),
  planned('POST', '/resourcegroups/orphaned-grants/purge', { auth: action('resourcegroups/delete'), answers: [200] }),
]
