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
  'get' | 'list' | 'byIndex' | 'byUid' | 'isAtLeast' | 'subscribe'
>

/** One cluster as a controller sees it: a client that writes, and caches that are kept current by watches. */
export interface Workspace {
  readonly client: KubeClient
  /** @throws Error for what no controller declared in `observes` or `reads` */
  cache<K extends AnyKind>(kind: K): CacheView<ObjectOf<K> & KubeObject>
  cache<T extends KubeObject = KubeObject>(resource: Resource): CacheView<T>
  isCached(resource: Resource): boolean
  /** Whether the API server serves the type. To be checked for optional types before any read or write. */
  isServed(resource: Resource): boolean
  /** Called when an optional type starts or stops being served. */
  onServed(resource: Resource, listener: () => void): () => void
  /**
   * Secrets of the namespace, which begin to be watched with the first call. Undefined until the first listing is
   * there: a caller that cannot wait asks the API server.
   */
  secrets(namespace: string): CacheView | undefined
  /** Called for changed Secrets in the watched namespaces. */
  subscribeSecrets(handler: CacheHandler<KubeObject>): () => void
  /** Called when the first listing of a namespace's Secrets is complete. */
  onSecretsSynced(listener: (namespace: string) => void): () => void
  /** Watches that there are Secrets in the namespace, also those of others, but not what they hold. */
  watchSecretMetadata(namespace: string): void
  /** Called for changed Secrets in the namespaces that are watched so, with their metadata. */
  subscribeSecretMetadata(handler: CacheHandler<KubeObject>): () => void
}

export type CachedCluster = PlatformCluster & { [key: string]: unknown }
/** Called when a cluster becomes reachable; the returned function is called when it no longer is. */
export type ClusterListener = (clusterId: string, workspace: Workspace) => () => void

/** The other clusters that workloads run on; they come and go. */
export interface OtherClusters {
  /** One that can be worked on now. */
  find(clusterId: string): Workspace | undefined
  /** Tells of each that there is, and of each that comes. */
  each(listener: ClusterListener): () => void
  /** The connection to it that nothing gets through, by its id in the record, and since when (milliseconds). */
  lost(clusterId: string): LostConnection | undefined
  /** Why it cannot be worked on though its agent is there, or only partly: what it refuses to let us watch, a sentence each. */
  refused(clusterId: string): readonly string[]
  /** Tells of each that is lost, and of each that refuses something else than before. */
  onLost(listener: (clusterId: string) => void): () => void
}

export type LostConnection = { readonly connection: string | undefined; readonly since: number }

/**
 * The place of an object, from the labels of its namespace. The engine checks it before the first step: a kind of a
 * group has both fields, a kind of a boundary has `boundaryId`.
 */
export type Place = { readonly boundaryId?: string; readonly resourceGroup?: string }

/** One reconcile of one object. Steps read it, pass values on through `state`, and return an outcome. */
export type Pass<K extends AnyKind = AnyKind, State = undefined> = {
  readonly kind: K
  /** `<namespace>/<name>`, or the name of a cluster-scoped object. */
  readonly key: string
  /** As the cache holds it, after incarnation and finalizer were put on. Frozen. */
  readonly object: ObjectOf<K>
  /** The random id that the object got once; children carry it, so that a later namesake does not inherit them. */
  readonly incarnation: string
  readonly place: Place
  readonly records: Workspace
  /** Where children go: the cluster that the object names, else the platform's own, which is that of `records`. */
  readonly workloads: Workspace
  /** The clusters beside the platform's own. */
  readonly others: OtherClusters
  readonly children: Children
  /** What belongs to it and stands beside it in `records` wherever its workload is: kinds of ours, revisions of its spec. */
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

/** Our kinds are in `records`, all others in `workloads`, unless a controller says otherwise. */
export type Side = 'records' | 'workloads'

/** Objects whose changes wake a controller. Children trigger their owner; others name the keys themselves. */
export type Observed =
  | Resource
  | {
      resource: Resource
      in?: Side
      /** The keys that a change of this object concerns. `clusterId` names its cluster if that is another one. */
      keysOf: (object: KubeObject, records: Workspace, clusterId?: string) => readonly string[]
      /** The relevant part of the object: a change that leaves it equal wakes nobody. Everything if absent. */
      relevant?: (object: KubeObject) => unknown
      /** False where others only wait for it to become less or to go: one that is added wakes nobody. */
      whenAdded?: boolean
    }

/** A right that a controller needs, for the generated roles of the operator. */
export type Rights = {
  resource: Pick<Resource, 'group' | 'plural'>
  verbs: readonly string[]
  resourceNames?: readonly string[]
  /**
   * `system`: only in the platform's own namespace; `records`: where the objects of our kinds are, so not in other clusters;
   * else in the whole of each cluster.
   */
  in?: 'system' | 'records'
}

export type Ensured<T extends KubeObject> = {
  object: T
  /** Whether a write was needed. */
  changed: boolean
}

export type Ensuring = {
  readonly resource: Resource
  /** Whether an object of that name that belongs to nobody is taken over; none if absent. */
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
  ensure<T extends KubeObject>(desired: T, options: Ensuring): Promise<Ensured<T>>
  /**
   * Creates the object if none of that name exists, whatever the cache holds. Undefined if one does: for content
   * that would be lost if overwritten.
   */
  create<T extends KubeObject>(desired: T, options: { resource: Resource }): Promise<T | undefined>
  /**
   * The child as observed: from the cache, or by GET if the resource has none. Undefined if it is
   * absent or belongs to somebody else.
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
   * Sets some fields of a child as it was observed, under a field manager of their own, which keeps no others. Without fields it
   * lets go of them: those that `ensure` has written since stay.
   */
  amend(resource: Resource, observed: KubeObject, fields: object | undefined): Promise<void>
  /** Deletes the children of an observed resource whose names are not listed; returns the names that were deleted. */
  prune(resource: Resource, keepNames: readonly string[]): Promise<readonly string[]>
}
