import { countedObjectsIn } from '../core/objectCount.ts'
import { CacheReadTrackers } from '../core/readTrackers.ts'
import { apiVersionOf, isOurs, type KubeObject, type ObjectRef, type Resource } from './object.ts'
import { type Packed, Packer, type Shape } from './pack.ts'
import { packUid, unpackText, unpackUid } from './packedUid.ts'
import { compareResourceVersions } from './resourceVersion.ts'

/** Returns the keys of an object in an index. Must be pure: it is called again when the object is removed. */
export type IndexFunction<T extends KubeObject> = (object: T) => readonly string[]

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * One stored object. A parsed object takes three to five times the memory of its JSON, so only the text of its leaves
 * is kept, without the parts that are the same for the whole type. The object is parsed on demand, and lives as long as
 * somebody holds it and the garbage collector has not freed it.
 */
class Entry<T extends KubeObject> {
  readonly namespace: string
  readonly name: string
  readonly #version: number | string
  /** The packed text, preceded by the uid. */
  readonly #kept: string
  readonly shape: Shape | undefined
  /** What the object counts towards its boundary's limit of objects; 0 if this store does not count. */
  readonly counts: number
  parsed: WeakRef<T> | undefined

  constructor(
    { namespace = '', name, uid = '', resourceVersion = '0' }: KubeObject['metadata'],
    packed: Packed,
    counts: number,
  ) {
    this.namespace = namespace
    this.name = name
    // A small integer takes no memory of its own; a string does.
    const number = Number(resourceVersion)
    this.#version = number <= MAX_SMALL_INTEGER && String(number) === resourceVersion ? number : resourceVersion
    this.#kept = packUid(uid, packed.text)
    this.shape = packed.shape
    this.counts = counts
  }

  get version(): string {
    return String(this.#version)
  }

  get uid(): string {
    return unpackUid(this.#kept)
  }

  get text(): string {
    return unpackText(this.#kept)
  }

  /** Characters kept for this entry. */
  get length(): number {
    const version = typeof this.#version === 'string' ? this.#version.length : 0
    return this.#kept.length + this.namespace.length + this.name.length + version
  }
}

const MAX_SMALL_INTEGER = 2 ** 31 - 1

/** Entries under one index key. Most keys hold one, and a Set for one costs as much as the entry. */
type Bucket<T extends KubeObject> = Entry<T> | Set<Entry<T>>

/** Entries of one namespace by name. */
type Names<T extends KubeObject> = Entry<T> | Map<string, Entry<T>>

export type PutOptions = {
  /** The caller keeps the object and may change it. */
  shared?: boolean
  /** Stores the object even over a newer version. */
  force?: boolean
}

/** The state before a change; `object` parses it. */
export type Previous<T extends KubeObject> = { readonly version: string; readonly uid: string; object(): T }

/**
 * Objects of one type in memory, slimmed (no managedFields, no last-applied) and frozen. Lookups by key, uid, namespace
 * and declared index take time that depends only on the result.
 */
export class ObjectStore<T extends KubeObject> {
  readonly #apiVersion: string
  readonly #kind: string
  readonly #indexes: Record<string, IndexFunction<T>>
  /** By namespace, then name: takes less memory than combined keys, and lists a namespace without another index. */
  readonly #entries = new Map<string, Names<T>>()
  readonly #packer: Packer
  /** Built on first use: most caches never need it. */
  #uids: Map<string, Entry<T>> | undefined
  readonly #buckets: Map<string, Map<string, Bucket<T>>>
  readonly #revisions = new Map<string, number>()
  readonly #counts: boolean
  readonly #held = new Map<string, number>()
  readonly #readers = new CacheReadTrackers()
  #revision = 0
  #size = 0
  #bytes = 0

  /** @param counts whether `heldIn` is used: objects are whole only on arrival, so counting starts with the first */
  constructor(resource: Resource, indexes: Record<string, IndexFunction<T>> = {}, counts = false) {
    this.#apiVersion = apiVersionOf(resource)
    this.#kind = resource.kind
    this.#counts = counts && isOurs(resource) && resource.namespaced
    this.#packer = new Packer({ sharesLeaves: resource.kind !== 'Secret' })
    this.#indexes = { ...indexes }
    this.#buckets = new Map(Object.keys(indexes).map((name) => [name, new Map()]))
  }

  /** Adds indexes, over the present objects as well. Indexes that are declared already stay as they are. */
  addIndexes(indexes: Record<string, IndexFunction<T>>): void {
    for (const [name, keysOf] of Object.entries(indexes)) {
      if (this.#buckets.has(name)) continue
      const buckets = new Map<string, Bucket<T>>()
      this.#indexes[name] = keysOf
      this.#buckets.set(name, buckets)
      for (const entry of this.#all())
        for (const key of this.#keysOf(name, this.#read(entry))) insertInto(buckets, key, entry)
    }
  }

  get size(): number {
    return this.#size
  }

  /** Characters of stored text, for metrics. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Returns what the objects of a namespace count towards their boundary's limit (`countedObjectsIn`).
   *
   * @throws RangeError if this store does not count
   */
  heldIn(namespace: string): number {
    if (!this.#counts) throw new RangeError(`Objects of ${this.#kind} are not counted here.`)
    return this.#held.get(namespace) ?? 0
  }

  /** A number that changes with each change, of all objects or of those in a namespace; 0 if there are none. */
  revision(namespace?: string): number {
    this.#readers.note(namespace)
    return namespace === undefined ? this.#revision : (this.#revisions.get(namespace) ?? 0)
  }

  /** References to all objects. */
  *refs(): Generator<Required<ObjectRef>> {
    for (const { namespace, name } of this.#all()) yield { namespace, name }
  }

  get(ref: ObjectRef): T | undefined {
    this.#readers.note(ref.namespace ?? '', ref.name)
    const entry = this.#find(ref)
    return entry === undefined ? undefined : this.#read(entry)
  }

  versionOf(ref: ObjectRef): string | undefined {
    return this.#find(ref)?.version
  }

  uidOf(ref: ObjectRef): string | undefined {
    return this.#find(ref)?.uid
  }

  byUid(uid: string): T | undefined {
    this.#readers.note()
    this.#uids ??= new Map(Array.from(this.#all(), (entry) => [entry.uid, entry]))
    const entry = this.#uids.get(uid)
    return entry === undefined ? undefined : this.#read(entry)
  }

  list(namespace?: string): readonly T[] {
    this.#readers.note(namespace)
    const entries = namespace === undefined ? this.#all() : entriesOf(this.#entries.get(namespace))
    return Array.from(entries, (entry) => this.#read(entry))
  }

  /** @throws RangeError for an index that was not declared */
  byIndex(index: string, key: string): readonly T[] {
    this.#readers.note()
    const buckets = this.#buckets.get(index)
    if (buckets === undefined) throw new RangeError(`No index "${index}" is declared for ${this.#kind}.`)
    return Array.from(entriesOf(buckets.get(key)), (entry) => this.#read(entry))
  }

  /**
   * Stores the object and returns what it replaced.
   *
   * @returns `stale` if an equal or newer version is already stored
   * @throws TypeError if its names or version are not text, which a hostile cluster may send
   */
  put(object: T, options: PutOptions = {}): { outcome: 'added' | 'modified' | 'stale'; previous?: Previous<T> } {
    requireNames(object.metadata)
    const version = object.metadata.resourceVersion ?? '0'
    const before = this.#find(object.metadata)
    if (before !== undefined && options.force !== true && compareResourceVersions(version, before.version) <= 0) {
      return { outcome: 'stale' }
    }
    const stripped = stripUnread(object)
    const entry = new Entry<T>(
      object.metadata,
      this.#packer.pack(variableParts(stripped)),
      this.#counts ? countedObjectsIn(object) : 0,
    )
    if (options.shared !== true) entry.parsed = new WeakRef(stripped)
    const previous = before === undefined ? undefined : this.#remove(before)
    this.#insert(entry, stripped)
    return previous === undefined ? { outcome: 'added' } : { outcome: 'modified', previous }
  }

  delete(ref: ObjectRef): Previous<T> | undefined {
    const entry = this.#find(ref)
    return entry === undefined ? undefined : this.#remove(entry)
  }

  #find({ namespace = '', name }: ObjectRef): Entry<T> | undefined {
    const names = this.#entries.get(namespace)
    if (names instanceof Entry) return names.name === name ? names : undefined
    return names?.get(name)
  }

  *#all(): Generator<Entry<T>> {
    for (const names of this.#entries.values()) yield* entriesOf(names)
  }

  #insert(entry: Entry<T>, object: T): void {
    const { namespace, name } = entry
    const names = this.#entries.get(namespace)
    if (names === undefined) this.#entries.set(namespace, entry)
    else if (names instanceof Entry)
      this.#entries.set(namespace, new Map([names, entry].map((each) => [each.name, each])))
    else names.set(name, entry)
    this.#size += 1
    this.#bytes += entry.length
    this.#count(namespace, entry.counts)
    this.#uids?.set(entry.uid, entry)
    this.#revision += 1
    this.#revisions.set(namespace, this.#revision)
    this.#eachIndexKey(object, (buckets, key) => insertInto(buckets, key, entry))
    this.#readers.changed(namespace, name)
  }

  #remove(entry: Entry<T>): Previous<T> {
    const object = this.#read(entry)
    const { namespace, name } = entry
    const names = this.#entries.get(namespace)
    if (names === entry || (names instanceof Map && names.delete(name) && names.size === 0))
      this.#entries.delete(namespace)
    this.#size -= 1
    this.#bytes -= entry.length
    this.#count(namespace, -entry.counts)
    if (this.#uids?.get(entry.uid) === entry) this.#uids.delete(entry.uid)
    this.#revision += 1
    if (this.#entries.has(namespace)) this.#revisions.set(namespace, this.#revision)
    else this.#revisions.delete(namespace)
    this.#eachIndexKey(object, (buckets, key) => removeFrom(buckets, key, entry))
    this.#packer.release(entry)
    this.#readers.changed(namespace, name)
    return { version: entry.version, uid: entry.uid, object: () => this.#read(entry) }
  }

  #count(namespace: string, more: number): void {
    if (more === 0) return
    const held = (this.#held.get(namespace) ?? 0) + more
    if (held === 0) this.#held.delete(namespace)
    else this.#held.set(namespace, held)
  }

  #eachIndexKey(object: T, visit: (buckets: Map<string, Bucket<T>>, key: string) => void): void {
    for (const [name, buckets] of this.#buckets) for (const key of this.#keysOf(name, object)) visit(buckets, key)
  }

  /** Leaves the object out of an index whose function throws, so that the stream goes on. */
  #keysOf(index: string, object: T): readonly string[] {
    try {
      return this.#indexes[index]?.(object) ?? []
    } catch {
      // The result is the same at insertion and removal, so no entry is left behind.
      return []
    }
  }

  #read(entry: Entry<T>): T {
    const held = entry.parsed?.deref()
    if (held !== undefined) return freeze(held)
    const object = freeze(rebuildObject(entry, this.#packer.unpack(entry), this.#apiVersion, this.#kind) as T)
    entry.parsed = new WeakRef(object)
    return object
  }
}

/** Checks the fields that are compared and counted: they must be text. */
function requireNames({ name, namespace = '', uid = '', resourceVersion = '' }: KubeObject['metadata']): void {
  if ([name, namespace, uid, resourceVersion].every((text) => typeof text === 'string')) return
  throw new TypeError('An object has a name, a namespace, a uid or a version that is no text.')
}

function entriesOf<T extends KubeObject>(held: Bucket<T> | Names<T> | undefined): Iterable<Entry<T>> {
  if (held === undefined) return []
  return held instanceof Entry ? [held] : held.values()
}

function insertInto<T extends KubeObject>(buckets: Map<string, Bucket<T>>, key: string, entry: Entry<T>): void {
  const bucket = buckets.get(key)
  if (bucket === undefined) buckets.set(key, entry)
  else if (bucket instanceof Entry) buckets.set(key, new Set([bucket, entry]))
  else bucket.add(entry)
}

function removeFrom<T extends KubeObject>(buckets: Map<string, Bucket<T>>, key: string, entry: Entry<T>): void {
  const bucket = buckets.get(key)
  if (bucket === entry) buckets.delete(key)
  else if (bucket instanceof Set && bucket.delete(entry) && bucket.size === 0) buckets.delete(key)
}

/** A shallow copy without the fields that no code reads. */
function stripUnread<T extends KubeObject>(object: T): T {
  const { managedFields: _managedFields, ...metadata } = object.metadata
  if (metadata.annotations?.[LAST_APPLIED] !== undefined) {
    const { [LAST_APPLIED]: _lastApplied, ...annotations } = metadata.annotations
    if (Object.keys(annotations).length > 0) metadata.annotations = annotations
    else delete metadata.annotations
  }
  return { ...object, metadata }
}

/** Returns the parts that are neither in the entry itself nor the same for the whole type. */
function variableParts(object: KubeObject): [object, object] {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object
  const { name: _name, namespace: _namespace, uid: _uid, resourceVersion: _version, ...others } = metadata
  return [others, rest]
}

function rebuildObject<T extends KubeObject>(
  entry: Entry<T>,
  parts: unknown,
  apiVersion: string,
  kind: string,
): KubeObject {
  const [others, rest] = parts as [object, object]
  const { namespace, name, uid, version } = entry
  const metadata = {
    name,
    ...(namespace !== '' && { namespace }),
    ...(uid !== '' && { uid }),
    resourceVersion: version,
    ...others,
  }
  return { apiVersion, kind, metadata, ...rest }
}

/** Freezes recursively, because an object of the cache has many readers. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}
