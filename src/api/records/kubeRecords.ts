import { randomUUID } from 'node:crypto'
import { MAX_CONFLICT_ATTEMPTS, pauseAfterConflict } from '../../core/conflictBackoff.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import {
  ACTOR_ANNOTATION,
  CREATED_BY_ANNOTATION,
  FINALIZER,
  INCARNATION_ANNOTATION,
  PRINCIPAL_INCARNATIONS_ANNOTATION,
} from '../../core/labels.ts'
import {
  boundaryIdOf,
  boundaryNamespace,
  boundaryOfNamespace,
  groupNamespace,
  isResourceName,
  isUuid,
} from '../../core/names.ts'
import { type KubeObject, type ObjectMeta, type ObjectRef, type Resource, refOf } from '../../core/object.ts'
import { currentOrigin } from '../../core/origin.ts'
import { ReadTracker } from '../../core/readTrackers.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import {
  incarnationsNamedBy,
  type PrincipalLookup,
  principalIncarnations,
  principalsNamedBy,
} from '../../crds/principals.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { sentenceSubjectOf } from '../../crds/restNames.ts'
import { roleIncarnationAnnotation } from '../../crds/roleIncarnations.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import type { WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, isKubeError } from '../../kube/errors.ts'
import { KeyedLeaseMutex, type LeaseMutexOptions } from '../../kube/keyedLeaseMutex.ts'
import { matchesAnyVersion, mayBeNewer, type SeenVersion, staleVersion } from '../http/etag.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { isEqual, mergePatchBetween } from './mergePatch.ts'
import { type Owner, parentResourceOf } from './parentResources.ts'
import type {
  CreateRequest,
  ListFilter,
  ReadOptions,
  RecordOf,
  Records,
  RemoveRequest,
  UpdateRequest,
} from './records.ts'
import { checkSpec, readSpec } from './specs.ts'

export type RecordsOptions = {
  client: Pick<KubeClient, 'get' | 'list' | 'create' | 'mergePatch' | 'remove'>
  /** One cache per kind, which the client's own writes update at once. */
  caches: { get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'get' | 'list' | 'revision'> }
}

/** Records in the custom resources of one API server. */
export function createRecords({ client, caches }: RecordsOptions): Records {
  return new KubeRecords(client, caches)
}

/** Milliseconds for the read after a write without a response, so that the caller is answered within ten seconds. */
const REREAD_MAX_MS = 1_000

class KubeRecords implements Records {
  readonly #client: RecordsOptions['client']
  readonly #caches: RecordsOptions['caches']
  readonly #leases: KeyedLeaseMutex

  constructor(client: RecordsOptions['client'], caches: RecordsOptions['caches']) {
    this.#client = client
    this.#caches = caches
    this.#leases = new KeyedLeaseMutex(client)
  }

  exclusively<Result>(key: string, work: () => Promise<Result>, options?: LeaseMutexOptions): Promise<Result> {
    return this.#leases.take(key, work, options)
  }

  peek<K extends AnyKind>(kind: K, ref: ObjectRef): RecordOf<K> | undefined {
    return typed<K>(this.#caches.get(kind.resource).get(ref.namespace, ref.name))
  }

  async get<K extends AnyKind>(kind: K, ref: ObjectRef, options: ReadOptions = {}): Promise<RecordOf<K> | undefined> {
    const known = options.fresh === true ? undefined : this.peek(kind, ref)
    if (known !== undefined) return known
    // Another replica may have just created it, before our watch reports it. An invalid name must not become part of a path.
    if (!isNameOf(kind, ref.name)) return undefined
    return typed<K>(await this.#client.get(kind.resource, ref, { timeout: options.within }).catch(absent))
  }

  peekAll<K extends AnyKind>(kind: K, filter: ListFilter = {}): readonly RecordOf<K>[] {
    const cache = this.#caches.get(kind.resource)
    const lists = this.#namespaces(filter).map((namespace) => cache.list({ namespace }))
    const objects = lists.length === 1 ? (lists[0] ?? []) : lists.flat()
    return objects as unknown as readonly RecordOf<K>[]
  }

  revision(kind: AnyKind, filter: Pick<ListFilter, 'namespace'> = {}): number {
    return this.#caches.get(kind.resource).revision(filter)
  }

  async list<K extends AnyKind>(
    kind: K,
    filter: ListFilter = {},
    options: ReadOptions = {},
  ): Promise<readonly RecordOf<K>[]> {
    if (options.fresh !== true) return this.peekAll(kind, filter)
    // Notes the read in the caches, so that a followed list is read again when they change.
    if (ReadTracker.now !== undefined) this.peekAll(kind, filter)
    const lists = this.#namespaces(filter).map((namespace) => this.#client.list(kind.resource, { namespace }))
    return (await Promise.all(lists)).flatMap(({ items }) => items) as unknown as readonly RecordOf<K>[]
  }

  /** Returns the namespaces to list; undefined among them means all. */
  #namespaces({ namespace, boundaryId }: ListFilter): (string | undefined)[] {
    if (namespace !== undefined || boundaryId === undefined) return [namespace]
    const own = boundaryNamespace(boundaryId)
    const groups = this.peekAll(ResourceGroup, { namespace: own })
    return [own, ...groups.map((group) => groupNamespace(boundaryId, group.metadata.name))]
  }

  async create<K extends AnyKind>(
    kind: K,
    request: CreateRequest<K>,
  ): Promise<{ object: RecordOf<K>; isNew: boolean }> {
    const { namespace, name, caller, annotations, labels, finalizers } = request
    const ref = { namespace, name }
    const held = await this.#confirm(kind, ref)
    if (held !== undefined) return { object: await requireSameRequest(kind, held, request), isNew: false }
    const requested = typeof request.spec === 'function' ? await request.spec() : request.spec
    const spec = checkSpec(kind, requested, undefined)
    const incarnation = await request.reserve?.(spec)
    await this.#refuseInDeleted(kind, ref, spec)
    const object: KubeObject = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: {
        name,
        ...(namespace !== undefined && { namespace }),
        ...(labels !== undefined && { labels }),
        ...(finalizers !== undefined && { finalizers }),
        annotations: {
          ...annotations,
          ...this.#principalAnnotations(kind, spec, namespace),
          ...this.#roleAnnotation(spec),
          [INCARNATION_ANNOTATION]: incarnation ?? randomUUID(),
          [CREATED_BY_ANNOTATION]: caller.principalId,
          [ACTOR_ANNOTATION]: `1 ${caller.principalId}`,
        },
      },
      spec,
    }
    try {
      const made = typed<K>(await this.#client.create(kind.resource, object))
      if (made === undefined) throw new TypeError('The API server answered nothing.')
      reportWrite(kind, made)
      await this.#withdrawIfOrphaned(kind, ref, made)
      return { object: made, isNew: true }
    } catch (error) {
      if (namespace !== undefined && isKubeError(error, 'NotFound')) throw namespaceMissing(error)
      if (!isKubeError(error) || !(error.reason === 'AlreadyExists' || error.maybeApplied)) throw error
      // Another replica or kubectl was first, or the response to this very request was lost.
      const stored = await this.get(kind, ref, { fresh: true, ...(error.maybeApplied && { within: REREAD_MAX_MS }) })
      if (stored === undefined) throw error
      if ((incarnation === undefined || error.maybeApplied) && isSameIncarnation(stored, object))
        return { object: stored, isNew: true }
      return { object: await requireSameRequest(kind, stored, request), isNew: false }
    }
  }

  /** Returns a known object as it is now: somebody may have changed or deleted it before our watch reports it. */
  async #confirm<K extends AnyKind>(kind: K, ref: ObjectRef): Promise<RecordOf<K> | undefined> {
    return this.peek(kind, ref) && this.get(kind, ref, { fresh: true })
  }

  /** Says which principals the record means: known ones keep their stored incarnation, new ones get the current one. */
  #principalAnnotations(
    kind: AnyKind,
    spec: object,
    namespace: string | undefined,
    before?: RecordOf<AnyKind>,
  ): object {
    const ids = principalsNamedBy(kind, spec)
    const find: PrincipalLookup = (resource, inNamespace, name) =>
      this.#caches.get<KubeObject>(resource).get(inNamespace, name)
    const known = before === undefined ? {} : incarnationsNamedBy(before)
    const wanted = principalIncarnations(find, ids, namespace, known)
    // Null removes the annotation from a group whose last member left.
    if (wanted === undefined && Object.keys(known).length === 0) return {}
    return { [PRINCIPAL_INCARNATIONS_ANNOTATION]: wanted ?? null }
  }

  /** Says which incarnation of a custom role the record means: the current one. */
  #roleAnnotation(spec: object): object {
    return 'roleDefinitionName' in spec ? roleIncarnationAnnotation(this.peekAll(RoleDefinition), spec) : {}
  }

  /**
   * Refuses to create in an object that is being deleted, because the new object would be deleted with it. Another
   * replica may have just accepted the deletion, so the API server is asked.
   *
   * @throws PlatformError INVALID_STATE; NOT_FOUND if the resource that it is a part of does not exist
   */
  async #refuseInDeleted(kind: AnyKind, ref: ObjectRef, spec: object): Promise<void> {
    const owners = [this.#ownerOfNamespace(ref), parentResourceOf(kind, ref, spec)].filter(
      (owner) => owner !== undefined,
    )
    for (const owner of owners) {
      const known = this.peek(owner.kind, owner.ref)
      if (known !== undefined) refuseWhileDeleting(known)
    }
    await Promise.all(
      owners.map(async (owner) => {
        const now = await this.get(owner.kind, owner.ref, { fresh: true })
        // If a boundary or a group is gone, so is its namespace, and the API server refuses by itself.
        if (now !== undefined) refuseWhileDeleting(now)
        else if (owner.kind.placement === 'group')
          throw notFound(sentenceSubjectOf(owner.kind.kind, { metadata: owner.ref }))
      }),
    )
  }

  /**
   * Removes a part whose whole was deleted since the check, by a deletion that saw no parts. Whichever comes first, the
   * part or the deletion, one of the two sees the other.
   *
   * @throws PlatformError INVALID_STATE, NOT_FOUND
   */
  async #withdrawIfOrphaned(kind: AnyKind, ref: ObjectRef, { metadata, spec }: RecordOf<AnyKind>): Promise<void> {
    const whole = parentResourceOf(kind, ref, spec as object)
    if (whole === undefined) return
    const now = await this.get(whole.kind, whole.ref, { fresh: true })
    if (now !== undefined && now.metadata.deletionTimestamp === undefined) return
    await this.#client.remove(kind.resource, ref, { uid: metadata.uid })
    if (now === undefined) throw notFound(sentenceSubjectOf(whole.kind.kind, { metadata: whole.ref }))
    refuseWhileDeleting(now)
  }

  /** Returns the boundary or the group that owns the namespace; undefined for other namespaces. */
  #ownerOfNamespace({ namespace }: ObjectRef): Owner | undefined {
    if (namespace === undefined) return undefined
    const boundaryId = boundaryOfNamespace(namespace)
    if (boundaryId !== undefined) return { kind: Boundary, ref: { name: boundaryId } }
    const group = this.peekAll(ResourceGroup).find(({ metadata }) => {
      if (!namespace.startsWith(metadata.name)) return false
      return groupNamespace(boundaryIdOf(metadata), metadata.name) === namespace
    })
    return group === undefined ? undefined : { kind: ResourceGroup, ref: refOf(group) }
  }

  async update<K extends AnyKind>(
    kind: K,
    ref: ObjectRef,
    request: UpdateRequest<K>,
  ): Promise<{ object: RecordOf<K>; isChanged: boolean }> {
    let isFresh = request.fresh === true
    let current = await this.get(kind, ref, { fresh: isFresh })
    for (let attempt = 1; ; attempt += 1) {
      if (current === undefined) throw notFound(sentenceSubjectOf(kind.kind, { metadata: ref }))
      try {
        const written = await this.#write(kind, ref, current, request)
        // Somebody may have changed it before our watch reports it: then there is something to write.
        if (written.isChanged || isFresh) return written
      } catch (error) {
        if (!isKubeError(error, 'Conflict') || attempt >= MAX_CONFLICT_ATTEMPTS) throw whenDeleted(error, kind, ref)
        await pauseAfterConflict(attempt)
      }
      isFresh = true
      current = await this.get(kind, ref, { fresh: true })
    }
  }

  async #write<K extends AnyKind>(
    kind: K,
    ref: ObjectRef,
    given: RecordOf<K>,
    { caller, ifMatch, change, isOnce = false }: UpdateRequest<K>,
  ): Promise<{ object: RecordOf<K>; isChanged: boolean }> {
    const current = await this.#requireMatch(kind, ref, given, ifMatch)
    const spec = checkSpec(kind, await change(current), current.spec as object)
    const patch = mergePatchBetween(current.spec, spec)
    if (patch === undefined) {
      currentOrigin()?.unchanged?.()
      return { object: current, isChanged: false }
    }
    const { generation = 1, resourceVersion, uid } = current.metadata
    const body = {
      metadata: {
        annotations: {
          ...this.#principalAnnotations(kind, spec, ref.namespace, current),
          [ACTOR_ANNOTATION]: `${generation + 1} ${caller.principalId}`,
        },
      },
      spec: patch,
    }
    try {
      const object = typed<K>(await this.#client.mergePatch(kind.resource, ref, body, { resourceVersion, uid }))
      if (object === undefined) throw new TypeError('The API server answered nothing.')
      reportWrite(kind, object)
      return { object, isChanged: true }
    } catch (error) {
      if (!isKubeError(error, 'Conflict') || !error.repeated || isOnce) throw error
      // The response to the first attempt was lost: the conflict may be its own success.
      const stored = await this.get(kind, ref, { fresh: true })
      if (stored?.metadata.uid !== uid || !isEqual(withDefaults(kind.spec, stored?.spec), spec)) throw error
      return { object: stored as RecordOf<K>, isChanged: true }
    }
  }

  /**
   * Returns the object at a version that the caller saw. A version newer than the cached one is looked up in the API
   * server; an older one is stale without a call.
   *
   * @throws PlatformError CONFLICT
   */
  async #requireMatch<K extends AnyKind>(
    kind: K,
    ref: ObjectRef,
    known: RecordOf<K>,
    ifMatch: readonly SeenVersion[] | undefined,
  ): Promise<RecordOf<K>> {
    if (ifMatch === undefined || matchesAnyVersion(ifMatch, known)) return known
    const newest = mayBeNewer(ifMatch, known) ? await this.get(kind, ref, { fresh: true }) : known
    if (newest === undefined) throw notFound(sentenceSubjectOf(kind.kind, { metadata: ref }))
    if (!matchesAnyVersion(ifMatch, newest)) throw staleVersion(newest)
    return newest
  }

  async remove<K extends AnyKind>(kind: K, ref: ObjectRef, { ifMatch }: RemoveRequest): Promise<{ isGone: boolean }> {
    let known = await this.get(kind, ref)
    for (let attempt = 1; ; attempt += 1) {
      if (known === undefined) throw notFound(sentenceSubjectOf(kind.kind, { metadata: ref }))
      const current = await this.#requireMatch(kind, ref, known, ifMatch)
      const { uid, resourceVersion, finalizers = [] } = current.metadata
      // With If-Match the object must be unchanged; without it, any version of this incarnation may be deleted. The API
      // server overlooks a finalizer that is added between its read and its deletion, and no teardown would run: so an
      // object without the finalizer is deleted only at the version that was read.
      const isExact = ifMatch !== undefined || !finalizers.includes(FINALIZER)
      try {
        const left = await this.#client.remove(kind.resource, ref, { uid, ...(isExact && { resourceVersion }) })
        return { isGone: left === undefined }
      } catch (error) {
        // Somebody wrote the object meanwhile: its newest version decides.
        if (!isExact || attempt === MAX_CONFLICT_ATTEMPTS || !isKubeError(error, 'Conflict'))
          throw whenDeleted(error, kind, ref)
        known = await this.get(kind, ref, { fresh: true })
        if (ifMatch === undefined && known !== undefined && known.metadata.uid !== uid) throw error
      }
    }
  }
}

/** Callers know NOT_FOUND, and translate it; here the object was deleted between the read and the write. */
function whenDeleted(error: unknown, kind: AnyKind, ref: ObjectRef): unknown {
  if (!isKubeError(error, 'NotFound')) return error
  return Object.assign(notFound(sentenceSubjectOf(kind.kind, { metadata: ref })), { cause: error })
}

const typed = <K extends AnyKind>(object: KubeObject | undefined) => object as RecordOf<K> | undefined

function reportWrite(kind: AnyKind, object: { metadata: ObjectMeta }): void {
  currentOrigin()?.written?.(kind.resource, object as KubeObject)
}

function isNameOf(kind: AnyKind, name: string): boolean {
  if (kind.name === 'uuid') return isUuid(name)
  return kind.name === 'resource' ? isResourceName(name) : /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)
}

/** Whether both come from the same create request: the incarnation is random. */
function isSameIncarnation(stored: { metadata: ObjectMeta }, sent: KubeObject): boolean {
  return stored.metadata.annotations?.[INCARNATION_ANNOTATION] === sent.metadata.annotations?.[INCARNATION_ANNOTATION]
}

/** A group's namespace is created a moment after the group; until then nothing can be created in it. */
function namespaceMissing(cause: unknown): PlatformError {
  const extras = { status: 'Pending', phase: 'WaitingForGroup' }
  return new PlatformError('INVALID_STATE', 'The resource group is not ready yet: try again.', extras, { cause })
}

/** @throws PlatformError ALREADY_EXISTS, INVALID_STATE */
async function requireSameRequest<K extends AnyKind>(
  kind: K,
  stored: RecordOf<K>,
  { spec, isSame }: CreateRequest<K>,
): Promise<RecordOf<K>> {
  refuseWhileDeleting(stored)
  const isEqualSpec =
    typeof spec === 'object' && isEqual(withDefaults(kind.spec, stored.spec), readSpec(kind, spec, stored.spec))
  if (isSame === undefined ? isEqualSpec : await isSame(stored)) {
    currentOrigin()?.unchanged?.()
    return stored
  }
  const difference = isEqualSpec ? '' : ' with different content'
  throw new PlatformError('ALREADY_EXISTS', `${sentenceSubjectOf(kind.kind, stored)} already exists${difference}.`)
}
