import type { RouteDraft } from '../http/route.ts'
import { groupReadRoutes } from './groupReads.ts'
import { jitRoutes } from './jit.ts'
import { assignmentRoutes } from './roleAssignments.ts'
import { roleDefinitionRoutes } from './roleDefinitions.ts'
import { tenantAdminRoutes } from './tenants.ts'

/** What authorization has beyond the interface: reading back and correcting what the interface lets one make. */
export const additionalAuthorizationRoutes: readonly RouteDraft[] = [
  ...roleDefinitionRoutes,
  ...assignmentRoutes,
  ...groupReadRoutes,
  ...jitRoutes,
  ...tenantAdminRoutes,
]
