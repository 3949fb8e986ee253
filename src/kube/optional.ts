import { customResourceDefinition } from './builtin.ts'
import {
  type CacheEvent,
  type CacheHandler,
  type CacheMetrics,
  HANDLER_FAILED,
  notifyHandlers,
  WatchCache,
  type WatchCacheOptions,
} from './cache.ts'
import { type KubeObject, type ObjectRef, type Resource, resourceId } from './object.ts'

type Definition = KubeObject & {
  spec?: { versions?: { name?: string; served?: boolean }[] }
  status?: { conditions?: { type?: string; status?: string }[] }
}

/**
 * The cache of a type that the cluster may lack. A watch of its CustomResourceDefinition tells whether the type is
 * served; only then are its objects watched. So a missing operator costs one open stream and no requests, and a later
 * installation is noticed at once.
 */
export class OptionalCache<T extends KubeObject = KubeObject> {
  readonly resource: Resource
  readonly #options: WatchCacheOptions<T>
  readonly #definition: WatchCache<Definition>
  readonly #handlers = new Set<CacheHandler<T>>()
  readonly #listeners = new Set<() => void>()
  #objects: WatchCache<T> | undefined
  #revisionBefore = 0
  #started = false

  constructor(options: WatchCacheOptions<T>) {
    this.resource = options.resource
    this.#options = options
    this.#definition = new WatchCache<Definition>({
      ...(options as unknown as WatchCacheOptions<Definition>),
      resource: customResourceDefinition,
      namespace: undefined,
      labelSelector: undefined,
      // Selected by name, so that rights on this one definition are enough.
      fieldSelector: `metadata.name=${resourceId(options.resource)}`,
      indexes: {},
    })
    this.#definition.subscribe(({ type, object }) => this.#onDefinition(type === 'removed' ? undefined : object))
  }

  /** Whether the API server serves the type and all its objects are cached. */
  get served(): boolean {
    return this.#objects?.synced ?? false
  }

  /** Whether the cluster may hold objects of the type. While its definition is replaced it may, but they are not cached. */
  get defined(): boolean {
    return !this.#definition.synced || this.#definition.list().length > 0
  }

  /** Whether the cache is complete, or the type is known not to be served. */
  get synced(): boolean {
    return this.#definition.synced && (this.#objects === undefined || this.#objects.synced)
  }

  async whenSynced(): Promise<void> {
    await this.#definition.whenSynced()
    await this.#objects?.whenSynced()
  }

  /** Calls the listener when the type starts or stops being served. */
  onServed(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects?.get(namespace, name)
  }

  list(filter: { namespace?: string | undefined } = {}): readonly T[] {
    return this.#objects?.list(filter) ?? []
  }

  byIndex(index: string, key: string): readonly T[] {
    return this.#objects?.byIndex(index, key) ?? []
  }

  byUid(uid: string): T | undefined {
    return this.#objects?.byUid(uid)
  }

  /** As for a cache that is always there; it grows over times without the type as well. */
  revision(filter: { namespace?: string | undefined } = {}): number {
    return this.#revisionBefore + (this.#objects?.revision(filter) ?? 0)
  }

  /** True for a type that is not served: there is nothing to wait for. */
  isAtLeast(resourceVersion: string): boolean {
    return this.#objects?.isAtLeast(resourceVersion) ?? true
  }

  subscribe(handler: CacheHandler<T>): () => void {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  observeWrite(object: T): void {
    this.#objects?.observeWrite(object)
  }

  observeRemoval(ref: ObjectRef, uid: string | undefined): void {
    this.#objects?.observeRemoval(ref, uid)
  }

  start(): void {
    this.#started = true
    this.#definition.start()
  }

  async stop(): Promise<void> {
    this.#started = false
    await Promise.all([this.#definition.stop(), this.#objects?.stop()])
  }

  metrics(): CacheMetrics[] {
    return this.#objects === undefined ? [] : [this.#objects.metrics()]
  }

  #onDefinition(definition: Definition | undefined): void {
    const isServed = definition !== undefined && this.#isServedBy(definition)
    if (isServed && this.#objects === undefined && this.#started) this.#startCache()
    else if (!isServed && this.#objects !== undefined) this.#stopCache(this.#objects)
  }

  #isServedBy({ spec, status, metadata }: Definition): boolean {
    const isVersion = spec?.versions?.some(({ name, served }) => name === this.resource.version && served !== false)
    const isEstablished = status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True')
    return isVersion === true && isEstablished === true && metadata.deletionTimestamp === undefined
  }

  #startCache(): void {
    const objects = new WatchCache<T>(this.#options)
    this.#objects = objects
    objects.subscribe((event) => this.#emit(event))
    objects.start()
    objects.whenSynced().then(
      () => this.#notifyListeners(),
      // Stopped before it was complete: `#stopCache` tells the listeners.
      () => {},
    )
  }

  /** Reports all objects as removed: the API server deletes them before it deletes their definition. */
  #stopCache(objects: WatchCache<T>): void {
    this.#objects = undefined
    this.#revisionBefore += objects.revision() + 1
    void objects.stop()
    for (const object of objects.list()) this.#emit({ type: 'removed', object })
    this.#notifyListeners()
  }

  readonly #failed = (error: unknown) =>
    this.#options.log?.error({ resource: resourceId(this.resource), err: error }, HANDLER_FAILED)

  #emit(event: CacheEvent<T>): void {
    notifyHandlers(this.#handlers, event, this.#failed)
  }

  #notifyListeners(): void {
    notifyHandlers(this.#listeners, undefined, this.#failed)
  }
}
