import { type AuditLine, type AuditLog, newestOf } from './port.ts'

/** A log that is gone with the process: for tests, and where no folder is configured. */
export function memoryAudit<Entry extends AuditLine>(most = 10_000): AuditLog<Entry> {
  const entries: Entry[] = []
  return {
    async append(added) {
      entries.push(...added)
      if (entries.length > most) entries.splice(0, entries.length - most)
    },
    newest: (...asked) => newestOf(entries.toReversed(), ...asked),
  }
}
