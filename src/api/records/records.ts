import type { ObjectMeta, ObjectRef } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { LeaseMutexOptions } from '../../kube/keyedLeaseMutex.ts'
import type { Caller } from '../callers/tokens.ts'
import type { SeenVersion } from '../http/etag.ts'

/** An object of ours, for code that does not know its kind. */
export type AnyObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec: object
  readonly status?: object | undefined
}

/** An object of a kind, typed by the kind's schemas. */
export type RecordOf<K extends AnyKind> = K extends { spec: infer S; status: infer T }
  ? {
      apiVersion: string
      kind: string
      metadata: ObjectMeta
      spec: S extends { _zod: { output: infer Spec } } ? Spec : never
      status?: T extends { _zod: { output: infer Status } } ? Status : never
    }
  : never

export type ReadOptions = {
  /** Ask the API server instead of the cache. */
  fresh?: boolean | undefined
  /** Milliseconds that the API server has for its answer; as long as for every call if absent. */
  within?: number | undefined
}

export type ListFilter = {
  namespace?: string | undefined
  /** All objects in the namespaces of this boundary and of its groups. */
  boundaryId?: string | undefined
}

export type CreateRequest<K extends AnyKind> = {
  namespace?: string | undefined
  name: string
  /**
   * Validated against the schema and rules of the kind before any call; defaults are filled in. A function, which needs
   * `isSame`, is called only if no object has the name.
   */
  spec: object | (() => Promise<object>)
  /** Reserves what the checked spec needs, if no object has the name. Returns the incarnation if something names it. */
  reserve?: (spec: object) => Promise<string | undefined>
  caller: Caller
  annotations?: Record<string, string>
  labels?: Record<string, string>
  finalizers?: string[]
  /** Whether a stored object is what was asked for; by default, whether its spec equals this one. */
  isSame?: (stored: RecordOf<K>) => boolean | Promise<boolean>
}

export type UpdateRequest<K extends AnyKind> = {
  caller: Caller
  /** The versions that the caller saw. */
  ifMatch?: readonly SeenVersion[] | undefined
  /**
   * Computes the next spec from the current object; called again with the newer object after a conflict. Return the
   * current spec for no change; throw to refuse.
   */
  change: (current: RecordOf<K>) => object | Promise<object>
  /** Start from the API server's object instead of the cached one. */
  fresh?: boolean | undefined
  /**
   * Only one caller may make the change. If the response to a write is lost, nobody can tell whose write it was, so
   * `change` is called again with the stored object, and refuses.
   */
  isOnce?: boolean
}

export type RemoveRequest = { caller: Caller; ifMatch?: readonly SeenVersion[] | undefined }

/**
 * Custom resources as the facade reads and writes them. Reads come from the watch caches, which hold own writes at
 * once; a cache miss is looked up in the API server, since another replica may have just created the object. An
 * accepted write is one call to the API server, a refused one none, except for three questions: whether an unknown object
 * exists, whether a known one still is as wanted, and whether the boundary, group or resource of a new object is being
 * deleted.
 */
export interface Records {
  /** From the cache only, without waiting: for names, plans and other details of a request. */
  peek<K extends AnyKind>(kind: K, ref: ObjectRef): RecordOf<K> | undefined
  get<K extends AnyKind>(kind: K, ref: ObjectRef, options?: ReadOptions): Promise<RecordOf<K> | undefined>
  list<K extends AnyKind>(kind: K, filter?: ListFilter, options?: ReadOptions): Promise<readonly RecordOf<K>[]>
  /** Like `list`, from the cache only. */
  peekAll<K extends AnyKind>(kind: K, filter?: ListFilter): readonly RecordOf<K>[]
  /** Changes with every change of what `peekAll` returns, so that derived values can be kept. */
  revision(kind: AnyKind, filter?: Pick<ListFilter, 'namespace'>): number
  /**
   * `isNew` is false if an identical object existed already.
   *
   * @throws PlatformError ALREADY_EXISTS; INVALID_STATE while the object of that name, or its boundary, group or
   *   resource, is being deleted; NOT_FOUND without that resource; BAD_REQUEST and the codes of the kind's rules
   */
  create<K extends AnyKind>(kind: K, request: CreateRequest<K>): Promise<{ object: RecordOf<K>; isNew: boolean }>
  /** @throws PlatformError NOT_FOUND, CONFLICT (stale If-Match), BAD_REQUEST and the codes of the kind's rules */
  update<K extends AnyKind>(
    kind: K,
    ref: ObjectRef,
    request: UpdateRequest<K>,
  ): Promise<{ object: RecordOf<K>; isChanged: boolean }>
  /** `isGone` is false while finalizers hold the object. @throws PlatformError NOT_FOUND, CONFLICT */
  remove<K extends AnyKind>(kind: K, ref: ObjectRef, request: RemoveRequest): Promise<{ isGone: boolean }>
  /**
   * Runs the work while no other replica runs work of the same key.
   *
   * @throws PlatformError SERVICE_UNAVAILABLE if others are busy with it for too long
   */
  exclusively<Result>(key: string, work: () => Promise<Result>, options?: LeaseMutexOptions): Promise<Result>
}
