import { additionalAppRoutes } from './apps/index.ts'
import { additionalCrosslinkRoutes } from './crosslink/index.ts'
import { type Area, additionsTo, type Route } from './http/route.ts'
import { additionalPlanRoutes } from './lifecycle/rollouts/index.ts'
import { alertmanagerRoute } from './monitoring/alertmanager.ts'
import { additionalBucketRoutes } from './objectstorage/buckets.ts'
import { additionalKeyRoutes } from './objectstorage/keys.ts'
import { additionalCommonRoutes } from './platform/index.ts'
import { additionalBackupRoutes } from './platformbackups/index.ts'
import { additionalAuthorizationRoutes } from './rbac/additions.ts'
import { additionalEditorRoutes } from './relational/editor.ts'
import { additionalSqlRoutes } from './sql/index.ts'

/**
 * What the platform serves beyond the interface, by area: what one needs to read back, correct or take away what the
 * interface lets one make. Apart, so that the table of the interface can be held equal to the interface.
 */
export const ADDITION_AREAS: readonly Area[] = [
  additionsTo('common', 'platform', additionalCommonRoutes),
  additionsTo('apps', 'apps', additionalAppRoutes),
  additionsTo('boundaries', 'boundaries', additionalCrosslinkRoutes),
  additionsTo('rbac', 'rbac', additionalAuthorizationRoutes),
  additionsTo('objectstorage', 'objectstorage', [...additionalKeyRoutes, ...additionalBucketRoutes]),
  additionsTo('relational', 'db-relational', additionalEditorRoutes),
  additionsTo('sql', 'db-sql', additionalSqlRoutes),
  additionsTo('monitoring', 'monitoring', [alertmanagerRoute]),
  additionsTo('lifecycle', 'lifecycle', [...additionalBackupRoutes, ...additionalPlanRoutes]),
]

export const ADDITIONS: readonly Route[] = ADDITION_AREAS.flatMap((entry) => entry.routes)
