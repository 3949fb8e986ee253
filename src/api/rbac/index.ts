import type { RouteDraft } from '../http/route.ts'
import { checkAccessRoutes } from './checkAccess.ts'
import { denies } from './denies.ts'
import { groups } from './groups.ts'
import { iamMemberRoutes } from './iamMembers.ts'
import { jitRoutes } from './jit.ts'
import { platformMemberRoutes } from './platformMembers.ts'
import { purgeRoutes } from './purge.ts'
import { roleAssignments } from './roleAssignments.ts'
import { roleDefinitionRoutes } from './roleDefinitions.ts'
import { tenants } from './tenants.ts'
import { trusts } from './trusts.ts'

export const rbacRoutes: readonly RouteDraft[] = [
  ...trusts.routes(),
  ...platformMemberRoutes,
  ...groups.routes(),
  ...purgeRoutes,
  ...checkAccessRoutes,
  ...denies.routes(),
  ...iamMemberRoutes,
  ...roleDefinitionRoutes,
  ...roleAssignments.routes(),
  ...jitRoutes,
  ...tenants.routes(),
]
