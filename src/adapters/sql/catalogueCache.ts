import { LRUCache } from 'lru-cache'
import type { Catalogue } from '../../editor/catalogue.ts'

/** How long a catalogue is cached: schema changes by others may be seen this late. Our own invalidate it. */
const CATALOGUE_TTL_MS = 5_000
/** Characters of all cached catalogues. Tenants decide how large theirs are, up to that of a whole answer. */
const CHARACTERS_MAX = 16 * 1024 * 1024
/** What a column or table takes beside its texts. */
const OVERHEAD = 300

/** Caches catalogues for a moment, and shares each query between concurrent callers. Failures are not cached. */
export class CatalogueCache {
  readonly #reading = new Map<string, Promise<Catalogue>>()
  readonly #known: LRUCache<string, Catalogue>

  constructor(charactersMax = CHARACTERS_MAX) {
    this.#known = new LRUCache({
      maxSize: charactersMax,
      sizeCalculation: sizeOf,
      ttl: CATALOGUE_TTL_MS,
      ttlAutopurge: true,
    })
  }

  async take(key: string, read: () => Promise<Catalogue>): Promise<Catalogue> {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const reading = this.#reading.get(key) ?? read()
    this.#reading.set(key, reading)
    try {
      const found = await reading
      // Not if it was cleared meanwhile: it may show the schema of before.
      if (this.#reading.get(key) === reading) this.#known.set(key, found)
      return found
    } finally {
      if (this.#reading.get(key) === reading) this.#reading.delete(key)
    }
  }

  clear(): void {
    this.#reading.clear()
    this.#known.clear()
  }
}

function sizeOf({ schemas }: Catalogue): number {
  let size = OVERHEAD
  for (const { tables, views } of schemas)
    for (const { columns, foreignKeys } of [...tables, ...views]) {
      size += OVERHEAD * (1 + foreignKeys.length)
      for (const { name, fullType, defaultExpression } of columns)
        size += OVERHEAD + name.length + fullType.length + (defaultExpression ?? '').length
    }
  return size
}
