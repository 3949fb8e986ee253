import { activityRoutes } from './activity/index.ts'
import { appRoutes } from './apps/index.ts'
import { blueprintRoutes } from './blueprints/index.ts'
import { boundaryRoutes } from './boundaries/index.ts'
import { memberRoutes } from './boundaries/members.ts'
import { tenantRoutes } from './boundaries/tenant.ts'
import { tenantMoveRoutes } from './boundaries/tenantMove.ts'
import { bugReportRoutes } from './bugreports/index.ts'
import { clusterRoutes } from './clusters/index.ts'
import { containerInstanceRoutes } from './containerinstances/index.ts'
import { crosslinkRoutes } from './crosslink/index.ts'
import { functionAreaRoutes } from './functions/index.ts'
import { documentOf } from './http/openapi.ts'
import { type Area, area, type Route } from './http/route.ts'
import { reservedNamesOf } from './http/router.ts'
import { invitationRoutes } from './invitations/index.ts'
import { jobRoutes } from './jobs/index.ts'
import { lifecycleRoutes } from './lifecycle/index.ts'
import { rolloutReads, rolloutRoutes } from './lifecycle/rollouts/index.ts'
import { managedIdentityRoutes } from './managedidentities/index.ts'
import { monitoringRoutes } from './monitoring/index.ts'
import { networkRoutes } from './network/index.ts'
import { policyReads } from './network/networkState.ts'
import { objectStorageRoutes } from './objectstorage/index.ts'
import { passwordRoutes } from './passwords/index.ts'
import { DOCUMENTED_MODULES } from './platform/documentation.ts'
import { commonRoutes } from './platform/index.ts'
import { platformBackupReads } from './platformbackups/cluster.ts'
import { platformBackupRoutes } from './platformbackups/index.ts'
import { projectionRoutes } from './projections/index.ts'
import { rbacRoutes } from './rbac/index.ts'
import { registryRoutes } from './registry/index.ts'
import { relationalRoutes } from './relational/index.ts'
import { resourceGroupRoutes } from './resourcegroups/index.ts'
import { orphanedGrantRoutes } from './resourcegroups/orphanedGrants.ts'
import { backupReads } from './resources/backups.ts'
import { sourceRoutes } from './sources/index.ts'
import { sqlRoutes } from './sql/index.ts'
import { ssoRoutes } from './sso/index.ts'
import { siteRoutes } from './staticwebapps/index.ts'
import { userRoutes } from './users/index.ts'
import { vaultRoutes } from './vaults/index.ts'
import { vectorRoutes } from './vector/index.ts'

/** Every area with the module that its errors and documents name (interface section 4.1). */
export const AREAS: readonly Area[] = [
  area('common', 'platform', [commonRoutes]),
  area('vector', 'db-vector', [vectorRoutes]),
  area('relational', 'db-relational', [relationalRoutes]),
  area('sql', 'db-sql', [sqlRoutes]),
  area('containerinstances', 'containerinstances', [containerInstanceRoutes]),
  area('staticwebapps', 'staticwebapps', [siteRoutes]),
  area('apps', 'apps', [appRoutes]),
  area('secrets', 'secrets', [vaultRoutes]),
  area('jobs', 'jobs', [jobRoutes]),
  area('functions', 'functions', [functionAreaRoutes]),
  area('objectstorage', 'objectstorage', [objectStorageRoutes]),
  area('boundaries', 'boundaries', [
    boundaryRoutes,
    memberRoutes,
    networkRoutes,
    projectionRoutes,
    crosslinkRoutes,
    tenantRoutes,
  ]),
  area('resourcegroups', 'resource-groups', [resourceGroupRoutes, orphanedGrantRoutes]),
  area('managedidentities', 'managed-identity', [managedIdentityRoutes()]),
  area('monitoring', 'monitoring', [monitoringRoutes]),
  area('registry', 'registry', [registryRoutes]),
  area('blueprints', 'blueprints', [blueprintRoutes]),
  area('rbac', 'rbac', [rbacRoutes, tenantMoveRoutes, invitationRoutes, passwordRoutes, userRoutes, ssoRoutes], {
    errors: 'snake',
  }),
  area('kernel', 'kernel', [activityRoutes, bugReportRoutes, clusterRoutes, sourceRoutes]),
  area('lifecycle', 'lifecycle', [lifecycleRoutes, platformBackupRoutes, rolloutRoutes]),
]

/** Every route of the interface. */
export const ROUTES: readonly Route[] = AREAS.flatMap((entry) => entry.routes)

/** Every route that the interface does not have. */
export const ADDITIONS: readonly Route[] = AREAS.flatMap((entry) => entry.additions)

/** Every route of the platform, additions included: what the router serves and the documents describe. */
export const SERVED_ROUTES: readonly Route[] = [...ROUTES, ...ADDITIONS]

/** Returns the OpenAPI 3.1 document of a module, from the table that routes its requests; undefined without routes. */
export function openApiDocument(module: string): object | undefined {
  const routes = SERVED_ROUTES.filter((route) => route.module === module)
  return routes.length === 0 ? undefined : documentOf(titleOf(module), routes, { areas: AREA_TITLES })
}

const titleOf = (module: string): string => DOCUMENTED_MODULES[module]?.title ?? module
const AREA_TITLES = Object.fromEntries(AREAS.map(({ name, module }) => [name, titleOf(module)]))

const ABOUT = `Every route of the platform. Sign in with **Authorize** and a token, which \`freehold token\` prints.

Refusals carry a code that programs may rely on, and a sentence for people.`

/** Returns the document of all modules. This takes seconds. */
export function wholeOpenApiDocument(): object {
  return documentOf('Freehold', SERVED_ROUTES, { areas: AREA_TITLES, description: ABOUT })
}

/** Names that resources, groups and namespaces may not have, because a route has a literal segment in their place. */
export function reservedNames(): string[] {
  return reservedNamesOf(SERVED_ROUTES)
}

/**
 * What routes read of Kubernetes itself, beyond our kinds: nodes and pods for the verdict of a plan and the live state of
 * a resource, storage classes for whether volumes can be shared, volumes and claims for administrators.
 */
export function facadeReads(): {
  resource: { group: string; plural: string }
  verbs: readonly string[]
  resourceNames?: readonly string[]
}[] {
  return [
    { resource: { group: '', plural: 'nodes' }, verbs: ['get', 'list', 'watch'] },
    { resource: { group: '', plural: 'pods' }, verbs: ['get', 'list', 'watch'] },
    { resource: { group: 'events.k8s.io', plural: 'events' }, verbs: ['list'] },
    { resource: { group: 'metrics.k8s.io', plural: 'pods' }, verbs: ['list'] },
    { resource: { group: 'apps', plural: 'controllerrevisions' }, verbs: ['list'] },
    { resource: { group: 'storage.k8s.io', plural: 'storageclasses' }, verbs: ['get', 'list', 'watch'] },
    { resource: { group: 'metrics.k8s.io', plural: 'nodes' }, verbs: ['list'] },
    { resource: { group: '', plural: 'persistentvolumes' }, verbs: ['list'] },
    { resource: { group: '', plural: 'persistentvolumeclaims' }, verbs: ['list'] },
    ...backupReads(),
    ...policyReads(),
    ...platformBackupReads(),
    ...rolloutReads(),
  ]
}
