import type { ResourceEntry } from './port.ts'

/** A part of a record. None of its entries is newer than `newest`. */
export type EntrySource = {
  readonly newest: string
  /** Returns its own entries, and the sources that hold older ones. */
  open(): Promise<{ readonly entries: readonly ResourceEntry[]; readonly older: readonly EntrySource[] }>
}

const MAX_CONCURRENT_READS = 8

/** Returns the newest `limit` entries of many records, newest first, without opening sources that are older. */
export async function mergeNewestEntries(sources: readonly EntrySource[], limit: number): Promise<ResourceEntry[]> {
  const waiting = [...sources]
  let found: ResourceEntry[] = []
  while (waiting.length > 0) {
    waiting.sort((one, other) => (one.newest < other.newest ? 1 : -1))
    const oldest = found[limit - 1]?.entry.occurredAt ?? ''
    const next = waiting.splice(0, MAX_CONCURRENT_READS).filter(({ newest }) => newest >= oldest)
    if (next.length === 0) break
    const opened = await Promise.all(next.map((source) => source.open()))
    waiting.push(...opened.flatMap(({ older }) => older))
    const all = [...found, ...opened.flatMap(({ entries }) => entries)]
    // A late entry may be in two sources.
    const byId = new Map(all.map((item) => [JSON.stringify([item.resource, item.entry.id]), item]))
    found = [...byId.values()].sort(newestFirst).slice(0, limit)
  }
  return found
}

function newestFirst({ entry: one }: ResourceEntry, { entry: other }: ResourceEntry): number {
  return one.occurredAt < other.occurredAt ? 1 : one.occurredAt > other.occurredAt ? -1 : 0
}
