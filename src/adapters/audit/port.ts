/** Fields that all entries have; each log adds its own. An entry keeps its `id` when it is written again. */
export type AuditLine = { readonly id: string; readonly timestamp: string }

/** An append-only log. Entries are never changed, and are deleted after the retention period. */
export interface AuditLog<Entry extends AuditLine> {
  /**
   * @param isMinor may be dropped when space is short: for entries that strangers can cause in any number
   * @throws AuditError if the entries could not be stored: the caller must then not go ahead
   * @throws AuditShareError if only their party has no room left
   */
  append(entries: readonly Entry[], options?: { isMinor?: boolean }): Promise<void>
  /**
   * Returns the newest wanted entries, newest first, without duplicates.
   *
   * @param from milliseconds since the epoch: older entries may be left out
   * @param reads `enough` reads a bounded part of the log; `all` is for callers that act on the absence of an entry
   * @throws AuditError if the log cannot be read
   */
  newest(limit: number, wanted: (entry: Entry) => boolean, from?: number, reads?: 'enough' | 'all'): Promise<Entry[]>
}

/**
 * Returns whose share of the log an entry takes, which nobody else can fill and which leaves room for all others; empty
 * for entries that take nobody's share.
 */
export type PartyOf<Entry> = (entry: Entry) => string

/** Implements `newest` over entries that come newest first. */
export async function takeNewestEntries<Entry extends AuditLine>(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  ...[limit, wanted, from = 0]: Parameters<AuditLog<Entry>['newest']>
): Promise<Entry[]> {
  const found = new Map<string, Entry>()
  if (limit < 1) return []
  for await (const entry of entries) {
    if (Date.parse(entry.timestamp) < from || found.has(entry.id) || !wanted(entry)) continue
    found.set(entry.id, entry)
    if (found.size >= limit) break
  }
  return [...found.values()]
}

export class AuditError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'AuditError'
  }
}

/** One party has written so much today that the rest is left to the others. */
export class AuditShareError extends AuditError {}
