import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  apiVersionOf,
  type KubeObject,
  keyOf,
  type ObjectRef,
  objectKey,
  type Resource,
  refOf,
  resourceId,
} from '../core/object.ts'
import { customResourceDefinition } from './builtin.ts'
import type {
  ApplyOptions,
  KubeClient,
  ListOptions,
  ListResult,
  PatchOptions,
  RawAnswer,
  RawRequest,
  RemoveOptions,
  WatchEvent,
  WatchStreamOptions,
  WriteObserver,
  WriteOptions,
} from './client.ts'
import type { KubeErrorReason } from './errors.ts'
import { fakeKubeError } from './fakeErrors.ts'
import { applyMerge, cloneJson, equalsJson, exclusivelyOwned, mergePatch, mergeWrittenParts } from './fakeMerge.ts'
import { type Change, matchesSelectors, visibleEventType } from './fakeSelect.ts'
import { INITIAL_EVENTS_END } from './stream.ts'

/** One call to the fake, for tests that count calls. */
export type FakeCall = { verb: string; resource: string; key: string; subresource?: string }

export type FakeKubeClientOptions = {
  fieldManager?: string
  /** Deletes an object as soon as its last owner is gone. */
  collectGarbage?: boolean
  observer?: WriteObserver
  fence?: () => void
  now?: () => number
}

/** `id` names the watched type. */
type Stream = { id: string; wake: () => void; isEnded: boolean }
type Watched = { resource: Resource; options: WatchStreamOptions; stream: Stream }
type Preconditions = Pick<PatchOptions, 'uid' | 'resourceVersion'>

/** Names a type whatever its version or form, so that all of them share one table. */
const typeId = ({ group, plural }: Resource) => resourceId({ group, plural })
/**
 * An in-memory API server behind the same interface as the real client, held to the same contract tests: versions,
 * generations, uids, preconditions, finalizers, merge patches, an approximation of server-side apply (ownership by the
 * manager's last intent), and watches. It knows no schemas and accepts everything.
 */
export class FakeKubeClient implements KubeClient {
  /** Every call that was made, failed ones included. */
  readonly calls: FakeCall[] = []
  readonly #options: FakeKubeClientOptions
  readonly #objects = new Map<string, Map<string, KubeObject>>()
  readonly #intents = new Map<string, KubeObject>()
  /** All changes. The first has version 2, and each next one more. */
  readonly #log: Change[] = []
  readonly #streams = new Set<Stream>()
  readonly #planned: { verb: string; resource: string; left: number; error: KubeErrorReason | (() => void) }[] = []
  readonly #answers: { path: RegExp; answer: (request: RawRequest) => { status?: number; text: string } }[] = []
  #version = 1
  #compacted = 0

  constructor(options: FakeKubeClientOptions = {}) {
    this.#options = options
  }

  /** Stores an object as it is, status included, and notifies watches; for the initial state of a test. */
  seed<T extends KubeObject>(resource: Resource, object: T): T {
    const metadata = {
      ...object.metadata,
      uid: object.metadata.uid ?? randomUUID(),
      generation: object.metadata.generation ?? 1,
    }
    const before = this.#table(resource).get(keyOf(object))
    const typed = { ...cloneJson(object), apiVersion: apiVersionOf(resource), kind: resource.kind, metadata }
    metadata.creationTimestamp ??= this.#time()
    return this.#store(resource, typed as unknown as T, before === undefined ? 'ADDED' : 'MODIFIED', before)
  }

  /** Changes an object as another writer would, without preconditions. */
  edit<T extends KubeObject>(resource: Resource, ref: ObjectRef, change: (object: T) => void): T {
    const current = this.#find<T>(resource, ref, 'edit')
    const next = cloneJson(current)
    change(next)
    return this.#replace(resource, current, next)
  }

  /** Counts calls, optionally of one verb or resource. */
  count(verb?: string, resource?: Resource): number {
    const matches = (call: FakeCall) =>
      (verb === undefined || call.verb === verb) && (resource === undefined || call.resource === typeId(resource))
    return this.calls.filter(matches).length
  }

  /** The version of the newest change. */
  get version(): string {
    return String(this.#version)
  }

  /** The stored objects themselves, without a recorded call or a copy; never change them. */
  stored(resource: Resource): IterableIterator<Readonly<KubeObject>> {
    return this.#table(resource).values()
  }

  /** Makes the next calls of that verb and resource fail with this reason, or call this function. */
  fail(verb: string, resource: Resource, error: KubeErrorReason | (() => void), times = 1): void {
    this.#planned.push({ verb, resource: typeId(resource), left: times, error })
  }

  /** Answers `request` for matching paths; all others get a 404. */
  answer(path: RegExp, answer: (request: RawRequest) => { status?: number; text: string }): void {
    this.#answers.push({ path, answer })
  }

  /** Forgets the history: a watch from an older version gets 410. */
  compact(): void {
    this.#compacted = this.#version
    this.#log.fill({ version: this.#version, type: 'DELETED', id: '', object: {} as KubeObject })
  }

  async get<T extends KubeObject = KubeObject>(resource: Resource, ref: ObjectRef): Promise<T> {
    this.#recordCall('get', resource, ref)
    const found = this.#find<T>(resource, ref, 'get')
    this.#options.observer?.read?.(resource, cloneJson(found))
    return cloneJson(found)
  }

  async list<T extends KubeObject = KubeObject>(resource: Resource, options: ListOptions = {}): Promise<ListResult<T>> {
    this.#recordCall('list', resource, { namespace: options.namespace, name: '' })
    const items = this.#matching(resource, options).slice(0, options.limit)
    return { items: cloneJson(items) as T[], resourceVersion: String(this.#version) }
  }

  async create<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<T> {
    this.#recordCall('create', resource, refOf(object), options)
    const name = object.metadata.name ?? `${object.metadata.generateName ?? ''}${randomUUID().slice(0, 5)}`
    const key = objectKey(object.metadata.namespace, name)
    if (this.#table(resource).has(key)) throw fakeKubeError('AlreadyExists', 'create', resource, refOf(object))
    const created = this.#buildObject(resource, object, { ...object.metadata, name })
    if (options.dryRun === true) return created
    return this.#reportWrite(resource, this.#store(resource, created, 'ADDED', undefined))
  }

  async update<T extends KubeObject>(
    resource: Resource,
    object: T,
    options: WriteOptions & { subresource?: string } = {},
  ): Promise<T> {
    this.#recordCall('update', resource, refOf(object), options)
    const current = this.#find<T>(resource, refOf(object), 'update')
    this.#check(resource, current, object.metadata, 'update')
    const next = mergeWrittenParts(current, cloneJson(object), options.subresource)
    return options.dryRun === true ? next : this.#reportWrite(resource, this.#replace(resource, current, next))
  }

  async mergePatch<T extends KubeObject = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: object,
    options: PatchOptions = {},
  ): Promise<T> {
    this.#recordCall('patch', resource, ref, options)
    const current = this.#find<T>(resource, ref, 'patch')
    const metadata = (patch as { metadata?: { resourceVersion?: string; uid?: string } }).metadata
    this.#check(resource, current, { ...metadata, ...options }, 'patch')
    const next = mergeWrittenParts(current, mergePatch(current, patch) as T, options.subresource)
    return options.dryRun === true ? next : this.#reportWrite(resource, this.#replace(resource, current, next))
  }

  async apply<T extends KubeObject>(resource: Resource, object: T, options: ApplyOptions = {}): Promise<T> {
    const ref = refOf(object)
    this.#recordCall('apply', resource, ref, options)
    const manager = `${options.fieldManager ?? this.#options.fieldManager ?? 'fake'}/${options.subresource ?? ''}`
    const current = this.#table(resource).get(keyOf(object)) as T | undefined
    if (current === undefined) return this.#applyNew(resource, object, options, manager)
    this.#check(resource, current, object.metadata, 'apply')
    const intentKey = `${current.metadata.uid} ${manager}`
    const isOthers = (key: string) => key !== intentKey && key.startsWith(`${current.metadata.uid} `)
    const others = [...this.#intents].flatMap(([key, intent]) => (isOthers(key) ? [intent] : []))
    const merged = applyMerge(current, exclusivelyOwned(this.#intents.get(intentKey), others), object) as T
    const next = mergeWrittenParts(current, merged, options.subresource)
    if (options.dryRun === true) return next
    this.#intents.set(intentKey, cloneJson(object))
    return this.#reportWrite(resource, this.#replace(resource, current, next))
  }

  #applyNew<T extends KubeObject>(resource: Resource, object: T, options: ApplyOptions, manager: string): T {
    if (object.metadata.uid !== undefined) throw fakeKubeError('Conflict', 'apply', resource, refOf(object))
    // As in the API server, an impossible version does not fail the write if no object exists.
    const { resourceVersion: _version, ...given } = cloneJson(object.metadata)
    const created = this.#buildObject(resource, object, given)
    if (options.dryRun === true) return created
    this.#intents.set(`${created.metadata.uid} ${manager}`, { ...cloneJson(object), metadata: given })
    return this.#reportWrite(resource, this.#store(resource, created, 'ADDED', undefined))
  }

  #buildObject<T extends KubeObject>(resource: Resource, object: T, given: T['metadata']): T {
    const { status: _status, ...rest }: KubeObject = cloneJson(object)
    const metadata = { ...cloneJson(given), uid: randomUUID(), generation: 1, creationTimestamp: this.#time() }
    return { ...rest, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata } as unknown as T
  }

  async remove(resource: Resource, ref: ObjectRef, options: RemoveOptions = {}): Promise<KubeObject | undefined> {
    this.#recordCall('delete', resource, ref, options)
    const current = this.#table(resource).get(objectKey(ref.namespace, ref.name))
    if (current === undefined) {
      if (options.mustExist === true) throw fakeKubeError('NotFound', 'delete', resource, ref)
      if (options.uid !== undefined) this.#options.observer?.removed(resource, ref, options.uid)
      return undefined
    }
    this.#check(resource, current, options, 'delete')
    if (options.dryRun === true) return undefined
    if ((current.metadata.finalizers?.length ?? 0) > 0) {
      if (current.metadata.deletionTimestamp !== undefined) return cloneJson(current)
      const next = cloneJson(current)
      next.metadata.deletionTimestamp = this.#time()
      next.metadata.generation = (next.metadata.generation ?? 0) + 1
      return this.#reportWrite(resource, this.#store(resource, next, 'MODIFIED', current))
    }
    this.#delete(resource, current)
    this.#options.observer?.removed(resource, ref, current.metadata.uid)
    return undefined
  }

  async request(request: RawRequest): Promise<RawAnswer> {
    this.calls.push({ verb: request.method ?? 'GET', resource: '', key: request.path })
    const found = this.#answers.find(({ path }) => path.test(request.path))
    const { status = 200, text } = found?.answer(request) ?? { status: 404, text: '' }
    return { status, headers: {}, body: Readable.from([text]), text: async () => text }
  }

  async *watchStream<T extends KubeObject = KubeObject>(
    resource: Resource,
    options: WatchStreamOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    this.#recordCall('watch', resource, { namespace: options.namespace, name: '' })
    const stream: Stream = { id: typeId(resource), wake: () => {}, isEnded: false }
    this.#streams.add(stream)
    const abort = () => stream.wake()
    options.signal?.addEventListener('abort', abort)
    try {
      options.onOpen?.()
      yield* this.#watched<T>({ resource, options, stream })
    } finally {
      this.#streams.delete(stream)
      options.signal?.removeEventListener('abort', abort)
    }
  }

  async *#watched<T extends KubeObject>({ resource, options, stream }: Watched): AsyncGenerator<WatchEvent<T>> {
    let version = Number(options.resourceVersion ?? 0)
    if (options.sendInitialEvents === true) {
      version = this.#version
      for (const object of this.#matching(resource, options)) yield { type: 'ADDED', object: cloneJson(object) as T }
      const metadata = { name: '', resourceVersion: String(version), annotations: { [INITIAL_EVENTS_END]: 'true' } }
      yield {
        type: 'BOOKMARK',
        object: { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata } as unknown as T,
      }
    } else if (version < this.#compacted) {
      throw fakeKubeError('Gone', 'watch', resource, {})
    }
    for (;;) {
      options.signal?.throwIfAborted()
      if (stream.isEnded) return
      const next = this.#log[Math.max(0, version - 1)]
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          stream.wake = resolve
        })
        continue
      }
      version = next.version
      if (next.id !== stream.id) continue
      options.onActivity?.()
      const type = visibleEventType(next, options)
      if (type !== undefined) yield { type, object: cloneJson(next.object) as T }
    }
  }

  async close(): Promise<void> {
    for (const stream of this.#streams) {
      stream.isEnded = true
      stream.wake()
    }
  }

  #table(resource: Resource): Map<string, KubeObject> {
    const id = typeId(resource)
    const table = this.#objects.get(id) ?? new Map<string, KubeObject>()
    if (table.size === 0) this.#objects.set(id, table)
    return table
  }

  #matching(resource: Resource, options: ListOptions): KubeObject[] {
    return [...this.#table(resource).values()].filter((object) => matchesSelectors(object, options))
  }

  #recordCall(verb: string, resource: Resource, ref: ObjectRef, options: PatchOptions = {}): void {
    const { subresource } = options
    const call = { verb, resource: typeId(resource), key: objectKey(ref.namespace, ref.name) }
    this.calls.push(subresource === undefined ? call : { ...call, subresource })
    if (verb !== 'get' && verb !== 'list' && verb !== 'watch' && options.unfenced !== true) this.#options.fence?.()
    const planned = this.#planned.find((plan) => plan.verb === verb && plan.resource === call.resource && plan.left > 0)
    if (planned === undefined) return
    planned.left -= 1
    if (typeof planned.error === 'function') planned.error()
    else throw fakeKubeError(planned.error, verb, resource, ref)
  }

  #find<T extends KubeObject>(resource: Resource, ref: ObjectRef, verb: string): T {
    const found = this.#table(resource).get(objectKey(ref.namespace, ref.name))
    if (found === undefined)
      throw fakeKubeError(this.#isDefined(resource) ? 'NotFound' : 'NotServed', verb, resource, ref)
    return found as T
  }

  #isDefined(resource: Resource): boolean {
    return resource.optional !== true || this.#table(customResourceDefinition).has(resourceId(resource))
  }

  #check(resource: Resource, current: KubeObject, expected: Preconditions, verb: string): void {
    const { uid, resourceVersion } = current.metadata
    const otherUid = expected.uid !== undefined && expected.uid !== uid
    const otherVersion = expected.resourceVersion !== undefined && expected.resourceVersion !== resourceVersion
    if (otherUid || otherVersion) throw fakeKubeError('Conflict', verb, resource, refOf(current))
  }

  #replace<T extends KubeObject>(resource: Resource, current: T, next: T): T {
    if (equalsJson(current, next)) return cloneJson(current)
    const body = ({ metadata: _metadata, status: _status, ...rest }: KubeObject) => rest
    if (!equalsJson(body(current), body(next))) next.metadata.generation = (current.metadata.generation ?? 0) + 1
    if (next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers?.length ?? 0) === 0) {
      this.#delete(resource, next)
      return cloneJson(next)
    }
    return this.#store(resource, next, 'MODIFIED', current)
  }

  #store<T extends KubeObject>(
    resource: Resource,
    object: T,
    type: 'ADDED' | 'MODIFIED',
    before: KubeObject | undefined,
  ): T {
    this.#version += 1
    object.metadata.resourceVersion = String(this.#version)
    this.#table(resource).set(keyOf(object), object)
    this.#appendChange({ version: this.#version, type, id: typeId(resource), object, ...(before && { before }) })
    return cloneJson(object)
  }

  #delete(resource: Resource, object: KubeObject): void {
    this.#version += 1
    this.#table(resource).delete(keyOf(object))
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) }
    const last = { ...cloneJson(object), metadata }
    this.#appendChange({ version: this.#version, type: 'DELETED', id: typeId(resource), object: last, before: object })
    if (this.#options.collectGarbage === true) this.#collect(object.metadata.uid ?? '')
  }

  #collect(deletedUid: string): void {
    for (const [id, table] of this.#objects) {
      for (const object of [...table.values()]) {
        const owners = object.metadata.ownerReferences ?? []
        if (!owners.some((owner) => owner.uid === deletedUid)) continue
        if (owners.some((owner) => owner.uid !== deletedUid && this.#exists(owner.uid))) continue
        const [plural = '', ...group] = id.split('.')
        this.#delete({ group: group.join('.'), version: '', plural, kind: object.kind, namespaced: true }, object)
      }
    }
  }

  #exists(uid: string): boolean {
    return this.#objects.values().some((table) => table.values().some((object) => object.metadata.uid === uid))
  }

  #appendChange(change: Change): void {
    this.#log.push({ ...change, object: cloneJson(change.object) })
    for (const stream of this.#streams) if (stream.id === change.id) stream.wake()
  }

  #reportWrite<T extends KubeObject>(resource: Resource, object: T): T {
    this.#options.observer?.written(resource, cloneJson(object))
    return object
  }

  #time(): string {
    return `${new Date((this.#options.now ?? Date.now)()).toISOString().slice(0, 19)}Z`
  }
}
