import type { RouteDraft } from '../http/route.ts'
import { accountRoutes } from './accounts.ts'
import { bucketRoutes } from './buckets.ts'
import { insightRoutes } from './insight.ts'
import { keyRoutes } from './keys.ts'
import { sessionRoutes } from './sessions.ts'

/** The twenty-two routes of object storage (interface section 4.12). */
export const objectStorageRoutes: readonly RouteDraft[] = [
  ...accountRoutes,
  ...bucketRoutes,
  ...keyRoutes,
  ...sessionRoutes,
  ...insightRoutes,
]
