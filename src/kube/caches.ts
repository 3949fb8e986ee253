import { systemClock } from '../core/clock.ts'
import type { CacheHandler, CacheMetrics, WatchCacheOptions } from './cache.ts'
import { HANDLER_FAILED, notifyHandlers, WatchCache } from './cache.ts'
import type { WriteObserver } from './client.ts'
import { NewestVersionReader } from './newestVersionReader.ts'
import { type KubeObject, type ObjectRef, type Resource, resourceId } from './object.ts'
import { OptionalCache } from './optional.ts'

/** The options that all caches of a set share. */
export type CacheSetOptions = Omit<
  WatchCacheOptions<KubeObject>,
  'resource' | 'indexes' | 'namespace' | 'labelSelector' | 'fieldSelector'
> & {
  /** The set of another client in this process; its caches are shared instead of watching a resource twice. */
  sharedWith?: CacheSet | undefined
}
export type CacheOptions<T extends KubeObject> = Pick<WatchCacheOptions<T>, 'indexes' | 'namespace' | 'labelSelector'>

/**
 * One cache per resource, started and awaited together. Give `observer()` to the client, so that every write of this
 * process is in its cache when the call returns.
 */
export class CacheSet {
  readonly #options: CacheSetOptions
  readonly #caches = new Map<string, WatchCache<KubeObject>>()
  readonly #byResource = new Map<Resource, WatchCache<KubeObject>>()
  readonly #optional = new Map<string, OptionalCache<KubeObject>>()
  readonly #scoped: { resource: Resource; caches: ScopedCaches<KubeObject> }[] = []
  readonly #sharedWith: CacheSet | undefined
  /** Caches that are not shared with the set beside this one. */
  readonly #own = new Set<{ stop(): Promise<void> }>()
  #started = false

  constructor({ sharedWith, ...options }: CacheSetOptions) {
    const clock = options.clock ?? systemClock
    this.#sharedWith = sharedWith
    this.#options = { history: new NewestVersionReader(options.client, () => clock.monotonic()), ...options }
  }

  /**
   * Declares the cache of a resource. Once per resource: two watches of one type would disagree.
   *
   * @throws Error if the resource has a cache already
   */
  add<T extends KubeObject>(resource: Resource, options: CacheOptions<T> = {}): WatchCache<T> {
    const id = resourceId(resource)
    if (this.#caches.has(id)) throw new Error(`The cache of ${id} is declared twice.`)
    const isWhole = options.namespace === undefined && options.labelSelector === undefined
    const shared = isWhole ? this.#sharedWith?.find<T>(resource) : undefined
    shared?.addIndexes(options.indexes ?? {})
    const cache = shared ?? new WatchCache<T>({ ...this.#options, ...options, resource })
    if (shared === undefined) this.#own.add(cache)
    // The map forgets T; `get` gives it back to the caller who knows the resource.
    this.#caches.set(id, cache as unknown as WatchCache<KubeObject>)
    this.#byResource.set(resource, cache as unknown as WatchCache<KubeObject>)
    if (this.#started) cache.start()
    return cache
  }

  /** The cache of a resource that the cluster may lack (`Resource.optional`). Once per resource. */
  addOptional<T extends KubeObject>(resource: Resource, options: CacheOptions<T> = {}): OptionalCache<T> {
    const id = resourceId(resource)
    if (this.has(resource)) throw new Error(`The cache of ${id} is declared twice.`)
    const cache = new OptionalCache<T>({ ...this.#options, ...options, resource })
    this.#optional.set(id, cache as unknown as OptionalCache<KubeObject>)
    if (this.#started) cache.start()
    return cache
  }

  /** The cache of an optional resource; undefined for one that every cluster has. */
  optional<T extends KubeObject = KubeObject>(resource: Resource): OptionalCache<T> | undefined {
    return this.#optional.get(resourceId(resource)) as unknown as OptionalCache<T> | undefined
  }

  /** Declares the caches of a resource that may only be read namespace by namespace. */
  addScoped<T extends KubeObject>(
    resource: Resource,
    options: Pick<WatchCacheOptions<T>, 'indexes' | 'labelSelector'> = {},
  ): ScopedCaches<T> {
    const caches = new ScopedCaches<T>({ ...this.#options, ...options, resource })
    this.#scoped.push({ resource, caches: caches as unknown as ScopedCaches<KubeObject> })
    return caches
  }

  /** Runs several times per request, nearly always with the same Resource object: hence the lookup by identity. */
  find<T extends KubeObject = KubeObject>(resource: Resource): WatchCache<T> | undefined {
    const found = this.#byResource.get(resource) ?? this.#caches.get(resourceId(resource))
    return found as unknown as WatchCache<T> | undefined
  }

  /** @throws Error for a resource without a cache */
  get<T extends KubeObject = KubeObject>(resource: Resource): WatchCache<T> {
    const cache = this.find<T>(resource)
    if (cache === undefined) throw new Error(`${resourceId(resource)} has no cache.`)
    return cache
  }

  has(resource: Resource): boolean {
    const id = resourceId(resource)
    return this.#caches.has(id) || this.#optional.has(id)
  }

  start(): void {
    this.#started = true
    for (const cache of [...this.#caches.values(), ...this.#optional.values()]) cache.start()
  }

  /** Resolves when every cache holds its first listing. Caches of single namespaces are not awaited. */
  async whenAllSynced(): Promise<void> {
    const caches = [...this.#caches.values(), ...this.#optional.values()]
    await Promise.all(caches.map((cache) => cache.whenSynced()))
  }

  /** Milliseconds since the watch that has been away longest was lost; zero while all are open. */
  get age(): number {
    let longest = 0
    for (const { age } of this.#caches.values()) if (age > longest) longest = age
    return longest
  }

  /** Milliseconds since the last watch was lost, so that nothing arrives any more; zero while any is open. */
  get silence(): number {
    const ages = this.metrics().some(({ live }) => live) ? [] : Array.from(this.#caches.values(), ({ age }) => age)
    return ages.length === 0 ? 0 : Math.min(...ages)
  }

  /** Resources whose first listing is not complete, for readiness probes. */
  unsynced(): string[] {
    return [...this.#caches, ...this.#optional].filter(([, cache]) => !cache.synced).map(([id]) => id)
  }

  /** Stops all caches except those shared with the set beside this one. */
  async stopAll(): Promise<void> {
    const caches = [...this.#own, ...this.#optional.values(), ...this.#scoped.map((entry) => entry.caches)]
    await Promise.all(caches.map((cache) => cache.stop()))
  }

  metrics(): CacheMetrics[] {
    return [
      ...Array.from(this.#caches.values(), (cache) => cache.metrics()),
      ...[...this.#optional.values()].flatMap((cache) => cache.metrics()),
      ...this.#scoped.flatMap(({ caches }) => caches.metrics()),
    ]
  }

  observer(): WriteObserver {
    const answered = (resource: Resource, object: KubeObject) => {
      this.#caches.get(resourceId(resource))?.observeWrite(object)
      this.#optional.get(resourceId(resource))?.observeWrite(object)
      for (const scoped of this.#scopedOf(resource)) scoped.observeWrite(object)
    }
    return {
      written: answered,
      read: answered,
      removed: (resource, ref, uid) => {
        this.#caches.get(resourceId(resource))?.observeRemoval(ref, uid)
        this.#optional.get(resourceId(resource))?.observeRemoval(ref, uid)
        for (const scoped of this.#scopedOf(resource)) scoped.observeRemoval(ref, uid)
      },
    }
  }

  #scopedOf(resource: Resource): ScopedCaches<KubeObject>[] {
    const id = resourceId(resource)
    return this.#scoped.filter((entry) => resourceId(entry.resource) === id).map((entry) => entry.caches)
  }
}

/**
 * One watch per namespace over a changing set of namespaces: for Secrets, which the operator may read only where one of
 * our RoleBindings allows it.
 */
export class ScopedCaches<T extends KubeObject = KubeObject> {
  readonly #options: Omit<WatchCacheOptions<T>, 'namespace'>
  readonly #caches = new Map<string, WatchCache<T>>()
  readonly #handlers = new Set<CacheHandler<T>>()
  readonly #listeners = new Set<(namespace: string) => void>()

  constructor(options: Omit<WatchCacheOptions<T>, 'namespace'>) {
    this.#options = options
  }

  /** Starts to watch the namespace, or returns the cache that already does. */
  addNamespace(namespace: string): WatchCache<T> {
    const present = this.#caches.get(namespace)
    if (present !== undefined) return present
    const cache = new WatchCache<T>({ ...this.#options, namespace })
    this.#caches.set(namespace, cache)
    const failed = (error: unknown) => this.#options.log?.error({ namespace, err: error }, HANDLER_FAILED)
    cache.subscribe((event) => notifyHandlers(this.#handlers, event, failed))
    cache.start()
    const tell = () => notifyHandlers(this.#listeners, namespace, failed)
    // A cache that is stopped first has nothing to report.
    cache.whenSynced().then(tell, () => {})
    return cache
  }

  /**
   * Calls the listener with each namespace whose first listing is complete. Callers that bypassed the cache until then
   * must look again, because deletions in between cause no event.
   */
  onSynced(listener: (namespace: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops the watch and forgets the objects. Subscribers get no events, because nothing was deleted. */
  async removeNamespace(namespace: string): Promise<void> {
    const cache = this.#caches.get(namespace)
    this.#caches.delete(namespace)
    await cache?.stop()
  }

  namespaces(): readonly string[] {
    return [...this.#caches.keys()]
  }

  synced(namespace: string): boolean {
    return this.#caches.get(namespace)?.synced ?? false
  }

  /** @throws Error for a namespace that is not watched, or no longer */
  async whenSynced(namespace: string): Promise<void> {
    const cache = this.#caches.get(namespace)
    if (cache === undefined) throw new Error(`Namespace "${namespace}" is not watched.`)
    await cache.whenSynced()
  }

  get(namespace: string, name: string): T | undefined {
    return this.#caches.get(namespace)?.get(namespace, name)
  }

  list(filter: { namespace: string }): readonly T[] {
    return this.#caches.get(filter.namespace)?.list() ?? []
  }

  byIndex(namespace: string, index: string, key: string): readonly T[] {
    return this.#caches.get(namespace)?.byIndex(index, key) ?? []
  }

  subscribe(handler: CacheHandler<T>): () => void {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  observeWrite(object: T): void {
    this.#caches.get(object.metadata.namespace ?? '')?.observeWrite(object)
  }

  observeRemoval(ref: ObjectRef, uid: string | undefined): void {
    this.#caches.get(ref.namespace ?? '')?.observeRemoval(ref, uid)
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#caches.values(), (cache) => cache.stop()))
  }

  metrics(): CacheMetrics[] {
    return Array.from(this.#caches.values(), (cache) => cache.metrics())
  }
}

/** Creates a client and the caches that observe its writes. Each needs the other; the first write comes after both. */
export function withCaches<Client>(
  clientOf: (observer: WriteObserver) => Client,
  cachesOf: (client: Client) => CacheSet,
): { client: Client; caches: CacheSet } {
  let observer: WriteObserver | undefined
  const client = clientOf({
    written: (resource, object) => observer?.written(resource, object),
    read: (resource, object) => observer?.read?.(resource, object),
    removed: (resource, ref, uid) => observer?.removed(resource, ref, uid),
  })
  const caches = cachesOf(client)
  observer = caches.observer()
  return { client, caches }
}
