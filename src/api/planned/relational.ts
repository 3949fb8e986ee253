import { action, planned, type RouteDraft } from '../route.ts'

/** Rows of relational databases (interface section 4.4) that are not built yet. A row leaves when its route is built. */
export const plannedRelational: readonly RouteDraft[] = [
  planned('GET', '{RG}/relationalclusters/{name}/editor/history', {
    auth: action('relationalcluster/read'),
    query: ['limit:integer'],
    answers: [200],
  }),
]
