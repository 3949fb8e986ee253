import type { ResourceEntry } from './port.ts'

/** A part of a record. None of its entries is newer than `newest`. */
export type EntrySource = {
  readonly newest: string
  /** Returns its own entries, and the sources that hold older ones. */
  open(): Promise<{ readonly entries: readonly ResourceEntry[]; readonly older: readonly EntrySource[] }>
}

const MAX_CONCURRENT_READS = 8
/** Entries are put in order when they have grown by this factor: each time would take too long for thousands. */
const GROWTH = 1.25

/** Returns the newest `limit` entries of many records, newest first, without opening sources that are much older. */
export async function mergeNewestEntries(sources: readonly EntrySource[], limit: number): Promise<ResourceEntry[]> {
  // The newest last, where taking them costs nothing.
  const waiting = sources.toSorted(newestLast)
  const found = new NewestEntries(limit)
  while (waiting.length > 0) {
    const next = waiting.splice(-MAX_CONCURRENT_READS).filter(({ newest }) => newest >= found.oldest)
    if (next.length === 0) break
    const opened = await Promise.all(next.map((source) => source.open()))
    found.add(opened.flatMap(({ entries }) => entries))
    const older = opened.flatMap((one) => one.older)
    if (older.length > 0) waiting.splice(0, waiting.length, ...waiting.concat(older).sort(newestLast))
  }
  return found.inOrder()
}

class NewestEntries {
  readonly #limit: number
  /** By identity, because a late entry may be in two sources. */
  #byId = new Map<string, ResourceEntry>()
  #orderAt: number
  /** No older entry is wanted. */
  oldest = ''

  constructor(limit: number) {
    this.#limit = limit
    this.#orderAt = limit
  }

  add(entries: readonly ResourceEntry[]): void {
    for (const item of entries) this.#byId.set(identityOf(item), item)
    if (this.#byId.size < this.#orderAt) return
    const kept = this.inOrder()
    this.oldest = kept[this.#limit - 1]?.entry.occurredAt ?? ''
    this.#byId = new Map(kept.map((item) => [identityOf(item), item]))
    this.#orderAt = this.#limit * GROWTH
  }

  inOrder(): ResourceEntry[] {
    return [...this.#byId.values()].sort(newestFirst).slice(0, this.#limit)
  }
}

function identityOf({ resource, entry }: ResourceEntry): string {
  const { resourceGroup, resourceType, resourceName } = resource
  return `${resourceGroup}/${resourceType}/${resourceName}/${entry.id}`
}

function newestLast({ newest: one }: EntrySource, { newest: other }: EntrySource): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function newestFirst({ entry: one }: ResourceEntry, { entry: other }: ResourceEntry): number {
  return one.occurredAt < other.occurredAt ? 1 : one.occurredAt > other.occurredAt ? -1 : 0
}
