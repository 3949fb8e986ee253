import { randomUUID } from 'node:crypto'
import type { NamespaceStore } from '../../src/api/boundaries/namespaces.ts'
import { recordedPrincipals } from '../../src/api/callers/principals.ts'
import type { Access, Caller, Context, Services } from '../../src/api/http/context.ts'
import type { RouteDraft } from '../../src/api/http/route.ts'
import { Documentation } from '../../src/api/platform/documentation.ts'
import { wholeDocument } from '../../src/api/platform/reference.ts'
import type {
  CreateRequest,
  ListFilter,
  ReadOptions,
  RecordOf,
  Records,
  RemoveRequest,
  UpdateRequest,
} from '../../src/api/records/records.ts'
import { type ListShape, parseListRequest } from '../../src/api/resources/paging.ts'
import { QueryFaults } from '../../src/api/resources/queryFaults.ts'
import { PlatformError } from '../../src/core/errors.ts'
import { INCARNATION_ANNOTATION, SCOPE_INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { silentLog } from '../../src/core/log.ts'
import { boundaryNamespace, boundaryOfNamespace, groupNamespace } from '../../src/core/names.ts'
import { type KubeObject, objectKey } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { RoleDefinition } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { roleIncarnationAnnotation } from '../../src/crds/roleIncarnations.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import type { Evaluator } from '../../src/iam/evaluate.ts'
import { ANNA, evaluatorOf, type Given } from '../make/authorizationRecords.ts'
import { ManualClock } from '../make/clock.ts'
import { makeVaults } from '../make/vaults.ts'

type Stored = { apiVersion: string; kind: string; metadata: KubeObject['metadata']; spec: object; status?: object }

/** Custom resources in memory, for tests of handlers: no admission, no finalizers, nothing happens by itself. */
export class MemoryRecords implements Records {
  readonly #tables = new Map<string, Map<string, Stored>>()
  #cached: ReadonlyMap<string, ReadonlyMap<string, Stored>> | undefined
  #version = 1

  /** From here on the caches are frozen, like those of a slow replica; writes and fresh reads are not. */
  holdCaches(): void {
    this.#cached = new Map([...this.#tables].map(([kind, table]) => [kind, new Map(table)]))
  }

  #known(kind: AnyKind): ReadonlyMap<string, Stored> {
    return this.#cached === undefined ? this.#table(kind) : (this.#cached.get(kind.kind) ?? new Map())
  }

  #table(kind: AnyKind): Map<string, Stored> {
    const table = this.#tables.get(kind.kind) ?? new Map<string, Stored>()
    this.#tables.set(kind.kind, table)
    return table
  }

  put<K extends AnyKind>(
    kind: K,
    metadata: Partial<KubeObject['metadata']> & { name: string },
    spec: object,
    status?: object,
  ) {
    this.#version += 1
    const object: Stored = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: {
        uid: randomUUID(),
        generation: 1,
        resourceVersion: String(this.#version),
        creationTimestamp: '2026-01-01T00:00:00Z',
        ...metadata,
        // All seeded objects have one incarnation, and so have the grants; the root has none.
        annotations: {
          [INCARNATION_ANNOTATION]: 'life',
          ...((spec as { scope?: unknown }).scope === '/' ? {} : { [SCOPE_INCARNATION_ANNOTATION]: 'life' }),
          ...metadata.annotations,
        },
      },
      spec: kind.spec.parse(spec),
      ...(status === undefined ? {} : { status }),
    }
    this.#table(kind).set(objectKey(metadata.namespace, metadata.name), object)
    return object as unknown as RecordOf<K>
  }

  peek<K extends AnyKind>(kind: K, ref: { namespace?: string | undefined; name: string }) {
    return this.#known(kind).get(objectKey(ref.namespace, ref.name)) as unknown as RecordOf<K> | undefined
  }

  async get<K extends AnyKind>(
    kind: K,
    ref: { namespace?: string | undefined; name: string },
    { fresh = false }: ReadOptions = {},
  ) {
    const known = fresh ? undefined : this.peek(kind, ref)
    return known ?? (this.#table(kind).get(objectKey(ref.namespace, ref.name)) as unknown as RecordOf<K> | undefined)
  }

  peekAll<K extends AnyKind>(kind: K, filter: ListFilter = {}): readonly RecordOf<K>[] {
    return this.#select<K>(this.#known(kind), filter)
  }

  #select<K extends AnyKind>(table: ReadonlyMap<string, Stored>, { namespace, boundaryId }: ListFilter) {
    const all = [...table.values()].filter((object) => {
      const home = object.metadata.namespace
      if (boundaryId !== undefined && boundaryOfNamespace(home ?? '') !== boundaryId) return false
      return namespace === undefined || home === namespace
    })
    return all as unknown as readonly RecordOf<K>[]
  }

  revision(): number {
    return this.#version
  }

  async list<K extends AnyKind>(kind: K, filter: ListFilter = {}, { fresh = false }: ReadOptions = {}) {
    return fresh ? this.#select<K>(this.#table(kind), filter) : this.peekAll(kind, filter)
  }

  async create<K extends AnyKind>(kind: K, request: CreateRequest<K>) {
    const present = this.peek(kind, request)
    if (present !== undefined) {
      const { isSame = ({ spec }) => JSON.stringify(spec) === JSON.stringify(kind.spec.parse(request.spec)) } = request
      if (await isSame(present)) return { object: present, isNew: false }
      throw new PlatformError('ALREADY_EXISTS', 'taken')
    }
    const { namespace, name, finalizers = [] } = request
    const spec = typeof request.spec === 'function' ? await request.spec() : request.spec
    await request.reserve?.(spec)
    const annotations = { ...request.annotations, ...roleIncarnationAnnotation(this.peekAll(RoleDefinition), spec) }
    const metadata = { name, ...(namespace !== undefined && { namespace }), annotations, finalizers }
    return { object: this.put(kind, metadata, spec), isNew: true }
  }

  async update<K extends AnyKind>(kind: K, ref: { namespace?: string; name: string }, request: UpdateRequest<K>) {
    for (;;) {
      const current = this.peek(kind, ref)
      if (current === undefined) throw new PlatformError('NOT_FOUND', 'missing')
      const spec = await request.change(current)
      // Like the API server: a concurrent write causes a conflict, and the change is repeated.
      if (this.peek(kind, ref) !== current) continue
      return { object: this.put(kind, current.metadata, spec, current.status), isChanged: true }
    }
  }

  async remove<K extends AnyKind>(kind: K, ref: { namespace?: string; name: string }, _request: RemoveRequest) {
    const current = this.peek(kind, ref)
    if (current === undefined) throw new PlatformError('NOT_FOUND', 'missing')
    if ((current.metadata.finalizers ?? []).length > 0) return { isGone: false }
    this.#table(kind).delete(objectKey(ref.namespace, ref.name))
    this.#version += 1
    return { isGone: true }
  }

  exclusively<Result>(_key: string, work: () => Promise<Result>): Promise<Result> {
    return work()
  }
}

export class MemoryNamespaces implements NamespaceStore {
  readonly names = new Set<string>()
  failure: Error | undefined

  async ensure(object: KubeObject) {
    if (this.failure !== undefined) throw this.failure
    this.names.add(object.metadata.name)
  }

  async exists(name: string) {
    return this.names.has(name)
  }
}

export function accessOf(evaluator: Evaluator, now: () => number): Access {
  return {
    isAllowed: (principal, action, scope) => evaluator.isAllowed(principal, action, scope, now()),
    catchUp: async () => undefined,
    explain: (principal, action, scope) => evaluator.explain(principal, action, scope, now()),
    permissionsAt: (principal, scope) => evaluator.permissionsAt(principal, scope, now()),
    scopesWith: (principal, action) => evaluator.scopesWith(principal, action, now()),
    boundariesOf: (principal) => evaluator.boundariesOf(principal, now()),
    holdsAll: (principal, permissions, scope) => evaluator.holdsAll(principal, permissions, scope, now()),
    rolesAt: (principal, scope) => evaluator.rolesAt(principal, scope, now()),
  }
}

export const CLUSTER_ID = '77777777-7777-4777-8777-777777777777'

/** The dependencies of handlers of the built areas, in memory. ANNA calls; `given` is what she may do. */
export function makeFacade(given: Given = {}, change: Partial<Services> = {}) {
  const records = new MemoryRecords()
  const namespaces = new MemoryNamespaces()
  const clock = new ManualClock()
  records.put(
    PlatformCluster,
    { name: CLUSTER_ID },
    { displayName: 'Own', region: 'north', domain: 'example.test', isPlatform: true },
  )
  const sizes = { cpuRequest: '500m', cpuLimit: '1', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }
  records.put(
    ComputePlan,
    { name: 'vector-small' },
    { family: 'Vector', displayName: 'Small', ...sizes, replicas: 2, isDefault: true },
  )
  const services = {
    records,
    principals: recordedPrincipals(records),
    namespaces,
    clock,
    log: silentLog,
    access: accessOf(evaluatorOf(given), () => clock.now()),
    reservedNames: new Set(['config', 'validate', 'vectorclusters']),
    vaults: makeVaults(),
    documentation: new Documentation('0', {}),
    wholeDocument: wholeDocument(async () => '{"openapi":"3.1.0"}'),
    protectedResource: { address: 'https://api.test', issuer: 'https://id.test/realms/test' },
    platform: {
      version: '1.2.3',
      commit: 'abc',
      builtAt: '2026-01-01T00:00:00Z',
      kubernetesVersion: 'v1.36.3',
      simulated: [],
      readiness: [],
    },
    ...change,
  } as unknown as Services
  return {
    records,
    namespaces,
    services,
    boundary: (id: string, spec: object = {}) => {
      namespaces.names.add(boundaryNamespace(id))
      return records.put(Boundary, { name: id }, { displayName: `Boundary ${id.slice(-4)}`, ...spec })
    },
    group: (boundaryId: string, name: string, spec: object = {}) =>
      records.put(ResourceGroup, { namespace: boundaryNamespace(boundaryId), name }, spec),
    vector: (boundaryId: string, group: string, name: string, spec: object = {}) =>
      records.put(VectorCluster, { namespace: groupNamespace(boundaryId, group), name }, spec),
    call: callerOf(services),
  }
}

type Request = {
  body?: unknown
  query?: Record<string, string[]>
  caller?: string
  /** Further claims of the token. */
  claims?: Partial<Caller>
  address?: string
}
type Answered = { status: number; headers: Readonly<Record<string, string>>; body: never; text: string }

/** Calls a handler as the router would: parameters from the path, list from the query, JSON out. */
function callerOf(services: Services) {
  return async (
    routes: readonly RouteDraft[],
    method: string,
    path: string,
    request: Request = {},
  ): Promise<Answered> => {
    const found = routes
      .filter((draft) => draft.method === method)
      .map((draft) => ({ draft, parameters: match(draft.path, path) }))
      .sort((one, other) => one.draft.path.split('{').length - other.draft.path.split('{').length)
      .find(({ parameters }) => parameters !== undefined)
    if (found?.parameters === undefined) throw new Error(`No route for ${method} ${path}`)
    const { draft, parameters } = found
    const caller: Caller = {
      principalId: request.caller ?? ANNA,
      principalType: 'User',
      expiresAt: Number.POSITIVE_INFINITY,
      ...request.claims,
    }
    const context = {
      services,
      caller,
      isAnonymous: false,
      address: request.address,
      parameters,
      query: draft.query?.parse(firstOf(request.query)) ?? {},
      body: request.body === undefined ? undefined : draft.body?.parse(request.body),
      list: draft.list === undefined ? undefined : listOf(request.query, draft.list as ListShape<never>),
      ifMatch: undefined,
      mediaType: draft.replyMediaType,
      fresh: false,
      header: () => undefined,
      prove: () => {},
      correlationId: 'test',
      log: silentLog,
      signal: new AbortController().signal,
      scope: undefined,
    } as unknown as Context
    const answer = await draft.handler(context)
    const bytes = answer.bytes ?? (answer.stream && Buffer.concat(await answer.stream.toArray()))
    const text = Buffer.from(bytes ?? []).toString()
    const body = answer.parts === undefined ? answer.body : JSON.parse(answer.parts.join(''))
    // A route's answer must match its schema, field for field.
    if (body !== undefined) expectSchema(draft, answer.status, body)
    return { status: answer.status, headers: answer.headers ?? {}, body: body as never, text }
  }
}

function firstOf(query: Record<string, string[]> = {}): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(query).map(([name, [value]]) => [name, value]))
}

function expectSchema(draft: RouteDraft, status: number, body: unknown): void {
  const result = draft.reply?.safeParse(body)
  if (result !== undefined && !result.success) {
    throw new Error(`${draft.method} ${draft.path} answered ${status} against its schema: ${result.error.message}`)
  }
}

function match(template: string, path: string): Record<string, string> | undefined {
  const [names, values] = [template.split('/'), path.split('/')]
  if (names.at(-1) === '{path}')
    values.splice(names.length - 1, values.length, values.slice(names.length - 1).join('/'))
  if (names.length !== values.length) return undefined
  const parameters: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    if (name.startsWith('{')) parameters[name.slice(1, -1)] = values[index] ?? ''
    else if (name !== values[index]) return undefined
  }
  return parameters
}

/** The code of a promise's rejection. */
export async function codeOf(promise: Promise<unknown>): Promise<{ code: string; extras: Record<string, unknown> }> {
  try {
    await promise
  } catch (error) {
    if (error instanceof PlatformError) return { code: error.code, extras: error.extras }
    throw error
  }
  return { code: 'none', extras: {} }
}

function listOf(query: Parameters<typeof parseListRequest>[0] = {}, shape: ListShape<never>) {
  const faults = new QueryFaults()
  const list = parseListRequest(query, shape, faults)
  faults.refuse()
  return list
}
