import { LRUCache } from 'lru-cache'
import type { AnyKind } from '../../crds/define.ts'
import type { ResourceView } from './types.ts'

type Entry = { readonly version: string; readonly text: string }

/** Of all kinds together; room for about 50,000 records of 2 KB, so that a walk through that many still finds them. */
const BYTES_MAX = 128 * 1024 * 1024
/**
 * Full, one new record in so many is taken: a walk through more than there is room for would otherwise throw out each
 * record just before it comes to it again, and find none.
 */
const FULL_TAKES_ONE_IN = 8

/** By uid, which no two objects share, whatever their kinds. Most texts take a byte per character. */
const entries = new LRUCache<string, Entry>({
  maxSize: BYTES_MAX,
  sizeCalculation: ({ version, text }) => version.length + text.length,
})

/**
 * Records as JSON texts, kept while nothing that they show has changed: the object itself, the boundary and the cluster
 * around it, and whatever else the area says that its record depends on. A list is then a join of texts.
 */
export class RecordTexts<K extends AnyKind> {
  readonly #toDto: (view: ResourceView<K>) => object
  readonly #dependsOn: ((view: ResourceView<K>) => string) | undefined

  /** @param dependsOn undefined if a record depends on more than versions can tell; then nothing is kept */
  constructor(toDto: (view: ResourceView<K>) => object, dependsOn: ((view: ResourceView<K>) => string) | undefined) {
    this.#toDto = toDto
    this.#dependsOn = dependsOn
  }

  textOf(view: ResourceView<K>): string {
    const { uid, resourceVersion } = view.object.metadata
    if (this.#dependsOn === undefined || uid === undefined) return JSON.stringify(this.#toDto(view))
    const version = `${resourceVersion} ${view.contextVersion} ${this.#dependsOn(view)}`
    const known = entries.get(uid)
    if (known?.version === version) return known.text
    const text = JSON.stringify(this.#toDto(view))
    const isFull = entries.calculatedSize + version.length + text.length > BYTES_MAX
    if (known !== undefined || !isFull || Math.random() * FULL_TAKES_ONE_IN < 1) entries.set(uid, { version, text })
    return text
  }
}
