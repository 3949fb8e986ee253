import { appendFile, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { DAY_MS } from '../../core/clock.ts'
import { unlessAbsent } from '../../core/unlessAbsent.ts'
import { linesBackwards } from './lines.ts'
import { AuditError, type AuditLine, type AuditLog, AuditShareError, type PartyOf, takeNewestEntries } from './port.ts'

export type FileAuditOptions<Entry extends AuditLine> = {
  folder: string
  clock: Clock
  /** A party may hold as many bytes of a day as are left for all others. Each process counts for itself. */
  partyOf?: PartyOf<Entry>
  /** Bytes per day, 256 MiB. Beyond, `append` fails, so that nothing happens without a record. */
  dayBytes?: number
  /** Bytes that one query reads from the end of the log; 64 MiB. */
  readBytes?: number
}

/** Retention period of entries, in days. */
const RETENTION_DAYS = 90

/**
 * A log with one file per day. Several processes may share the folder: each call appends in a single write, which the
 * file system does not interleave at this size.
 */
export function createFileAuditLog<Entry extends AuditLine>(options: FileAuditOptions<Entry>): AuditLog<Entry> {
  const { folder, clock, partyOf = () => '' } = options
  const { dayBytes = 256 * 1024 * 1024, readBytes = 64 * 1024 * 1024 } = options
  const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)
  const oldestKept = () => clock.now() - RETENTION_DAYS * DAY_MS
  const pathOf = (day: string) => join(folder, `${day}.jsonl`)
  let cleaned = ''
  /** Bytes of this day by party. */
  const held = new Map<string, number>()

  /** Before the first entry of a day: creates the folder and deletes expired files. */
  async function begin(day: string): Promise<void> {
    if (cleaned === day) return
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const oldest = dayOf(oldestKept())
    for (const found of await daysIn(folder)) if (found < oldest) await rm(pathOf(found), { force: true })
    cleaned = day
    held.clear()
  }

  /** @throws AuditShareError if a party would hold more than it leaves */
  function takeShares(lines: readonly { party: string; line: string }[], left: number): void {
    const wanted = new Map<string, number>()
    for (const { party, line } of lines)
      if (party !== '') wanted.set(party, (wanted.get(party) ?? held.get(party) ?? 0) + Buffer.byteLength(line))
    const isTooMuch = [...wanted].some(([party, bytes]) => bytes > left - (bytes - (held.get(party) ?? 0)))
    if (isTooMuch) throw new AuditShareError('The share of the audit of this day is used up.')
    for (const [party, bytes] of wanted) held.set(party, bytes)
  }
  return {
    async append(entries, { isMinor = false } = {}) {
      if (entries.length === 0) return
      const day = dayOf(clock.now())
      try {
        await begin(day)
        const size = (await unlessAbsent(stat(pathOf(day))))?.size ?? 0
        if (isMinor && size > dayBytes / 2) return
        if (size > dayBytes) throw new AuditError('The audit of this day is full.')
        const lines = entries.map((entry) => ({ party: partyOf(entry), line: `${JSON.stringify(entry)}\n` }))
        if (!isMinor) takeShares(lines, dayBytes - size)
        // On a line of their own, even if the last one was written half: another process may have died, or the disk been full.
        await appendFile(pathOf(day), `\n${lines.map(({ line }) => line).join('')}`, { mode: 0o600 })
      } catch (error) {
        throw error instanceof AuditError ? error : new AuditError('The audit cannot be written.', error)
      }
    },
    newest: (limit, wanted, from = oldestKept(), reads = 'enough') => {
      const maxBytes = reads === 'all' ? Number.POSITIVE_INFINITY : readBytes
      const found = takeNewestEntries(entriesBackwards(dayOf(from), maxBytes), limit, wanted, from)
      return found.catch((error: unknown) => {
        throw new AuditError('The audit cannot be read.', error)
      })
    },
  }

  async function* entriesBackwards(oldest: string, maxBytes: number): AsyncGenerator<Entry> {
    let left = maxBytes
    for (const day of (await daysIn(folder)).reverse()) {
      if (day < oldest || left <= 0) return
      for await (const line of linesBackwards(pathOf(day), left)) {
        left -= line.length + 1
        yield* parse<Entry>(line)
      }
    }
  }
}

async function daysIn(folder: string): Promise<string[]> {
  const names = (await unlessAbsent(readdir(folder))) ?? []
  return names.flatMap((name) => /^(\d{4}-\d\d-\d\d)\.jsonl$/.exec(name)?.[1] ?? []).sort()
}

/** Skips a line that was cut off when a process died while writing it. */
function parse<Entry>(line: string): Entry[] {
  try {
    return [JSON.parse(line) as Entry]
  } catch {
    return []
  }
}
