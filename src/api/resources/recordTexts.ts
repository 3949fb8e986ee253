import { LRUCache } from 'lru-cache'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { Records } from '../records/records.ts'
import type { ResourceView, Surroundings } from './types.ts'

/** A record as text. `text` is undefined once there is no room for it any more, or another took its place. */
export type KeptText = { readonly version: string; text: string | undefined }

/** Of all kinds together; room for about 50,000 records of 2 KB, so that a walk through that many still finds them. */
const BYTES_MAX = 128 * 1024 * 1024
/**
 * Full, one new record in so many is taken: a walk through more than there is room for would otherwise throw out each
 * record just before it comes to it again, and find none.
 */
const FULL_TAKES_ONE_IN = 8

/** By uid, which no two objects share, whatever their kinds. Most texts take a byte per character. */
const entries = new LRUCache<string, KeptText>({
  maxSize: BYTES_MAX,
  sizeCalculation: ({ version, text = '' }) => version.length + text.length,
  dispose: (entry) => {
    entry.text = undefined
  },
})

/** Drops the texts of deleted resources, which would otherwise stay until others need their room. */
export function followRemovals(caches: Pick<CacheSet, 'get'>): void {
  for (const { resource } of RESOURCE_KINDS)
    caches.get(resource).subscribe(({ type, object }) => {
      if (type === 'removed') entries.delete(object.metadata.uid ?? '')
    })
}

/**
 * Records as JSON texts, kept while nothing that they show has changed: the object itself, the boundary and the cluster
 * around it, and whatever else the area says that its record depends on. A list is then a join of texts.
 */
export class RecordTexts<K extends AnyKind> {
  readonly #toDto: (view: ResourceView<K>) => object
  readonly #dependsOn: Surroundings<K> | undefined

  /** @param dependsOn undefined if a record depends on more than versions can tell; then nothing is kept */
  constructor(toDto: (view: ResourceView<K>) => object, dependsOn: Surroundings<K> | undefined) {
    this.#toDto = toDto
    this.#dependsOn = dependsOn
  }

  /** Stays the same only while no record of objects that stay the same can have changed. */
  surroundings(records: Pick<Records, 'revision'>): string {
    const kinds = [Boundary, PlatformCluster, ...(this.#dependsOn?.kinds ?? [])]
    return kinds.map((kind) => records.revision(kind)).join()
  }

  textOf(view: ResourceView<K>): string {
    return this.find(view).text
  }

  /** The text, and where it is kept if it is: who holds on to that needs neither the object nor the view to find it again. */
  find(view: ResourceView<K>): { text: string; kept: KeptText | undefined } {
    const { uid, resourceVersion } = view.object.metadata
    if (this.#dependsOn === undefined || uid === undefined) {
      return { text: JSON.stringify(this.#toDto(view)), kept: undefined }
    }
    const version = `${resourceVersion} ${view.contextVersion} ${this.#dependsOn.versionOf(view)}`
    const known = entries.get(uid)
    if (known?.text !== undefined && known.version === version) return { text: known.text, kept: known }
    const text = JSON.stringify(this.#toDto(view))
    const isFull = entries.calculatedSize + version.length + text.length > BYTES_MAX
    if (known === undefined && isFull && Math.random() * FULL_TAKES_ONE_IN >= 1) return { text, kept: undefined }
    const kept = { version, text }
    entries.set(uid, kept)
    return { text, kept }
  }
}
