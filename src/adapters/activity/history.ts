import { ENTRIES_MAX, ENTRY_BYTES_MAX, RECORD_BYTES_MAX, RETENTION_DAYS } from '../../contracts/activity.ts'
import { changesBetween, type Flat, flatten } from './changes.ts'
import type { After, Change, Entry, Sighting } from './port.ts'

/** Older entries, closed for good. */
export type Chapter = { name: string; count: number; oldest: string; newest: string; bytes: number }
/** How the resource was after the newest write that is known, to tell what the next one changes. */
export type Known = { uid: string; generation: number; flat: Flat | undefined; labelling: string }

/** The open end of a resource's record, and the list of what was closed. Entries are in order, oldest first. */
export type Head = {
  readonly salt: string
  readonly entries: readonly Entry[]
  readonly chapters: readonly Chapter[]
  readonly known?: Known | undefined
}

const DAY = 86_400_000
/** The head is written with every entry, so it stays short; what remains in it when it is closed meets what comes late. */
const HEAD_ENTRIES_MAX = 256
const HEAD_BYTES_MAX = 128 * 1024
const HEAD_ENTRIES_KEPT = 64

export const emptyHead = (salt: string): Head => ({ salt, entries: [], chapters: [] })

/** @param isClosed whether an entry of this id is in a chapter already */
export function added(
  head: Head,
  sightings: readonly Sighting[],
  isClosed: (id: string) => boolean = () => false,
): Head {
  const ordered = sightings.filter(({ id }) => !isClosed(id)).sort(inOrder)
  return ordered.reduce(withOne, head)
}

function withOne(head: Head, sighting: Sighting): Head {
  const held = head.entries.find(({ id }) => id === sighting.id)
  const { known, changes, isChange } = compared(head, sighting.after)
  const { after: _after, isSecondHand = false, onlyIfChanged = false, ...facts } = sighting
  if (held !== undefined) {
    if (isSecondHand && !isChange) return head
    const told = isSecondHand ? held : { ...held, ...facts, version: facts.version ?? held.version }
    const entry = fitting({ ...told, changes: [...held.changes, ...changes] })
    if (JSON.stringify(entry) === JSON.stringify(held)) return head
    return { ...head, known, entries: head.entries.map((one) => (one === held ? entry : one)) }
  }
  if (onlyIfChanged && !isChange) return head
  const entries = [...head.entries, fitting({ ...facts, changes })].sort(inOrder)
  return { ...head, known, entries }
}

type Comparison = { known: Known | undefined; changes: readonly Change[]; isChange: boolean }

function compared({ known, salt }: Head, after: After | undefined): Comparison {
  // Nothing is known of how it is now: a deletion, a refusal, an action on something else.
  if (after === undefined) return { known, changes: [], isChange: true }
  if ('replicas' in after) {
    if (known?.flat === undefined) return { known, changes: [], isChange: true }
    const flat = { ...known.flat, [after.pointer]: after.replicas }
    const changes = changesBetween(known.flat, flat)
    const next = { ...known, flat, generation: known.generation + changes.length }
    return { known: next, changes, isChange: changes.length > 0 }
  }
  const { uid, generation, labelling } = after
  const isSameLife = known?.uid === uid
  // It came after a newer one, which holds this change too.
  if (isSameLife && generation < known.generation) return { known, changes: [], isChange: true }
  const flat = flatten(after.spec, salt)
  const before = isSameLife ? known.flat : generation === 1 ? {} : undefined
  const changes = before === undefined || flat === undefined ? [] : changesBetween(before, flat)
  const isChange = !isSameLife || known.generation !== generation || known.labelling !== labelling
  return { known: { uid, generation, flat, labelling }, changes, isChange }
}

/** An entry of bounded length: a long list of changes loses its end, and says so. */
function fitting(entry: Entry): Entry {
  const bytesOf = (one: Entry) => Buffer.byteLength(JSON.stringify(one))
  if (bytesOf(entry) <= ENTRY_BYTES_MAX) return entry
  const { length } = entry.changes
  for (let left = length; left > 0; left >>= 1) {
    const metadata = { ...entry.metadata, changesLeftOut: String(length - (left >> 1)) }
    const cut = { ...entry, metadata, changes: entry.changes.slice(0, left >> 1) }
    if (bytesOf(cut) <= ENTRY_BYTES_MAX) return cut
  }
  return { ...entry, changes: [], metadata: {}, message: entry.message?.slice(0, 256) }
}

function inOrder(one: Pick<Entry, 'occurredAt' | 'version'>, other: Pick<Entry, 'occurredAt' | 'version'>): number {
  if (one.occurredAt !== other.occurredAt) return one.occurredAt < other.occurredAt ? -1 : 1
  return Number(one.version ?? 0) - Number(other.version ?? 0)
}

/** The entries that are due for a chapter of their own; undefined while the head is short enough. */
export function dueForClosing({ entries }: Head): { closed: readonly Entry[]; kept: readonly Entry[] } | undefined {
  const isLong = entries.length > HEAD_ENTRIES_MAX || Buffer.byteLength(JSON.stringify(entries)) > HEAD_BYTES_MAX
  if (!isLong || entries.length < 2) return undefined
  const cut = Math.max(1, entries.length - Math.min(HEAD_ENTRIES_KEPT, entries.length >> 1))
  return { closed: entries.slice(0, cut), kept: entries.slice(cut) }
}

export function oldestKept(now: number): string {
  return new Date(now - RETENTION_DAYS * DAY).toISOString()
}

/** The chapters that still count: of the newest entries, young enough, and not too long in all. */
export function chaptersKept({ chapters, entries }: Head, now: number): Chapter[] {
  let [count, bytes] = [entries.length, 0]
  const kept = chapters.toReversed().filter((chapter) => {
    const isKept = count < ENTRIES_MAX && bytes + chapter.bytes <= RECORD_BYTES_MAX && chapter.newest >= oldestKept(now)
    count += chapter.count
    bytes += chapter.bytes
    return isKept
  })
  return kept.toReversed()
}

/** What a reader is shown: each once, in order, no older and no more than is kept. */
export function readable(entries: readonly Entry[], now: number): Entry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const oldest = oldestKept(now)
  return [...byId.values()]
    .filter(({ occurredAt }) => occurredAt >= oldest)
    .sort(inOrder)
    .slice(-ENTRIES_MAX)
}
