import { type KubeObject, objectKey } from '../../core/object.ts'
import { compareResourceVersions } from '../../kube/resourceVersion.ts'
import type { CacheView } from './pass.ts'

type Expectation = { object: KubeObject; view: CacheView; removed: boolean }

/**
 * What the next pass of a key must see first (KEP-5647): the objects that the last pass wrote or removed. A decision on
 * a cache older than one's own write creates a second child, or reverts what was just done.
 */
export class Expectations {
  readonly #byKey = new Map<string, Map<string, Expectation>>()

  /** The API server answered `object` to a write made for this key. */
  written(key: string, view: CacheView, object: KubeObject): void {
    this.#remember(key, { object, view, removed: false })
  }

  /** `object` was deleted for this key. */
  removed(key: string, view: CacheView, object: KubeObject): void {
    this.#remember(key, { object, view, removed: true })
  }

  /** True when the caches show everything that this key's last pass did. */
  met(key: string): boolean {
    const pending = this.#byKey.get(key)
    if (pending === undefined) return true
    for (const [id, expectation] of pending) if (isSeen(expectation)) pending.delete(id)
    if (pending.size > 0) return false
    this.#byKey.delete(key)
    return true
  }

  /** Keys that wait to see something. */
  get size(): number {
    return this.#byKey.size
  }

  forget(key: string): void {
    this.#byKey.delete(key)
  }

  #remember(key: string, expectation: Expectation): void {
    // If the client updates its caches with each write, this always holds and nothing is kept.
    if (isSeen(expectation)) return
    const { kind, metadata } = expectation.object
    const pending = this.#byKey.get(key) ?? new Map<string, Expectation>()
    pending.set(`${kind}/${objectKey(metadata.namespace, metadata.name)}`, expectation)
    this.#byKey.set(key, pending)
  }
}

function isSeen({ object, view, removed }: Expectation): boolean {
  const { namespace, name, uid, resourceVersion } = object.metadata
  const held = view.get(namespace, name)
  if (removed) return held === undefined || held.metadata.uid !== uid || held.metadata.deletionTimestamp !== undefined
  if (resourceVersion === undefined || view.isAtLeast(resourceVersion)) return true
  const version = held?.metadata.resourceVersion
  return version !== undefined && compareResourceVersions(version, resourceVersion) >= 0
}
