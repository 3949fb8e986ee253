import type { RouteDraft } from '../http/route.ts'
import { checkAccessRoutes } from './checkAccess.ts'
import { denyRoutes } from './denies.ts'
import { groupRoutes } from './groups.ts'
import { iamMemberRoutes } from './iamMembers.ts'
import { platformMemberRoutes } from './platformMembers.ts'
import { purgeRoutes } from './purge.ts'
import { trustRoutes } from './trusts.ts'

export const rbacRoutes: readonly RouteDraft[] = [
  ...trustRoutes,
  ...platformMemberRoutes,
  ...groupRoutes,
  ...purgeRoutes,
  ...checkAccessRoutes,
  ...denyRoutes,
  ...iamMemberRoutes,
]
