import type { RouteDraft } from '../http/route.ts'
import { groups } from './groups.ts'
import { jitRoutes } from './jit.ts'
import { roleAssignments } from './roleAssignments.ts'
import { roleDefinitionRoutes } from './roleDefinitions.ts'
import { tenants } from './tenants.ts'

/** Routes beyond the interface, which read and change what the interface can only create. */
export const additionalAuthorizationRoutes: readonly RouteDraft[] = [
  ...roleDefinitionRoutes,
  ...roleAssignments.routes(),
  ...groups.routes('list', 'get', 'patch', 'remove'),
  ...jitRoutes,
  ...tenants.routes(),
]
