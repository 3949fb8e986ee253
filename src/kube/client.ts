import type { Readable } from 'node:stream'
import { type Log, silentLog } from '../core/log.ts'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import { Caller, type CallerOptions, type CallOptions } from './call.ts'
import { isKubeError, KubeError } from './errors.ts'
import { apiVersionOf, type KubeObject, type ObjectRef, type Resource, refOf } from './object.ts'
import { acceptOf, type Query, queryString, resourcePath } from './path.ts'
import { type WatchEvent, type WatchStreamOptions, watchEvents } from './stream.ts'

export type { CallOptions, RequestObservation } from './call.ts'
export type { WatchEvent, WatchStreamOptions } from './stream.ts'

export type ListOptions = CallOptions & {
  namespace?: string | undefined
  labelSelector?: string | undefined
  fieldSelector?: string | undefined
  /** At most this many items, and no further pages. If absent: everything, page by page. */
  limit?: number | undefined
  /** `0` lets the API server answer from its cache, which may be a moment old. */
  resourceVersion?: string | undefined
}
export type ListResult<T> = { items: T[]; resourceVersion: string }
export type WriteOptions = CallOptions & { dryRun?: boolean | undefined }
export type PatchOptions = WriteOptions & {
  subresource?: string | undefined
  /** Precondition: a 409 Conflict if the stored version differs. */
  resourceVersion?: string | undefined
  /** Precondition: a 409 Conflict if another object of that name has replaced it. */
  uid?: string | undefined
  fieldManager?: string | undefined
}
export type ApplyOptions = WriteOptions & {
  force?: boolean | undefined
  fieldManager?: string | undefined
  subresource?: string | undefined
}
export type RemoveOptions = WriteOptions & {
  uid?: string | undefined
  resourceVersion?: string | undefined
  propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined
  /** Throws NotFound if the object does not exist. */
  mustExist?: boolean | undefined
}
/** Any other request: version, readiness, the service proxy. Non-GET requests are fenced like any write. */
export type RawRequest = CallOptions & {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Query
  headers?: Record<string, string>
  body?: string | Buffer
}
/** An answer of any status. Read or destroy `body`. */
export type RawAnswer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Readable
  text(): Promise<string>
}

/**
 * Typed calls to one API server. Every method throws KubeError, or the reason of the caller's own AbortSignal. Reads
 * and repeatable writes are retried on 429 and 5xx within the deadline; a conflict never is.
 */
export interface KubeClient {
  /** @throws KubeError NotFound */
  get<T extends KubeObject = KubeObject>(resource: Resource, ref: ObjectRef, options?: CallOptions): Promise<T>
  list<T extends KubeObject = KubeObject>(resource: Resource, options?: ListOptions): Promise<ListResult<T>>
  /** @throws KubeError AlreadyExists, Invalid, Forbidden */
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>
  /** PUT of the whole object with its resourceVersion. @throws KubeError Conflict, NotFound, Invalid */
  update<T extends KubeObject>(
    resource: Resource,
    object: T,
    options?: WriteOptions & { subresource?: string },
  ): Promise<T>
  /** RFC 7396 merge patch. @throws KubeError Conflict, NotFound, Invalid */
  mergePatch<T extends KubeObject = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: object,
    options?: PatchOptions,
  ): Promise<T>
  /** Server-side apply. @throws KubeError Conflict if another manager owns a field and `force` is not set */
  apply<T extends KubeObject>(resource: Resource, object: T, options?: ApplyOptions): Promise<T>
  /** The object if it still exists (finalizers hold it), undefined if it is gone or never existed. */
  remove(resource: Resource, ref: ObjectRef, options?: RemoveOptions): Promise<KubeObject | undefined>
  request(request: RawRequest): Promise<RawAnswer>
  /** Streams one watch until it ends. @throws KubeError for refused opens, ERROR events, bad lines and lost streams */
  watchStream<T extends KubeObject = KubeObject>(
    resource: Resource,
    options: WatchStreamOptions,
  ): AsyncIterable<WatchEvent<T>>
  close(): Promise<void>
}

/** Observes the API server's responses to this process, so that caches are updated at once. */
export type WriteObserver = {
  written(resource: Resource, object: KubeObject): void
  /** An object was read by name. */
  read?(resource: Resource, object: KubeObject): void
  /** The object is gone for good; `uid` is unknown if the server did not say. */
  removed(resource: Resource, ref: ObjectRef, uid: string | undefined): void
}

export type KubeClientOptions = Omit<CallerOptions, 'log'> & {
  fieldManager: string
  log?: Log
  observer?: WriteObserver
}

const PAGE_SIZE = 500
/** Milliseconds for all pages of a listing of another cluster, which could send one object per page for ever. */
const LISTING_TIMEOUT_MS = 60_000
/** Milliseconds of the thread that a page is counted as, even if it is empty. */
const PAGE_MS = 1

/** Creates a client with one connection pool. Close it at the end. */
export function createKubeClient(access: ClusterAccess, options: KubeClientOptions): KubeClient {
  const callerOptions: CallerOptions = { ...options, log: options.log ?? silentLog }
  return new HttpKubeClient(new Caller(access, callerOptions), options)
}

class HttpKubeClient implements KubeClient {
  readonly #caller: Caller
  readonly #fieldManager: string
  readonly #cluster: string | undefined
  readonly #observer: WriteObserver | undefined

  constructor(caller: Caller, options: KubeClientOptions) {
    this.#caller = caller
    this.#fieldManager = options.fieldManager
    this.#cluster = options.cluster
    this.#observer = options.observer
  }

  async get<T extends KubeObject>(resource: Resource, ref: ObjectRef, options: CallOptions = {}): Promise<T> {
    const path = resourcePath(resource, ref)
    const request = { method: 'GET', path, idempotent: true } as const
    const answer = await this.#caller.json<T>({ verb: 'get', resource, ref }, request, options)
    if (answer.kind === resource.kind) this.#observer?.read?.(resource, answer)
    return answer
  }

  async list<T extends KubeObject>(resource: Resource, options: ListOptions = {}): Promise<ListResult<T>> {
    try {
      return await this.#pages<T>(resource, options, options.limit ?? PAGE_SIZE)
    } catch (error) {
      // The continue token has expired: list everything in one request instead, which cannot expire half-way.
      if (options.limit === undefined && isKubeError(error, 'Gone')) return this.#pages<T>(resource, options, undefined)
      throw error
    }
  }

  async #pages<T extends KubeObject>(
    resource: Resource,
    options: ListOptions,
    limit: number | undefined,
  ): Promise<ListResult<T>> {
    type Page = { metadata?: { resourceVersion?: string; continue?: string }; items?: T[] }
    const apiVersion = apiVersionOf(resource)
    const path = resourcePath(resource, { namespace: options.namespace })
    const items: T[] = []
    const allowance = this.#caller.allowance()
    const end = performance.now() + (this.#cluster === undefined ? Number.POSITIVE_INFINITY : LISTING_TIMEOUT_MS)
    let token: string | undefined
    for (;;) {
      if (performance.now() > end) throw this.#endlessPages(resource)
      const { labelSelector, fieldSelector } = options
      // A continue token carries its version; the API server refuses both.
      const resourceVersion = token === undefined ? options.resourceVersion : undefined
      const query = queryString({ labelSelector, fieldSelector, limit, continue: token, resourceVersion })
      const page = await this.#caller.json<Page>(
        { verb: 'list', resource, ref: { namespace: options.namespace } },
        {
          method: 'GET',
          path: path + query,
          idempotent: true,
          allowance,
          headers: acceptOf(resource, 'PartialObjectMetadataList'),
        },
        options,
      )
      // Items of lists of built-in types have no apiVersion and kind.
      for (const item of page.items ?? []) items.push(Object.assign(item, { apiVersion, kind: resource.kind }))
      token = page.metadata?.continue || undefined
      if (token === undefined || options.limit !== undefined) {
        return { items, resourceVersion: page.metadata?.resourceVersion ?? '' }
      }
      await this.#caller.share?.spend(PAGE_MS)
    }
  }

  #endlessPages(resource: Resource): KubeError {
    const detail = { status: 0, cluster: this.#cluster, resource }
    return new KubeError('Unavailable', `Cannot list ${resource.plural}: the pages do not end.`, detail)
  }

  create<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace } = object.metadata
    return this.#write<T>('create', resource, refOf(object), options, {
      method: 'POST',
      path: resourcePath(resource, { namespace }),
      body: object,
      query: { fieldManager: this.#fieldManager, fieldValidation: 'Strict' },
      idempotent: false,
    })
  }

  update<T extends KubeObject>(
    resource: Resource,
    object: T,
    options: WriteOptions & { subresource?: string } = {},
  ): Promise<T> {
    const ref = refOf(object)
    return this.#write<T>('update', resource, ref, options, {
      method: 'PUT',
      path: resourcePath(resource, { ...ref, subresource: options.subresource }),
      body: object,
      query: { fieldManager: this.#fieldManager, fieldValidation: 'Strict' },
      // A repeated PUT with a version conflicts with its own first success: safe, and the caller reads again.
      idempotent: object.metadata.resourceVersion !== undefined,
    })
  }

  async mergePatch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: object,
    options: PatchOptions = {},
  ): Promise<T> {
    const { resourceVersion, uid } = options
    const metadata = (patch as { metadata?: object }).metadata
    const guarded =
      resourceVersion === undefined && uid === undefined
        ? patch
        : { ...patch, metadata: { ...metadata, ...(resourceVersion && { resourceVersion }), ...(uid && { uid }) } }
    const written = await this.#write<T>('patch', resource, ref, options, {
      method: 'PATCH',
      path: resourcePath(resource, { ...ref, subresource: options.subresource }),
      body: guarded,
      contentType: 'application/merge-patch+json',
      query: { fieldManager: options.fieldManager ?? this.#fieldManager, fieldValidation: 'Strict' },
      idempotent: true,
    })
    if (options.subresource === 'status' && uid !== undefined && written.metadata.uid !== uid)
      return this.#revertStatus(resource, ref, written, options)
    return written
  }

  /**
   * The API server compares no uid when the status of a custom resource is patched, so the status may have landed on a
   * namesake that was created meanwhile. Clears it again unless the namesake has been written since.
   *
   * @throws KubeError Conflict
   */
  async #revertStatus(resource: Resource, ref: ObjectRef, written: KubeObject, options: PatchOptions): Promise<never> {
    const { resourceVersion } = written.metadata
    const undoing = { ...options, uid: undefined, resourceVersion }
    if (options.dryRun !== true) await this.mergePatch(resource, ref, { status: null }, undoing).catch(() => undefined)
    const message = `Cannot patch the status of ${resource.plural} "${ref.name}": it was deleted and recreated meanwhile.`
    throw new KubeError('Conflict', message, { status: 409, resource, ...ref })
  }

  apply<T extends KubeObject>(resource: Resource, object: T, options: ApplyOptions = {}): Promise<T> {
    const ref = refOf(object)
    return this.#write<T>('apply', resource, ref, options, {
      method: 'PATCH',
      path: resourcePath(resource, { ...ref, subresource: options.subresource }),
      body: { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind },
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: options.fieldManager ?? this.#fieldManager, force: options.force },
      idempotent: true,
    })
  }

  async remove(resource: Resource, ref: ObjectRef, options: RemoveOptions = {}): Promise<KubeObject | undefined> {
    const { uid } = options
    const body = deleteOptions(options)
    const attempt = { verb: 'delete', resource, ref }
    try {
      const path = resourcePath(resource, ref) + queryString(dryRunOf(options))
      const request = { method: 'DELETE', path, body: JSON.stringify(body), idempotent: true } as const
      const answer = await this.#caller.json<KubeObject & { details?: { uid?: string } }>(attempt, request, options)
      const stays = answer.kind === resource.kind && hasFinalizers(answer)
      const graceful = answer.kind === resource.kind && (answer.metadata.deletionGracePeriodSeconds ?? 0) > 0
      if (options.dryRun === true) return stays || graceful ? answer : undefined
      if (stays || graceful) {
        this.#observer?.written(resource, answer)
        return answer
      }
      this.#observer?.removed(resource, ref, answer.details?.uid ?? answer.metadata?.uid ?? uid)
      return undefined
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error
      // After a lost response, most likely this very call deleted it.
      if (options.mustExist === true && !error.repeated) throw error
      // Somebody else deleted it first: our caches must forget this object as if we had.
      if (uid !== undefined && options.dryRun !== true) this.#observer?.removed(resource, ref, uid)
      return undefined
    }
  }

  request(request: RawRequest): Promise<RawAnswer> {
    const method = request.method ?? 'GET'
    return this.#caller.raw(
      { verb: method, path: request.path },
      {
        method,
        path: request.path + queryString(request.query ?? {}),
        body: request.body,
        ...(request.headers === undefined ? {} : { headers: request.headers }),
        idempotent: method === 'GET',
      },
      request,
    )
  }

  watchStream<T extends KubeObject>(resource: Resource, options: WatchStreamOptions): AsyncIterable<WatchEvent<T>> {
    return watchEvents<T>(this.#caller, resource, options)
  }

  close(): Promise<void> {
    return this.#caller.close()
  }

  async #write<T extends KubeObject>(
    verb: string,
    resource: Resource,
    ref: ObjectRef,
    options: WriteOptions,
    request: {
      method: 'POST' | 'PUT' | 'PATCH'
      path: string
      body: object
      query: Query
      contentType?: string
      idempotent: boolean
    },
  ): Promise<T> {
    const answer = await this.#caller.json<T>(
      { verb, resource, ref },
      {
        method: request.method,
        path: request.path + queryString({ ...request.query, ...dryRunOf(options) }),
        body: JSON.stringify(request.body),
        headers: { 'content-type': request.contentType ?? 'application/json' },
        idempotent: request.idempotent,
      },
      options,
    )
    if (typeof answer.metadata !== 'object') {
      throw new KubeError('Unexpected', `Cannot ${verb} ${resource.plural}: the answer is not an object.`, {
        status: 200,
        resource,
      })
    }
    // The answer of a subresource may be of another kind (Scale), which does not belong in a cache.
    if (options.dryRun !== true && answer.kind === resource.kind) this.#observer?.written(resource, answer)
    return answer
  }
}

/** Whether finalizers keep the object for now. Namespaces have finalizers in the spec as well (`kubernetes`). */
function hasFinalizers({ metadata, spec }: KubeObject): boolean {
  const own = (spec as { finalizers?: unknown[] } | undefined)?.finalizers
  return (metadata.finalizers?.length ?? 0) > 0 || (metadata.deletionTimestamp !== undefined && (own?.length ?? 0) > 0)
}

function dryRunOf(options: WriteOptions): Query {
  return options.dryRun === true ? { dryRun: 'All' } : {}
}

function deleteOptions({ uid, resourceVersion, propagation }: RemoveOptions): object {
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...(uid === undefined && resourceVersion === undefined ? {} : { preconditions: { uid, resourceVersion } }),
    propagationPolicy: propagation ?? 'Background',
  }
}
