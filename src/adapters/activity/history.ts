import { ENTRIES_MAX, MAX_ENTRY_BYTES, RETENTION_DAYS, type RecordBounds } from '../../contracts/activity.ts'
import { DAY_MS } from '../../core/clock.ts'
import { cutTo } from '../../core/plainLine.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { selectFairly } from './fairness.ts'
import type { Entry, ObservedAction } from './port.ts'
import { computeChanges, type States } from './states.ts'

/** A closed, immutable batch of older entries. */
export type Chapter = { name: string; count: number; newest: string; bytes: number }
/** The newest entries of a resource's record, oldest first, and the list of its closed chapters. */
export type Head = {
  readonly salt: string
  readonly entries: readonly Entry[]
  readonly chapters: readonly Chapter[]
  readonly known?: States | undefined
}

/** Bounds of the head, which is rewritten with every entry. Kept entries let late actions be merged into them. */
const HEAD_ENTRIES_MAX = 256
const HEAD_BYTES_MAX = 128 * 1024
const HEAD_ENTRIES_KEPT = 64

export const emptyHead = (salt: string): Head => ({ salt, entries: [], chapters: [] })

/** @param isClosed whether an entry with this id is already in a chapter */
export function addObservedActions(
  head: Head,
  actions: readonly ObservedAction[],
  isClosed: (id: string) => boolean = () => false,
): Head {
  const ordered = actions.filter(({ id }) => !isClosed(id)).sort(byTime)
  return ordered.reduce(addObservedAction, head)
}

function addObservedAction(head: Head, observed: ObservedAction): Head {
  const { after, isSecondHand = false, onlyIfChanged = false, onlyIfKnown = false, ...seen } = observed
  const facts = after !== undefined && 'uid' in after && after.isNew ? { ...seen, made: after.uid } : seen
  if (onlyIfKnown && after !== undefined && 'uid' in after && head.known?.uid !== after.uid) return head
  const { known, changes, isChange, next } = computeChanges(head.known, after, observed, head.salt)
  const held = head.entries.find(({ id }) => id === observed.id)
  const updated = head.entries.map((one) =>
    one.id === next?.entryId && one !== held ? truncateEntry({ ...one, changes: next.changes }) : one,
  )
  if (held === undefined) {
    if (onlyIfChanged && (!isChange || isSamePart(head, facts))) return head
    return { ...head, known, entries: [...updated, truncateEntry({ ...facts, changes })].sort(byTime) }
  }
  const merged = isSecondHand
    ? { ...held, part: held.part ?? facts.part }
    : { ...held, ...facts, version: facts.version ?? held.version, part: facts.part ?? held.part }
  const entry = truncateEntry({ ...merged, changes: [...held.changes, ...changes] })
  if (known === head.known && JSON.stringify(entry) === JSON.stringify(held)) return head
  return { ...head, known, entries: updated.map((one) => (one.id === held.id ? entry : one)) }
}

function isSamePart({ entries }: Head, { part }: Pick<Entry, 'part'>): boolean {
  return part !== undefined && entries.findLast((one) => one.part?.uid === part.uid)?.part?.state === part.state
}

const CUT_MESSAGE_LENGTH = 256

/**
 * Bounds the size of an entry: a long list of changes is cut, and `changesLeftOut` tells by how many. If that is not
 * enough, the message is cut, and only then the metadata are left out.
 */
function truncateEntry(entry: Entry): Entry {
  const bytesOf = (one: Entry) => Buffer.byteLength(JSON.stringify(one))
  if (bytesOf(entry) <= MAX_ENTRY_BYTES) return entry
  const { length } = entry.changes
  for (let left = length; left > 0; left >>= 1) {
    const metadata = { ...entry.metadata, changesLeftOut: String(length - (left >> 1)) }
    const cut = { ...entry, metadata, changes: entry.changes.slice(0, left >> 1) }
    if (bytesOf(cut) <= MAX_ENTRY_BYTES) return cut
  }
  const short = { ...entry, changes: [], message: entry.message && cutTo(entry.message, CUT_MESSAGE_LENGTH) }
  return bytesOf(short) <= MAX_ENTRY_BYTES ? short : { ...short, metadata: {} }
}

function byTime(one: Pick<Entry, 'occurredAt' | 'version'>, other: Pick<Entry, 'occurredAt' | 'version'>): number {
  return compareTexts(one.occurredAt, other.occurredAt) || Number(one.version ?? 0) - Number(other.version ?? 0)
}

/** Returns the entries to close into a chapter; undefined while the head is short enough. */
export function selectEntriesToClose({
  entries,
}: Head): { closed: readonly Entry[]; kept: readonly Entry[] } | undefined {
  const isLong = entries.length > HEAD_ENTRIES_MAX || Buffer.byteLength(JSON.stringify(entries)) > HEAD_BYTES_MAX
  if (!isLong || entries.length < 2) return undefined
  const cut = Math.max(1, entries.length - Math.min(HEAD_ENTRIES_KEPT, entries.length >> 1))
  return { closed: entries.slice(0, cut), kept: entries.slice(cut) }
}

export function retentionCutoff(now: number): string {
  return new Date(now - RETENTION_DAYS * DAY_MS).toISOString()
}

/** Returns the chapters with entries that are not past the retention period. */
export function selectUnexpiredChapters({ chapters }: Pick<Head, 'chapters'>, now: number): Chapter[] {
  return chapters.filter(({ newest }) => newest >= retentionCutoff(now))
}

export function isOverBounds({ chapters, entries }: Pick<Head, 'entries' | 'chapters'>, bounds: RecordBounds): boolean {
  const sumOf = (measure: (one: Chapter) => number) => chapters.reduce((sum, one) => sum + measure(one), 0)
  return sumOf(({ count }) => count) + entries.length > bounds.entries || sumOf(({ bytes }) => bytes) > bounds.bytes
}

/** Returns the head with the newest state only: earlier ones are for sightings that come minutes late. */
export function withNewestState({ known, ...head }: Head): Head {
  return { ...head, known: known && { ...known, states: known.states.slice(-1) } }
}

/** Returns the head with as many entries as fit. */
export function shortenHead(head: Head, bytes: number): Head {
  const kept = selectFairly(head.entries, (entry) => Buffer.byteLength(JSON.stringify(entry)), bytes)
  return { ...head, entries: head.entries.filter((entry) => kept.has(entry)) }
}

export type ReadChapter = { readonly chapter: Chapter; readonly entries: readonly Entry[] }
/** What takes the place of the chapters of a record: some stay as they are, some entries get new ones. */
export type Thinning = readonly (Chapter | { readonly entries: readonly Entry[] })[]

/** Fills a record up to this part of its bounds: each thinning rewrites chapters, so it must not follow each entry. */
const THINNED_TO = 15 / 16

/** Thins a record that is over its bounds. Of its chapters, all from the first to the last that lose an entry change. */
export function thinChapters(read: readonly ReadChapter[], headCount: number, bounds: RecordBounds): Thinning {
  const weights = new Map(
    read.flatMap(({ chapter: { bytes, count }, entries }) => {
      const weight = Math.max(1 / bounds.entries, bytes / count / bounds.bytes)
      return entries.map((entry) => [entry, weight] as const)
    }),
  )
  const room = THINNED_TO - headCount / bounds.entries
  const kept = selectFairly([...weights.keys()], (entry) => weights.get(entry) ?? 0, room)
  const isChanged = ({ entries }: ReadChapter) => entries.some((entry) => !kept.has(entry))
  const [first, last] = [read.findIndex(isChanged), read.findLastIndex(isChanged)]
  if (first < 0) return read.map(({ chapter }) => chapter)
  const left = read.slice(first, last + 1).flatMap(({ entries }) => entries.filter((entry) => kept.has(entry)))
  const asBefore = (some: readonly ReadChapter[]) => some.map(({ chapter }) => chapter)
  return [...asBefore(read.slice(0, first)), ...packChapters(left), ...asBefore(read.slice(last + 1))]
}

function packChapters(entries: readonly Entry[]): { entries: Entry[] }[] {
  const packed: { entries: Entry[]; bytes: number }[] = []
  for (const entry of entries) {
    const bytes = Buffer.byteLength(JSON.stringify(entry))
    const open = packed.at(-1)
    const isFull = open === undefined || open.entries.length >= HEAD_ENTRIES_MAX || open.bytes + bytes > HEAD_BYTES_MAX
    if (isFull) packed.push({ entries: [entry], bytes })
    else {
      open.entries.push(entry)
      open.bytes += bytes
    }
  }
  return packed
}

/** Returns the entries to show: deduplicated, in order, at most ENTRIES_MAX, none past the retention period. */
export function selectReadableEntries(entries: readonly Entry[], now: number): Entry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const oldest = retentionCutoff(now)
  return [...byId.values()]
    .filter(({ occurredAt }) => occurredAt >= oldest)
    .sort(byTime)
    .slice(-ENTRIES_MAX)
}
