import type { RouteDraft } from '../http/route.ts'
import { groups } from './groups.ts'
import { jitRoutes } from './jit.ts'
import { roleAssignments } from './roleAssignments.ts'
import { roleDefinitionRoutes } from './roleDefinitions.ts'
import { tenants } from './tenants.ts'

/** What authorization has beyond the interface: reading back and correcting what the interface lets one make. */
export const additionalAuthorizationRoutes: readonly RouteDraft[] = [
  ...roleDefinitionRoutes,
  ...roleAssignments.routes(),
  ...groups.routes('list', 'get', 'patch', 'remove'),
  ...jitRoutes,
  ...tenants.routes(),
]
