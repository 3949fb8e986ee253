/** The prefix of our labels, annotations and finalizers; an admission policy keeps others from writing them. */
export const PREFIX = 'freehold.dev/'

/** On every namespace of a boundary or group, and on every child: the boundary's id. */
export const BOUNDARY_LABEL = `${PREFIX}boundary`
/** On a group's namespace and on everything that the platform creates in it: the group's name. */
export const GROUP_LABEL = `${PREFIX}resource-group`
/** On the namespace of a boundary or group that is being deleted: nothing new may be placed in it. */
export const LEAVING_LABEL = `${PREFIX}leaving`
/**
 * On a namespace while its boundary, or all groups of its boundary together, have reached their limit of objects. The
 * value is a `fullLabelValue`. Admission refuses new objects in the namespace.
 */
export const FULL_LABEL = `${PREFIX}full`
/**
 * On a namespace that an administrator or a Git tool created before its boundary or group: `Boundary` or
 * `ResourceGroup`. Objects may be placed in it, and its owner adopts it.
 */
export const RESERVED_LABEL = `${PREFIX}reserved-for`
/** On children: the kind and the name of the resource they belong to, for selection and pruning. */
export const OWNER_KIND_LABEL = `${PREFIX}owner-kind`
export const OWNER_NAME_LABEL = `${PREFIX}owner-name`

/** A random id that each of our objects gets once. It survives a restore from backup, but not a deletion. */
export const INCARNATION_ANNOTATION = `${PREFIX}incarnation`
/** On children: the incarnation of their owner, which tells two owners of one name apart without an owner reference. */
export const OWNER_INCARNATION_ANNOTATION = `${PREFIX}incarnation-of-owner`
/** On children outside their owner's namespace: the owner's namespace; absent for cluster-scoped owners. */
export const OWNER_NAMESPACE_ANNOTATION = `${PREFIX}owner-namespace`
/** On a grant whose spec names no incarnation of its scope: the one that existed when the grant was created. */
export const SCOPE_INCARNATION_ANNOTATION = `${PREFIX}scope-incarnation`
/** On a record that names principals: the incarnation of each, by id, as JSON. */
export const PRINCIPAL_INCARNATIONS_ANNOTATION = `${PREFIX}principal-incarnations`
/** On the namespace of a projection: its boundary and cluster, which stay the same when the projection is recreated. */
export const PROJECTED_ANNOTATION = `${PREFIX}projected`
/** On an assignment of a custom role: the incarnation of the role. */
export const ROLE_INCARNATION_ANNOTATION = `${PREFIX}role-incarnation`
/** Who wrote the generation that the annotation names: `<generation> <principalId>`. */
export const ACTOR_ANNOTATION = `${PREFIX}actor`
/** Who created the object, for `createdBy`. */
export const CREATED_BY_ANNOTATION = `${PREFIX}created-by`
export function createdByOf({ annotations }: { annotations?: Record<string, string> }): string | null {
  return annotations?.[CREATED_BY_ANNOTATION] ?? null
}
/** On an assignment at the root: the tenant whose membership created it, and whose end removes it. */
export const TENANT_ANNOTATION = `${PREFIX}tenant`
/** On a Boundary whose initial owner has been made Owner by an assignment: from then on only assignments count. */
export const INITIAL_OWNER_ASSIGNED_ANNOTATION = `${PREFIX}initial-owner-assigned`
/** On an object that a blueprint created: `<name of the deployment>/<component>`. */
export const BLUEPRINT_ANNOTATION = `${PREFIX}blueprint`
/** On an object that a blueprint created: namespace and name of the execution that wrote it last. */
export const BLUEPRINT_EXECUTION_ANNOTATION = `${PREFIX}blueprint-execution`
/** On an app or a site that previews a branch of another one: the name of the other one. */
export const PREVIEW_LABEL = `${PREFIX}preview-of`
/** On a volume claim that was retained when its resource was deleted: the kind and name that may adopt it. */
export const RETAINED_FOR_ANNOTATION = `${PREFIX}retained-for`
/** On a retained volume claim: the engine that last wrote the files, as `<engine> <version>`. */
export const RETAINED_ENGINE_ANNOTATION = `${PREFIX}retained-engine`

/** On a retained volume claim: the incarnations of its former owners, oldest first, separated by commas. */
export const RETAINED_INCARNATIONS_ANNOTATION = `${PREFIX}retained-lives`
/**
 * On a resource that adopted retained volumes: the incarnations of their former owners. Denies scoped to those apply
 * here too; grants do not.
 */
export const FORMER_INCARNATIONS_ANNOTATION = `${PREFIX}former-incarnations`

/** On a database that is restored from another group: the snapshot for which REST checked the caller's rights. */
export const RESTORE_ANNOTATION = `${PREFIX}restore-approved`
/** On a snapshot of a Backup that the engine's schedule made: the name of that Backup. */
export const BACKUP_ANNOTATION = `${PREFIX}backup`
/** On an admission policy: a digest of its content, by which `freehold check` recognizes one of another version. */
export const DIGEST_ANNOTATION = `${PREFIX}digest`

/** On a namespace, set by an administrator: its pods may read the metrics of the engines. */
export const METRICS_READER_LABEL = `${PREFIX}metrics-reader`
/** On the one Service of a resource that selects every pod, for metrics collectors. */
export const METRICS_LABEL = `${PREFIX}metrics`

/** The one finalizer, on kinds that own a namespace or data. */
export const FINALIZER = `${PREFIX}teardown`

export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by'
export const MANAGED_BY = 'freehold'
