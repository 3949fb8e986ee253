import { type AuditLine, type AuditLog, takeNewestEntries } from './port.ts'

/** A log in memory, lost when the process ends: for tests, and where no folder is configured. */
export function createMemoryAuditLog<Entry extends AuditLine>(maxEntries = 10_000): AuditLog<Entry> {
  const kept: { entry: Entry; isMinor: boolean }[] = []
  return {
    async append(added, { isMinor = false } = {}) {
      kept.push(...added.map((entry) => ({ entry, isMinor })))
      while (kept.length > maxEntries)
        kept.splice(
          Math.max(
            0,
            kept.findIndex((one) => one.isMinor),
          ),
          1,
        )
    },
    newest: (...args) => takeNewestEntries(kept.map(({ entry }) => entry).reverse(), ...args),
  }
}
