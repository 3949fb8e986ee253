import type { AuditLine, AuditLog } from './port.ts'

/** A log that is gone with the process: for tests, and where no folder is configured. */
export function memoryAudit<Entry extends AuditLine>(most = 10_000): AuditLog<Entry> {
  const entries: Entry[] = []
  return {
    async append(added) {
      entries.push(...added)
      if (entries.length > most) entries.splice(0, entries.length - most)
    },
    async newest(limit, wanted, from = 0) {
      const found = new Map<string, Entry>()
      for (const entry of entries.toReversed()) {
        if (found.size >= limit) break
        if (Date.parse(entry.timestamp) < from || found.has(entry.id) || !wanted(entry)) continue
        found.set(entry.id, entry)
      }
      return [...found.values()]
    },
  }
}
