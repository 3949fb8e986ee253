import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Reason } from '../../core/reasons.ts'
import type { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind, ObjectOf, StatusOf } from '../../crds/define.ts'
import type { CacheHandler, WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'

/** A controller's view of a cache. Objects are frozen and without managedFields. */
export type CacheView<T extends KubeObject = KubeObject> = Pick<
  WatchCache<T>,
  'get' | 'list' | 'byIndex' | 'byUid' | 'revision' | 'isAtLeast' | 'subscribe'
>

/** One cluster as a controller sees it: a client that writes, and caches that are kept current by watches. */
export interface Workspace {
  readonly client: KubeClient
  /** @throws Error for what no controller declared in `observes` or `reads` */
  cache<K extends AnyKind>(kind: K): CacheView<ObjectOf<K> & KubeObject>
  cache<T extends KubeObject = KubeObject>(resource: Resource): CacheView<T>
  isCached(resource: Resource): boolean
  /** Whether the cluster may hold objects of the type. False if an optional type has no definition. */
  isDefined(resource: Resource): boolean
  /** Whether the API server serves the type. To be checked for optional types before any read or write. */
  isServed(resource: Resource): boolean
  /** Called when an optional type starts or stops being served. */
  onServed(resource: Resource, listener: () => void): () => void
  /**
   * Secrets of the namespace, watched from the first call on. Undefined until the first list is complete: a caller that
   * cannot wait asks the API server.
   */
  secrets(namespace: string): CacheView | undefined
  /** Called for changed Secrets in the watched namespaces. */
  subscribeSecrets(handler: CacheHandler<KubeObject>): () => void
  /** Called when the first listing of a namespace's Secrets is complete. */
  onSecretsSynced(listener: (namespace: string) => void): () => void
  /** Watches the metadata of all Secrets in the namespace, including those of others, but not their content. */
  watchSecretMetadata(namespace: string): void
  /** Called for changed Secrets in the namespaces watched for metadata. */
  subscribeSecretMetadata(handler: CacheHandler<KubeObject>): () => void
}

export type CachedCluster = PlatformCluster & { [key: string]: unknown }
/** Called when a cluster becomes reachable; the returned function is called when it no longer is. */
export type ClusterListener = (clusterId: string, workspace: Workspace) => () => void

/** The other clusters that workloads run on; they can appear and disappear. */
export interface OtherClusters {
  /** Returns the cluster's workspace if it can be used now. */
  find(clusterId: string): Workspace | undefined
  /** Calls the listener for each present and each later cluster. */
  each(listener: ClusterListener): () => void
  /** Returns the connection that nothing gets through: its id in the record, and since when (milliseconds). */
  lost(clusterId: string): LostConnection | undefined
  /**
   * Returns why a connected cluster cannot be used, or only partly: a sentence for each type that cannot be watched.
   */
  refused(clusterId: string): readonly string[]
  /** Called for each cluster that is lost, or whose refusals change. */
  onLost(listener: (clusterId: string) => void): () => void
}

export type LostConnection = { readonly connection: string | undefined; readonly since: number }

/**
 * The boundary and group of an object, from the labels of its namespace. The engine checks it before the first step: a kind of a
 * group has both fields, a kind of a boundary has `boundaryId`.
 */
export type ObjectScope = { readonly boundaryId?: string; readonly resourceGroup?: string }

/** One reconcile of one object. Steps read it, pass values on through `state`, and return an outcome. */
export type Pass<K extends AnyKind = AnyKind, State = undefined> = {
  readonly kind: K
  /** `<namespace>/<name>`, or the name of a cluster-scoped object. */
  readonly key: string
  /** As the cache holds it, after incarnation and finalizer were put on. Frozen. */
  readonly object: ObjectOf<K>
  /** A random id that is set once. Children carry it, so that a later object of the same name does not inherit them. */
  readonly incarnation: string
  readonly scope: ObjectScope
  readonly records: Workspace
  /** Where children go: the cluster that the object names, or the platform's own, which `records` is. */
  readonly workloads: Workspace
  /** The clusters beside the platform's own. */
  readonly others: OtherClusters
  readonly children: Children
  /** Children in `records`, wherever the workload is: objects of our kinds, revisions of the spec. */
  readonly recordChildren: Children
  readonly clock: Clock
  readonly log: Log
  /** The time of this pass, RFC 3339. One pass has one time. */
  readonly now: string
  /** Values from earlier steps of this pass for later ones; new for each pass. */
  readonly state: State
  /** Fields for the one status patch at the end of the pass; later calls win. */
  report(fields: Partial<StatusOf<K>>): void
  /** Whether anything of the resource serves now; distinguishes Degraded from Failed. */
  serving(value: boolean): void
  /** Records an event for anything but an outcome. A changed outcome records its own. */
  event(type: 'Normal' | 'Warning', reason: Reason, note: string): void
}

/** One named part of a reconcile. Its name appears in logs, so it is a function with a name, not an arrow in a list. */
export type Step<K extends AnyKind = AnyKind, State = undefined> = (pass: Pass<K, State>) => Outcome | Promise<Outcome>

/**
 * Stops the workload of an object and returns the progress; undefined if it should run, or if the steps of the pass
 * already stopped it. It receives the reason why they ended early.
 */
export type Halt<K extends AnyKind = AnyKind, State = undefined> = (
  pass: Pass<K, State>,
) => ((obstacle: Outcome) => Promise<Outcome>) | undefined

/** Our kinds are in `records`, others in `workloads`, unless a controller says otherwise. */
export type WorkspaceName = 'records' | 'workloads'

/** Objects whose changes wake a controller. Children trigger their owner; others name the keys themselves. */
export type Observed =
  | Resource
  | {
      resource: Resource
      in?: WorkspaceName
      /** Returns the keys that a change of this object concerns. `clusterId` is set for objects of other clusters. */
      keysOf: (object: KubeObject, records: Workspace, clusterId?: string) => readonly string[]
      /** Returns the relevant part of the object: other changes wake nothing. Everything is relevant if absent. */
      relevant?: (object: KubeObject) => unknown
      /** False if keys only wait for this object to shrink or be deleted: then its creation wakes nothing. */
      wakesOnCreate?: boolean
    }

/** A right that a controller needs, for the generated roles of the operator. */
export type Rights = {
  resource: Pick<Resource, 'group' | 'plural'>
  verbs: readonly string[]
  resourceNames?: readonly string[]
  /**
   * Where the right applies: `system`: only in the platform's own namespace; `records`: on the platform's own cluster
   * only; otherwise on every cluster.
   */
  in?: 'system' | 'records'
}

export type EnsureResult<T extends KubeObject> = {
  object: T
  /** Whether a write was needed. */
  changed: boolean
}

export type EnsureOptions = {
  readonly resource: Resource
  /** Whether to adopt an object of this name that has no owner; never if absent. */
  readonly adopts?: (observed: KubeObject) => boolean
}

/** The objects that belong to the object of a pass. */
export interface Children {
  /**
   * Makes the object be as desired: owner, labels and incarnation are added; nothing is sent if nothing differs.
   *
   * @throws StalledError NameOccupied if an object of that name belongs to somebody else
   * @throws WaitingError WaitingForDependency while the previous one is still being deleted
   */
  ensure<T extends KubeObject>(desired: T, options: EnsureOptions): Promise<EnsureResult<T>>
  /**
   * Creates the object if none of its name exists, whatever the cache holds; undefined if one exists. For content that
   * must not be overwritten.
   */
  create<T extends KubeObject>(desired: T, options: { resource: Resource }): Promise<T | undefined>
  /**
   * Returns the child from the cache, or by GET if its resource is not cached. Undefined if it does not exist or
   * belongs to another owner.
   */
  get<T extends KubeObject = KubeObject>(
    resource: Resource,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined>
  /** Children of an observed resource, by the owner's uid or incarnation. */
  owned<T extends KubeObject = KubeObject>(resource: Resource): readonly T[]
  /** Deletes a child with preconditions on uid and version. True once it is gone; foreign objects are never touched. */
  remove(resource: Resource, namespace: string | undefined, name: string): Promise<boolean>
  /**
   * Sets fields of an observed child under a separate field manager, which owns only these. Without fields it gives
   * them up; fields that `ensure` has written since stay.
   */
  amend(resource: Resource, observed: KubeObject, fields: object | undefined): Promise<void>
  /** Deletes the children of an observed resource whose names are not listed; returns the names that were deleted. */
  prune(resource: Resource, keepNames: readonly string[]): Promise<readonly string[]>
}
