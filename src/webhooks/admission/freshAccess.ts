import { type AccessOptions, createAccess } from '../../api/callers/access.ts'
import { type KubeObject, objectKey, type Resource } from '../../core/object.ts'
import type { CacheEvent, CacheHandler, WatchCache } from '../../kube/cache.ts'

export type Caches = AccessOptions['caches']

/** Records as just read, by kind and then by key. */
export type FreshRecords = ReadonlyMap<Resource, ReadonlyMap<string, KubeObject>>

/**
 * Decides by records that were just read, and follows the caches for everything else. Between two reads it evaluates
 * only what changed: most roles and assignments did not, and there may be thousands.
 */
export class FreshAccess {
  readonly access: ReturnType<typeof createAccess>
  #now: FreshRecords
  readonly #handlers = new Map<Resource, CacheHandler<KubeObject>[]>()

  constructor({ caches, clock, log }: Pick<AccessOptions, 'caches' | 'clock' | 'log'>, now: FreshRecords) {
    this.#now = new Map([...now.keys()].map((resource) => [resource, new Map()]))
    this.access = createAccess({ caches: this.#over(caches), clock, log })
    this.update(now)
  }

  /** Replaces all records, also those of another boundary. */
  update(now: FreshRecords): void {
    const before = this.#now
    this.#now = now
    for (const [resource, objects] of now) {
      for (const event of differences(before.get(resource) ?? new Map(), objects)) {
        for (const handle of this.#handlers.get(resource) ?? []) handle(event)
      }
    }
  }

  #over(caches: Caches): Caches {
    return {
      has: (resource) => this.#now.has(resource) || caches.has(resource),
      get: <T extends KubeObject>(resource: Resource) => {
        const cache = caches.get<T>(resource)
        if (!this.#now.has(resource)) return cache
        const subscribe: WatchCache<T>['subscribe'] = (handler) => {
          const handlers = this.#handlers.get(resource) ?? []
          this.#handlers.set(resource, [...handlers, handler as CacheHandler<never> as CacheHandler<KubeObject>])
          return () => undefined
        }
        const get = (namespace: string | undefined, name: string) =>
          this.#now.get(resource)?.get(objectKey(namespace, name)) as T | undefined
        return { get, list: (filter) => cache.list(filter), subscribe }
      },
    }
  }
}

function* differences(
  before: ReadonlyMap<string, KubeObject>,
  now: ReadonlyMap<string, KubeObject>,
): Generator<CacheEvent<KubeObject>> {
  for (const [key, object] of before) if (!now.has(key)) yield { type: 'removed', object }
  for (const [key, object] of now) {
    const previous = before.get(key)
    if (previous === undefined) yield { type: 'added', object }
    else if (!isSameVersion(previous, object)) yield { type: 'modified', object, previous }
  }
}

function isSameVersion({ metadata: before }: KubeObject, { metadata: now }: KubeObject): boolean {
  return now.resourceVersion !== undefined && now.resourceVersion === before.resourceVersion && now.uid === before.uid
}
