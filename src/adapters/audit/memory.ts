import { type AuditLine, type AuditLog, type PartyOf, takeNewestEntries } from './port.ts'

/**
 * A log in memory, lost when the process ends: for tests, and where no folder is configured. When it is full, minor
 * entries make room first, then the oldest of the party that has the most.
 */
export function createMemoryAuditLog<Entry extends AuditLine>(
  maxEntries = 10_000,
  partyOf: PartyOf<Entry> = () => '',
): AuditLog<Entry> {
  const kept: { entry: Entry; isMinor: boolean; party: string }[] = []
  const counts = new Map<string, number>()
  const count = (party: string, more: number) => counts.set(party, (counts.get(party) ?? 0) + more)
  function dropOne(): void {
    const minor = kept.findIndex(({ isMinor }) => isMinor)
    const [largest] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one))
    const at = minor >= 0 ? minor : kept.findIndex(({ party }) => party === largest)
    for (const { party } of kept.splice(at, 1)) count(party, -1)
    for (const [party, left] of counts) if (left === 0) counts.delete(party)
  }
  return {
    async append(added, { isMinor = false } = {}) {
      for (const entry of added) {
        const party = partyOf(entry)
        kept.push({ entry, isMinor, party })
        count(party, 1)
      }
      while (kept.length > maxEntries) dropOne()
    },
    newest: (...args) => takeNewestEntries(kept.map(({ entry }) => entry).reverse(), ...args),
  }
}
