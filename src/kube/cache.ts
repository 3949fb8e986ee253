import { type Clock, systemClock } from '../core/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import { pluralize } from '../core/pluralize.ts'
import { KubeError } from './errors.ts'
import { NewestVersionReader } from './newestVersionReader.ts'
import { type KubeObject, keyOf, type ObjectRef, objectKey, type Resource, resourceId } from './object.ts'
import { compareResourceVersions, isNewerResourceVersion } from './resourceVersion.ts'
import type { WatchTimings } from './stallGuard.ts'
import { type IndexFunction, ObjectStore, type Previous, type PutOptions } from './store.ts'
import {
  WATCH_TIMINGS,
  type WatchDependencies,
  WatchLoop,
  type WatchObserver,
  type WatchSink,
  type WatchTarget,
} from './watch.ts'

export type CacheEvent<T extends KubeObject> =
  | { type: 'added'; object: T; previous?: undefined }
  | { type: 'modified'; object: T; readonly previous: T }
  /** `object` is the last known state. */
  | { type: 'removed'; object: T; previous?: undefined }

export type CacheHandler<T extends KubeObject> = (event: CacheEvent<T>) => void

export type WatchCacheOptions<T extends KubeObject> = WatchTarget &
  Partial<WatchDependencies> & {
    indexes?: Record<string, IndexFunction<T>>
    timings?: Partial<WatchTimings>
    /** Keeps the counts for `heldIn`, which costs microseconds per event. */
    counts?: boolean | undefined
    /** Memory budget that the caches of one client share; set for API servers that are not trusted. */
    budget?: MemoryBudget | undefined
  }

/** A memory budget: characters of stored JSON, plus `OBJECT_OVERHEAD` per object. */
export type MemoryBudget = { readonly limit: number; used: number }

/** Charged per object in addition to its JSON, because very many empty objects take memory too. */
const OBJECT_OVERHEAD = 128

export type CacheMetrics = {
  resource: string
  objects: number
  /** Characters of stored JSON. */
  bytes: number
  synced: boolean
  /** Whether a stream is open now. */
  live: boolean
  opens: number
  listings: number
  events: number
  /** Events and listings that were older than the cache. */
  stale: number
  handlerErrors: number
}

/**
 * All objects of one resource (optionally of one namespace or label selector) in memory, kept up to date by a watch.
 * Objects are frozen and slim; see `ObjectStore`. An older state never replaces a newer one, whichever server sent it,
 * and own writes are visible at once through `observeWrite`.
 */
export class WatchCache<T extends KubeObject = KubeObject> {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly labelSelector: string | undefined
  readonly #fieldSelector: string | undefined
  readonly #clock: Clock
  readonly #log: Log
  readonly #store: ObjectStore<T>
  readonly #loop: WatchLoop<T>
  readonly #budget: MemoryBudget | undefined
  readonly #handlers = new Set<CacheHandler<T>>()
  /** Uids of objects that we deleted while the stream may still send earlier events about them. */
  readonly #removedUids = new Set<string>()
  readonly #counts = { opens: 0, listings: 0, events: 0, stale: 0, handlerErrors: 0 }
  readonly #synced = Promise.withResolvers<void>()
  #version: string | undefined
  #seen: Set<string> | undefined
  #stillListed = new Set<string>()
  /** Listed objects that we consider deleted. They count only if the listing turns out to be newer than the cache. */
  #unconfirmed: T[] = []
  /** The next listing replaces everything, whatever its version. */
  #rebase = false

  constructor(options: WatchCacheOptions<T>) {
    this.resource = options.resource
    this.namespace = options.namespace
    this.labelSelector = options.labelSelector
    this.#fieldSelector = options.fieldSelector
    this.#budget = options.budget
    this.#clock = options.clock ?? systemClock
    this.#log = (options.log ?? silentLog).child({ resource: resourceId(options.resource) })
    this.#store = new ObjectStore<T>(options.resource, options.indexes, options.counts)
    // Avoids an unhandled rejection if the cache is stopped before it is synced and nobody waits for it.
    this.#synced.promise.catch(() => {})
    this.#loop = new WatchLoop<T>({
      client: options.client,
      resource: options.resource,
      namespace: options.namespace,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      sink: this.#sink(),
      history: options.history ?? new NewestVersionReader(options.client, () => this.#clock.monotonic()),
      clock: this.#clock,
      random: options.random ?? Math.random,
      log: this.#log,
      timings: { ...WATCH_TIMINGS, ...options.timings },
      observer: this.#observer(options.observer ?? {}),
    })
  }

  /** Whether the first listing is complete. Stays true while the watch is down: the cache is then stale, not empty. */
  get synced(): boolean {
    return this.#version !== undefined
  }

  /** Milliseconds since the watch was lost, which bound the staleness of reads; zero while it is open. */
  get age(): number {
    return this.#loop.age
  }

  /** The version up to which the stream is complete; undefined before the first listing. */
  get resourceVersion(): string | undefined {
    return this.#version
  }

  get size(): number {
    return this.#store.size
  }

  /** Rejects if the cache is stopped first. */
  whenSynced(): Promise<void> {
    return this.#synced.promise
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#store.get({ namespace, name })
  }

  list(filter: { namespace?: string | undefined } = {}): readonly T[] {
    return this.#store.list(filter.namespace)
  }

  /** Returns what a namespace counts towards its boundary's limit of objects. @throws RangeError without `counts` */
  heldIn(namespace: string): number {
    return this.#store.heldIn(namespace)
  }

  /** Returns a number that changes with each change, of all objects or of a namespace: a key for derived values. */
  revision(filter: { namespace?: string | undefined } = {}): number {
    return this.#store.revision(filter.namespace)
  }

  /** Adds indexes; objects that are already cached are indexed as well. */
  addIndexes(indexes: Record<string, IndexFunction<T>>): void {
    this.#store.addIndexes(indexes)
  }

  byIndex(index: string, key: string): readonly T[] {
    return this.#store.byIndex(index, key)
  }

  byUid(uid: string): T | undefined {
    return this.#store.byUid(uid)
  }

  /** Whether every change up to this version is in the cache, so that a controller sees its own write. */
  isAtLeast(resourceVersion: string): boolean {
    return this.#version !== undefined && compareResourceVersions(this.#version, resourceVersion) >= 0
  }

  /**
   * Calls the handler for every change from now on, in order, after the cache holds it; with `replay` also for the
   * present objects. A handler that throws is logged and affects no other.
   */
  subscribe(handler: CacheHandler<T>, options: { replay?: boolean } = {}): () => void {
    this.#handlers.add(handler)
    if (options.replay === true) for (const object of this.#store.list()) this.#call(handler, { type: 'added', object })
    return () => this.#handlers.delete(handler)
  }

  /** Takes the API server's answer to a call of ours, so that readers see it at once unless the stream is ahead. */
  observeWrite(object: T): void {
    const { resourceVersion, namespace, uid = '' } = object.metadata
    if (resourceVersion === undefined || (this.namespace !== undefined && namespace !== this.namespace)) return
    // The answer to a write from before our delete, which arrived after the answer to the delete.
    if (this.#removedUids.has(uid)) return
    const known = this.#store.versionOf(object.metadata) !== undefined
    // Absent although the stream has passed this version: it was deleted since, and must not come back.
    if (!known && !isNewerResourceVersion(resourceVersion, this.#version)) return
    if ((this.labelSelector !== undefined || this.#fieldSelector !== undefined) && !known) return // It may not match.
    this.#put(object, { shared: true })
  }

  /** The API server confirmed that the object is gone. */
  observeRemoval(ref: ObjectRef, uid: string | undefined): void {
    const held = this.#store.uidOf(ref)
    if (held === undefined || (uid !== undefined && held !== uid)) return
    if (held !== '') this.#removedUids.add(held)
    this.#drop(ref)
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    if (this.#budget !== undefined) this.#budget.used -= this.#weight
    this.#synced.reject(new Error(`The cache of ${resourceId(this.resource)} was stopped before it was complete.`))
  }

  metrics(): CacheMetrics {
    return {
      resource: resourceId(this.resource),
      objects: this.#store.size,
      bytes: this.#store.bytes,
      synced: this.synced,
      live: this.#loop.live,
      ...this.#counts,
    }
  }

  #observer(outer: WatchObserver): WatchObserver {
    return {
      opened: (resource) => {
        this.#counts.opens += 1
        outer.opened?.(resource)
      },
      live: (resource) => outer.live?.(resource),
      listing: (resource) => {
        this.#counts.listings += 1
        outer.listing?.(resource)
      },
      ended: (resource, error) => outer.ended?.(resource, error),
    }
  }

  #sink(): WatchSink<T> {
    const cache = this
    return {
      get version() {
        return cache.#rebase ? undefined : cache.#version
      },
      beginListing: () => {
        this.#seen = new Set()
        this.#stillListed = new Set()
        this.#unconfirmed = []
      },
      listed: (object) => this.#listed(object),
      endListing: (version) => this.#endListing(version),
      changed: (type, object) => this.#changed(type, object),
      bookmark: (version) => this.#advance(version),
      rewind: () => {
        this.#rebase = true
      },
    }
  }

  /** @throws KubeError Unexpected if the memory budget is exceeded */
  #requireRoom(): void {
    const { resource } = this
    if (this.#budget === undefined || this.#budget.used <= this.#budget.limit) return
    const message = `Cannot watch ${resourceId(resource)}: the cluster holds more than ${pluralize(this.#budget.limit, 'character')} of objects.`
    throw new KubeError('Unexpected', message, { status: 200, resource })
  }

  #listed(object: T): void {
    this.#requireRoom()
    this.#seen?.add(keyOf(object))
    const uid = object.metadata.uid ?? ''
    const version = object.metadata.resourceVersion ?? '0'
    if (this.#rebase) this.#put(object, { force: true })
    else if (this.#removedUids.has(uid)) this.#stillListed.add(uid)
    else if (this.#store.versionOf(object.metadata) === undefined && !isNewerResourceVersion(version, this.#version))
      this.#unconfirmed.push(object)
    else this.#put(object)
  }

  #endListing(version: string): boolean {
    const seen = this.#seen ?? new Set()
    const unconfirmed = this.#unconfirmed
    const rebase = this.#rebase
    this.#seen = undefined
    this.#unconfirmed = []
    if (!rebase && this.#version !== undefined && compareResourceVersions(version, this.#version) < 0) {
      this.#counts.stale += 1
      return false
    }
    this.#rebase = false
    if (rebase) this.#removedUids.clear()
    for (const object of unconfirmed) this.#put(object)
    for (const ref of [...this.#store.refs()]) {
      const isListed = seen.has(objectKey(ref.namespace, ref.name))
      // Objects newer than the listing were written meanwhile; the stream will report them.
      if (!isListed && (rebase || !isNewerResourceVersion(this.#store.versionOf(ref) ?? '0', version))) this.#drop(ref)
    }
    for (const uid of this.#removedUids) if (!this.#stillListed.has(uid)) this.#removedUids.delete(uid)
    this.#version = version
    this.#synced.resolve()
    return true
  }

  #changed(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    this.#counts.events += 1
    const version = object.metadata.resourceVersion ?? '0'
    const uid = object.metadata.uid ?? ''
    const held = this.#store.versionOf(object.metadata)
    if (type === 'DELETED') {
      if (held !== undefined && !isNewerResourceVersion(held, version)) this.#drop(object.metadata)
      this.#removedUids.delete(uid)
    } else if (this.#removedUids.has(uid) || (held === undefined && !isNewerResourceVersion(version, this.#version))) {
      this.#counts.stale += 1
    } else {
      this.#requireRoom()
      this.#put(object)
    }
    this.#advance(version)
  }

  #advance(version: string): void {
    if (isNewerResourceVersion(version, this.#version)) this.#version = version
  }

  get #weight(): number {
    return this.#store.bytes + OBJECT_OVERHEAD * this.#store.size
  }

  #put(object: T, options: PutOptions = {}): void {
    const before = this.#weight
    const { outcome, previous } = this.#store.put(object, options)
    if (this.#budget !== undefined) this.#budget.used += this.#weight - before
    if (outcome === 'stale') {
      this.#counts.stale += 1
      return
    }
    if (this.#handlers.size === 0) return
    const stored = this.#store.get(object.metadata)
    if (stored !== undefined)
      this.#emit(previous === undefined ? { type: 'added', object: stored } : modified(stored, previous))
  }

  #drop(ref: ObjectRef): void {
    const before = this.#weight
    const previous = this.#store.delete(ref)
    if (this.#budget !== undefined) this.#budget.used += this.#weight - before
    if (previous !== undefined && this.#handlers.size > 0) this.#emit({ type: 'removed', object: previous.object() })
  }

  #emit(event: CacheEvent<T>): void {
    for (const handler of [...this.#handlers]) this.#call(handler, event)
  }

  #call(handler: CacheHandler<T>, event: CacheEvent<T>): void {
    notifyHandlers([handler], event, (error) => {
      this.#counts.handlerErrors += 1
      this.#log.error({ key: keyOf(event.object), err: error }, HANDLER_FAILED)
    })
  }
}

export const HANDLER_FAILED = 'A handler of cache events failed.'

/** Calls every handler, even if another one fails. */
export function notifyHandlers<Told>(
  handlers: Iterable<(told: Told) => unknown>,
  told: Told,
  failed: (error: unknown) => void,
): void {
  for (const handler of [...handlers]) {
    try {
      // TypeScript accepts an async function as handler; its rejection would be unhandled.
      const answer = handler(told)
      if (answer instanceof Promise) answer.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

/** Parses `previous` only if a handler reads it. */
function modified<T extends KubeObject>(object: T, previous: Previous<T>): CacheEvent<T> {
  return {
    type: 'modified',
    object,
    get previous() {
      return previous.object()
    },
  }
}
