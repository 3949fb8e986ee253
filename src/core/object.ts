/** What the API server keeps about an object (API conventions, "Metadata"). Times are RFC 3339 strings. */
export type ObjectMeta = {
  name: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  managedFields?: unknown[]
}

/** When an object was created; the epoch for one that no API server has stored. */
export function createdAtOf({ creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>): string {
  return creationTimestamp ?? '1970-01-01T00:00:00Z'
}

/** Returns a key that sorts objects by age, oldest first. */
export function ageOf({
  metadata: { creationTimestamp = '', name },
}: {
  metadata: Pick<ObjectMeta, 'name' | 'creationTimestamp'>
}): string {
  return `${creationTimestamp} ${name}`
}

type Aged = Parameters<typeof ageOf>[0]

/** For `sort`: the oldest first. */
export function byAge(one: Aged, other: Aged): number {
  return ageOf(one) < ageOf(other) ? -1 : 1
}

/**
 * For `sort`: the oldest first. Objects that were created in the same second stay in their order, where `byAge` would
 * order them by name: in a list of a cache it is the order in which they were seen.
 */
export function byCreation(one: Created, other: Created): number {
  return createdAtOf(one.metadata).localeCompare(createdAtOf(other.metadata))
}

type Created = { metadata: Pick<ObjectMeta, 'creationTimestamp'> }

/** Returns all but the `kept` newest objects: those to delete. */
export function allButNewest<One extends Aged>(objects: readonly One[], kept: number): One[] {
  return objects.toSorted((one, other) => byAge(other, one)).slice(kept)
}

export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** Any object of the API server. Narrow it with a type of your own if `spec` and `status` matter. */
export type KubeObject = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [key: string]: unknown
}

/** What a client needs to address a type: our kinds and core kinds alike. `group` is empty for the core group. */
export type Resource = {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
  /** The type belongs to an operator that a cluster may lack: it is watched as soon as its CRD exists. */
  readonly optional?: boolean
  /** Lists and watches request metadata only (PartialObjectMetadata): the content never reaches this process. */
  readonly metadataOnly?: boolean
}

/** Names one object of a resource; `namespace` is absent for cluster-scoped ones. */
export type ObjectRef = { namespace?: string | undefined; name: string }

/** `<namespace>/<name>`, or only the name if there is no namespace. Neither part can hold a slash. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

export function keyOf(object: KubeObject): string {
  return objectKey(object.metadata.namespace, object.metadata.name)
}

export function refOf(object: KubeObject): ObjectRef {
  return { namespace: object.metadata.namespace, name: object.metadata.name }
}

/** The inverse of `objectKey`. */
export function refOfKey(key: string): ObjectRef {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

export function apiVersionOf(resource: Pick<Resource, 'group' | 'version'>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
}

/** `plural.group`, unique among the types of a server: key of caches, label of metrics. */
export function resourceId({
  group,
  plural,
  metadataOnly,
}: Pick<Resource, 'group' | 'plural' | 'metadataOnly'>): string {
  const id = group === '' ? plural : `${plural}.${group}`
  return metadataOnly === true ? `${id}/metadata` : id
}

/** Whether a type is one of the platform's kinds. */
export function isOurs({ group }: Pick<Resource, 'group'>): boolean {
  return group === 'freehold.dev' || group.endsWith('.freehold.dev')
}

/** An owner reference that makes `owner` the controller and lets the garbage collector follow it. */
export function ownerReferenceTo(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  }
}
