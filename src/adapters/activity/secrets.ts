import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import {
  BOUNDARY_BYTES_MAX,
  BOUNDARY_RECORDS_MAX,
  ENTRIES_MAX,
  MAX_CLOCK_SKEW_MS,
  OWN_BOUNDS,
  REPORTED_BOUNDS,
  type RecordBounds,
} from '../../contracts/activity.ts'
import { MAX_CONFLICT_ATTEMPTS, pauseAfterConflict } from '../../core/conflictBackoff.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import { SYSTEM_NAMESPACE, sha256 } from '../../core/names.ts'
import type { ObjectMeta } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import { secret, secretValues } from '../blobs/secretValues.ts'
import {
  addObservedActions,
  type Chapter,
  emptyHead,
  type Head,
  isOverBounds,
  retentionCutoff,
  selectEntriesToClose,
  selectReadableEntries,
  selectUnexpiredChapters,
  shortenHead,
  thinChapters,
  withNewestState,
} from './history.ts'
import {
  ACTIVITY_LABEL,
  CHAPTER_MARKS,
  chapterName,
  contentMarks,
  type Marks,
  marksOf,
  newestOf,
  ownerOf,
} from './marks.ts'
import { type EntrySource, mergeNewestEntries } from './newest.ts'
import type { ActivityStore, Entry, EntryFilter, ObservedAction, ResourceEntry, ResourcePath } from './port.ts'
import { type BoundaryLimits, planSweep } from './sweeping.ts'

const BOUNDARY_LIMITS: BoundaryLimits = { records: BOUNDARY_RECORDS_MAX, bytes: BOUNDARY_BYTES_MAX }

/** Bytes of JSON in each of the three caches (heads, shown heads, chapters), so 96 MiB together. */
const CACHE_BYTES = 32 * 1024 * 1024

const refOf = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })

type Client = Pick<KubeClient, 'get' | 'list' | 'create' | 'mergePatch' | 'remove'>
/** `bytes` is the length as JSON. */
type Held = { head: Head; version: string | undefined; bytes: number }
/** The part of a head that is shown. The rest serves to compare the next entry, and may be 100 times as large. */
type Shown = Pick<Head, 'entries' | 'chapters'>
/** One of the two parts of a record: what the platform saw, or what callers reported. */
type Part = { readonly name: string; readonly bounds: RecordBounds; readonly isReported: boolean }

/**
 * Stores records in Secrets of the platform's namespace. The head holds the newest entries and is rewritten with each;
 * closed chapters are immutable. An entry thus costs one write of a few kilobytes.
 */
export class SecretActivity implements ActivityStore {
  readonly #client: Client
  readonly #now: () => number
  readonly #values: ReturnType<typeof secretValues>
  /** What this process last wrote. If another process has written since, the write is refused and retried. */
  readonly #heads = new LRUCache<string, Held>({ maxSize: CACHE_BYTES, sizeCalculation: ({ bytes }) => bytes + 1 })
  /** Heads read by `newest`, which goes through all resources of a boundary. */
  readonly #shown = new LRUCache<string, { head: Shown; version: string; bytes: number }>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => bytes + 1,
  })
  /** Serialises writers within this process, which would otherwise conflict. */
  readonly #writeLocks = new KeyedMutex()
  readonly #chapters = new LRUCache<string, readonly Entry[]>({
    maxSize: CACHE_BYTES,
    sizeCalculation: (entries) => JSON.stringify(entries).length + 1,
    fetchMethod: async (name) => {
      const found = await this.#values.read(refOf(name))
      return found && (JSON.parse(await decompress(found.bytes)) as readonly Entry[])
    },
  })

  constructor(client: Client, now: () => number = Date.now) {
    this.#client = client
    this.#values = secretValues(client, 'log')
    this.#now = now
  }

  async append(resource: ResourcePath, actions: readonly ObservedAction[]): Promise<void> {
    for (const part of partsOf(resource)) {
      const own = actions.filter(({ channel }) => (channel === 'Reported') === part.isReported)
      await this.#writeLocks.take(part.name, () => this.#add(part, resource, own))
    }
  }

  async #add(part: Part, resource: ResourcePath, actions: readonly ObservedAction[]): Promise<void> {
    const { name } = part
    for (let attempt = 1; actions.length > 0; attempt += 1) {
      const held = this.#heads.get(name) ?? (await this.#readHead(name))
      const closed = await this.#idsInChapters(held.head, actions)
      const next = addObservedActions(held.head, actions, (id) => closed.has(id))
      if (next === held.head || (await this.#write(part, resource, held, next))) return
      if (attempt === MAX_CONFLICT_ATTEMPTS) throw new Error('Too many writers use the record of a resource at once.')
      await pauseAfterConflict(attempt)
    }
  }

  async read(resource: ResourcePath): Promise<readonly Entry[] | undefined> {
    const parts = await Promise.all(partsOf(resource).map((part) => this.#readPart(part)))
    const found = parts.filter((entries) => entries !== undefined)
    return found.length === 0 ? undefined : selectReadableEntries(found.flat(), this.#now())
  }

  async #readPart({ name }: Part): Promise<readonly Entry[] | undefined> {
    const { head, version } = await this.#readHead(name)
    if (version === undefined) return undefined
    return [...(await this.#readChapters(selectUnexpiredChapters(head, this.#now()))), ...head.entries]
  }

  async newest(boundaryId: string, wanted: EntryFilter): Promise<readonly ResourceEntry[]> {
    const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: `${ACTIVITY_LABEL}=${boundaryId}` }
    const { items } = await this.#client.list({ ...secret, metadataOnly: true }, selection)
    return mergeNewestEntries(
      items.flatMap(({ metadata }) => this.#source(metadata, wanted)),
      ENTRIES_MAX,
    )
  }

  #source(metadata: ObjectMeta, wanted: EntryFilter): EntrySource[] {
    const { name, resourceVersion } = metadata
    const resource = ownerOf(metadata)
    const part = partsOf(resource).find((one) => one.name === name)
    const isWanted = wanted(resource)
    if (part === undefined || isWanted === undefined) return []
    const oldest = retentionCutoff(this.#now())
    const matching = (entries: readonly Entry[]) =>
      entries.filter((entry) => entry.occurredAt >= oldest && isWanted(entry)).map((entry) => ({ resource, entry }))
    const chapter = (one: Chapter) => ({
      newest: one.newest,
      open: async () => ({ entries: matching(await this.#readChapters([one])), older: [] }),
    })
    // A reported time may be ahead of the time of its report.
    const newest = new Date(Date.parse(newestOf(metadata)) + MAX_CLOCK_SKEW_MS).toISOString()
    const open = async () => {
      const head = await this.#readShownHead(name, resourceVersion)
      return { entries: matching(head.entries), older: selectUnexpiredChapters(head, this.#now()).map(chapter) }
    }
    return [{ newest, open }]
  }

  /** Reads the head only if neither cache holds this version. */
  async #readShownHead(name: string, version: string | undefined): Promise<Shown> {
    const held = [this.#heads.peek(name), this.#shown.get(name)].find((one) => one?.version === version)
    if (held !== undefined) return held.head
    const { head, version: read } = await this.#readHead(name)
    const shown = { entries: head.entries, chapters: head.chapters }
    if (read !== undefined) this.#shown.set(name, { head: shown, version: read, bytes: JSON.stringify(shown).length })
    return shown
  }

  async sweep(exists: (resource: ResourcePath) => boolean, limits: BoundaryLimits = BOUNDARY_LIMITS): Promise<void> {
    const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: ACTIVITY_LABEL }
    const { items } = await this.#client.list({ ...secret, metadataOnly: true }, selection)
    const all = items.map(({ metadata }) => metadata)
    const { removed, thinned } = planSweep(all, retentionCutoff(this.#now()), exists, limits)
    for (const { name, uid, resourceVersion } of removed)
      await this.#client.remove(secret, refOf(name), { uid, resourceVersion })
    for (const [head, bytes] of thinned) await this.#writeLocks.take(head.name, () => this.#thin(head, bytes))
  }

  /** Thins a record to this size. One that somebody writes meanwhile is left to the next sweep. */
  async #thin(metadata: ObjectMeta, bytes: number): Promise<void> {
    const { name } = metadata
    const held = await this.#readHead(name)
    if (held.version === undefined || held.version !== metadata.resourceVersion) return
    const sizeOf = async (one: Head) => (await compress(JSON.stringify(one))).length
    const whole = withNewestState(held.head)
    const short = (await sizeOf(whole)) <= bytes ? whole : shortenHead(whole, bytes)
    const bounds = { entries: ENTRIES_MAX, bytes: Math.max(1, bytes - (await sizeOf(short))) }
    await this.#write({ name, bounds }, ownerOf(metadata), held, short, newestOf(metadata))
  }

  /** Returns the ids of entries in chapters, which late actions may repeat. */
  async #idsInChapters({ chapters }: Head, actions: readonly ObservedAction[]): Promise<ReadonlySet<string>> {
    const [earliest = ''] = actions.map(({ occurredAt }) => occurredAt).sort()
    const entries = await this.#readChapters(chapters.filter(({ newest }) => newest >= earliest))
    return new Set(entries.map(({ id }) => id))
  }

  /** Replaces a head, within the bounds of its record. @returns false if another writer was faster */
  async #write(
    { name, bounds }: Pick<Part, 'name' | 'bounds'>,
    resource: ResourcePath,
    { version, head: before }: Held,
    added: Head,
    newest = new Date(this.#now()).toISOString(),
  ): Promise<boolean> {
    const due = selectEntriesToClose(added)
    const made = due === undefined ? [] : [await this.#writeChapter(name, due.closed)]
    const grown = { ...added, entries: due?.kept ?? added.entries, chapters: [...added.chapters, ...made] }
    const chapters = selectUnexpiredChapters(grown, this.#now())
    const head = { ...grown, chapters: await this.#thinned(name, { ...grown, chapters }, bounds, made) }
    const text = JSON.stringify(head)
    // A failed write may still have been stored: the next attempt must read again.
    this.#heads.delete(name)
    const written = await this.#put(name, await compress(text), newest, marksOf(resource), version)
    if (written === undefined) {
      await this.#removeChapters(made)
      return false
    }
    this.#heads.set(name, { head, version: written, bytes: text.length })
    const isLeft = ({ name: one }: Chapter) => !head.chapters.some((kept) => kept.name === one)
    await this.#removeChapters([...before.chapters, ...made].filter(isLeft))
    return true
  }

  /** Returns the chapters of a record within its bounds; adds those that it writes for that to `made`. */
  async #thinned(name: string, head: Head, bounds: RecordBounds, made: Chapter[]): Promise<readonly Chapter[]> {
    if (!isOverBounds(head, bounds)) return head.chapters
    const read = await Promise.all(
      head.chapters.map(async (chapter) => ({ chapter, entries: await this.#readChapters([chapter]) })),
    )
    const chapters: Chapter[] = []
    for (const one of thinChapters(read, head.entries.length, bounds)) {
      const isNew = 'entries' in one
      const chapter = isNew ? await this.#writeChapter(name, one.entries) : one
      if (isNew) made.push(chapter)
      chapters.push(chapter)
    }
    return chapters
  }

  /** @returns the version that was written; undefined if another writer was faster */
  #put(name: string, bytes: Uint8Array, newest: string, marks: Marks, version?: string): Promise<string | undefined> {
    const annotations = { ...marks.annotations, ...contentMarks(newest, bytes.length) }
    return this.#values.write(refOf(name), bytes, { version, labels: marks.labels, annotations })
  }

  /** Stores a chapter under a unique name. It is not part of the record until the head names it. */
  async #writeChapter(head: string, entries: readonly Entry[]): Promise<Chapter> {
    const name = chapterName(head, randomBytes(6).toString('hex'))
    const bytes = await compress(JSON.stringify(entries))
    const newest = entries.at(-1)?.occurredAt ?? ''
    await this.#put(name, bytes, newest, CHAPTER_MARKS)
    return { name, count: entries.length, newest, bytes: bytes.length }
  }

  /** Deletes replaced chapters. The sweep deletes those that fail here. */
  async #removeChapters(chapters: readonly Chapter[]): Promise<void> {
    for (const { name } of chapters) await this.#client.remove(secret, refOf(name)).catch(() => undefined)
  }

  async #readHead(name: string): Promise<Held> {
    const found = await this.#values.read(refOf(name))
    if (found === undefined) return { head: emptyHead(randomBytes(16).toString('hex')), version: undefined, bytes: 0 }
    const text = await decompress(found.bytes)
    return { head: JSON.parse(text) as Head, version: found.version, bytes: text.length }
  }

  /** A chapter that was deleted in the meantime yields no entries. */
  async #readChapters(chapters: readonly Chapter[]): Promise<readonly Entry[]> {
    const read = await Promise.all(chapters.map(({ name }) => this.#chapters.fetch(name)))
    return read.flatMap((entries) => entries ?? [])
  }
}

function partsOf({ boundaryId, resourceGroup, resourceType, resourceName }: ResourcePath): Part[] {
  const name = `activity-${sha256([boundaryId, resourceGroup, resourceType, resourceName].join('/')).slice(0, 40)}`
  return [
    { name, bounds: OWN_BOUNDS, isReported: false },
    { name: `${name}-reported`, bounds: REPORTED_BOUNDS, isReported: true },
  ]
}

const compress = (text: string): Promise<Buffer> => promisify<string, Buffer>(gzip)(text)

async function decompress(bytes: Uint8Array): Promise<string> {
  return (await promisify<Uint8Array, Buffer>(gunzip)(bytes)).toString('utf8')
}
