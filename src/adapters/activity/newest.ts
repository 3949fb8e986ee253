import { compareTexts } from '../../core/textOrder.ts'
import { actorOf, selectFairly } from './fairness.ts'
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

/** How many more sources are opened for what quiet callers did, when one caller did most of the newest. */
const MAX_FURTHER_READS = 64

/**
 * Returns the newest `limit` entries of many records, newest first, without opening sources that are much older. If one
 * caller did most of them, some older sources are opened as well, and entries of others take the place of some of its.
 */
export async function mergeNewestEntries(sources: readonly EntrySource[], limit: number): Promise<ResourceEntry[]> {
  // The newest last, where taking them costs nothing.
  const waiting = sources.toSorted(newestLast)
  const found = new NewestEntries(limit)
  const open = async (some: readonly EntrySource[]) => {
    const opened = await Promise.all(some.map((source) => source.open()))
    found.add(opened.flatMap(({ entries }) => entries))
    return opened.flatMap(({ older }) => older)
  }
  while (waiting.length > 0) {
    const wanted = waiting.slice(-MAX_CONCURRENT_READS).filter(({ newest }) => newest >= found.oldest)
    if (wanted.length === 0) break
    // The others may hold what quiet callers did.
    waiting.splice(waiting.length - wanted.length)
    const older = await open(wanted)
    if (older.length > 0) waiting.splice(0, waiting.length, ...waiting.concat(older).sort(newestLast))
  }
  // The newest part of each record comes before the older parts of the loudest.
  const isCrowded = waiting.length > 0 && found.isCrowded
  for (let reads = 0; isCrowded && waiting.length > 0 && reads < MAX_FURTHER_READS; reads += MAX_CONCURRENT_READS)
    waiting.unshift(...(await open(waiting.splice(-MAX_CONCURRENT_READS))))
  return found.select()
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
    const { newest, fair = [] } = this.#inOrder()
    this.oldest = newest.at(-1)?.entry.occurredAt ?? ''
    this.#byId = new Map([...newest, ...fair].map((item) => [identityOf(item), item]))
    this.#orderAt = this.#byId.size * GROWTH
  }

  /** Whether one caller did most of the newest entries, and older ones have no place among them. */
  get isCrowded(): boolean {
    return this.#inOrder().fair !== undefined
  }

  select(): ResourceEntry[] {
    const { newest, fair = newest } = this.#inOrder()
    return fair
  }

  #inOrder(): { newest: ResourceEntry[]; fair?: ResourceEntry[] } {
    const sorted = [...this.#byId.values()].sort(({ entry: one }, { entry: other }) =>
      compareTexts(other.occurredAt, one.occurredAt),
    )
    const newest = sorted.slice(0, this.#limit)
    const isCrowded = newest.length === this.#limit && isMostlyOfOne(newest)
    return isCrowded ? { newest, fair: selectFairOnes(sorted, this.#limit) } : { newest }
  }
}

function selectFairOnes(sorted: readonly ResourceEntry[], limit: number): ResourceEntry[] {
  const kept = selectFairly(
    sorted.map(({ entry }) => entry),
    () => 1,
    limit,
  )
  return sorted.filter(({ entry }) => kept.has(entry))
}

function isMostlyOfOne(items: readonly ResourceEntry[]): boolean {
  const counts = Map.groupBy(items, ({ entry }) => actorOf(entry)).values()
  return [...counts].some(({ length }) => length > items.length / 2)
}

function identityOf({ resource, entry }: ResourceEntry): string {
  const { resourceGroup, resourceType, resourceName } = resource
  return `${resourceGroup}/${resourceType}/${resourceName}/${entry.id}`
}

function newestLast({ newest: one }: EntrySource, { newest: other }: EntrySource): number {
  return compareTexts(one, other)
}
