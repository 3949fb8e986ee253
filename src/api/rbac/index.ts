import type { RouteDraft } from '../route.ts'
import { checkAccessRoutes } from './checkAccess.ts'

export const rbacRoutes: readonly RouteDraft[] = [...checkAccessRoutes]
