import { LRUCache } from 'lru-cache'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { Records } from '../records/records.ts'
import type { RecordDependencies, ResourceView } from './types.ts'

/** A cached record. `text` becomes undefined when the entry is evicted or replaced. */
export type CachedText = { readonly version: string; text: string | undefined }

/** For all kinds together: about 50,000 records of 2 KB, so that paging through that many still hits the cache. */
const CACHE_MAX_BYTES = 128 * 1024 * 1024
/**
 * A full cache admits one new record in this many: otherwise, paging through more records than fit would evict each
 * record just before it is needed again, and never hit.
 */
const FULL_ADMITS_ONE_IN = 8

/** By uid, which is unique over all kinds. Most texts take a byte per character. */
const entries = new LRUCache<string, CachedText>({
  maxSize: CACHE_MAX_BYTES,
  sizeCalculation: ({ version, text = '' }) => version.length + text.length,
  dispose: (entry) => {
    entry.text = undefined
  },
})

/** Evicts the texts of deleted resources, which would otherwise stay until the cache is full. */
export function followRemovals(caches: Pick<CacheSet, 'get'>): void {
  for (const { resource } of RESOURCE_KINDS)
    caches.get(resource).subscribe(({ type, object }) => {
      if (type === 'removed') entries.delete(object.metadata.uid ?? '')
    })
}

/**
 * Records as JSON texts, cached while nothing that they show has changed: the object itself, the boundary and the
 * cluster around it, and whatever else the area says that its record depends on. A list is then a join of texts.
 */
export class RecordTexts<K extends AnyKind> {
  readonly #toDto: (view: ResourceView<K>) => object
  readonly #dependsOn: RecordDependencies<K> | undefined

  /** @param dependsOn undefined if a record depends on more than versions can tell; then nothing is cached */
  constructor(toDto: (view: ResourceView<K>) => object, dependsOn: RecordDependencies<K> | undefined) {
    this.#toDto = toDto
    this.#dependsOn = dependsOn
  }

  /** Returns a version that changes whenever records may change although their objects do not. */
  surroundings(records: Pick<Records, 'revision'>): string {
    const kinds = [Boundary, PlatformCluster, ...(this.#dependsOn?.kinds ?? [])]
    return kinds.map((kind) => records.revision(kind)).join()
  }

  textOf(view: ResourceView<K>): string {
    return this.find(view).text
  }

  /** Returns the text and its cache entry, if any: with the entry, the text is found without object and view. */
  find(view: ResourceView<K>): { text: string; kept: CachedText | undefined } {
    const { uid, resourceVersion } = view.object.metadata
    if (this.#dependsOn === undefined || uid === undefined) {
      return { text: JSON.stringify(this.#toDto(view)), kept: undefined }
    }
    const version = `${resourceVersion} ${view.contextVersion} ${this.#dependsOn.versionOf(view)}`
    const known = entries.get(uid)
    if (known?.text !== undefined && known.version === version) return { text: known.text, kept: known }
    const text = JSON.stringify(this.#toDto(view))
    const isFull = entries.calculatedSize + version.length + text.length > CACHE_MAX_BYTES
    if (known === undefined && isFull && Math.random() * FULL_ADMITS_ONE_IN >= 1) return { text, kept: undefined }
    const kept = { version, text }
    entries.set(uid, kept)
    return { text, kept }
  }
}
