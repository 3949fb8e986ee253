/** One entry; whoever keeps a log says what else stands in it. `id` is the same when an entry is written again. */
export type AuditLine = { readonly id: string; readonly timestamp: string }

/** An append-only log of what was done. Entries are never changed and go when their time is over. */
export interface AuditLog<Entry extends AuditLine> {
  /**
   * @param isMinor may be left out where there is little room: what strangers can cause in any number
   * @throws AuditError if it could not be kept: then what was to be told of must not happen
   */
  append(entries: readonly Entry[], options?: { isMinor?: boolean }): Promise<void>
  /**
   * The newest entries that are wanted, newest first, each once.
   *
   * @param from milliseconds since the epoch: older ones need not be looked for
   * @param reads a bounded part of the log is enough, except for whoever acts on what is not there
   */
  newest(limit: number, wanted: (entry: Entry) => boolean, from?: number, reads?: 'enough' | 'all'): Promise<Entry[]>
}

/** Of entries that come newest first, those that `newest` tells of. */
export async function newestOf<Entry extends AuditLine>(
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
