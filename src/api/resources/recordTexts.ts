import type { AnyKind } from '../../crds/define.ts'
import type { ResourceView } from './types.ts'

type Entry = { readonly version: string; readonly text: string }

/** About 10 MB of records; past it the oldest go. */
const ENTRIES_MAX = 10_000

/**
 * Records as JSON texts, kept while nothing that they show has changed: the object itself, the boundary and the cluster
 * around it, and whatever else the area says that its record depends on. A list is then a join of texts.
 */
export class RecordTexts<K extends AnyKind> {
  readonly #entries = new Map<string, Entry>()
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
    const known = this.#entries.get(uid)
    if (known?.version === version) return known.text
    const text = JSON.stringify(this.#toDto(view))
    this.#entries.delete(uid)
    this.#entries.set(uid, { version, text })
    if (this.#entries.size > ENTRIES_MAX) this.#forgetOldest()
    return text
  }

  #forgetOldest(): void {
    const oldest = this.#entries.keys().next()
    if (oldest.done !== true) this.#entries.delete(oldest.value)
  }
}
