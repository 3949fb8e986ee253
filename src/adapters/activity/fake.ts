import { added, emptyHead, type Head, readable } from './history.ts'
import type { ActivityStore, Entry, ResourcePath, Sighting } from './port.ts'

/** In memory, with the same promises, by the same rules. */
export class FakeActivityStore implements ActivityStore {
  readonly #heads = new Map<string, Head>()
  readonly #now: () => number
  /** Calls that fail before the next one works. */
  failures = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  async append(resource: ResourcePath, sightings: readonly Sighting[]): Promise<void> {
    if (this.failures > 0) {
      this.failures -= 1
      throw new Error('The store is away.')
    }
    const key = JSON.stringify(resource)
    const next = added(this.#heads.get(key) ?? emptyHead('salt'), sightings)
    if (next.entries.length > 0) this.#heads.set(key, next)
  }

  async read(resource: ResourcePath): Promise<readonly Entry[] | undefined> {
    const head = this.#heads.get(JSON.stringify(resource))
    return head === undefined ? undefined : readable(head.entries, this.#now())
  }

  async sweep(): Promise<void> {
    for (const [key, { entries }] of this.#heads) {
      if (readable(entries, this.#now()).length === 0) this.#heads.delete(key)
    }
  }
}
