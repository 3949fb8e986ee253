import { type AccessOptions, createAccess } from '../../api/callers/access.ts'
import { recordedPrincipals } from '../../api/callers/principals.ts'
import type { Services } from '../../api/http/context.ts'
import type { ListFilter, RecordOf, Records } from '../../api/records/records.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, keyOf, type ObjectRef, objectKey, type Resource } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { BoundaryTrust, DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import type { WatchCache } from '../../kube/cache.ts'

export type Caches = AccessOptions['caches']

/** The kinds that decide about grants. All others may be slightly stale. */
const ACCESS_KINDS: readonly AnyKind[] = [RoleAssignment, DenyAssignment, PrincipalGroup, RoleDefinition, BoundaryTrust]

/** Returns the namespaces to read a kind in; undefined for all. */
type NamespacesOfKind = (kind: AnyKind) => readonly string[] | undefined

/**
 * Returns the services with access-control records and decisions as they are in the API server now. A cache lags, and
 * lags far more while its watch is disconnected: meanwhile somebody who has lost a role could still grant it to others.
 * So each review lists these records; such writes are rare.
 * @param boundaryId whose records are read in addition to the platform's
 */
export async function uncachedServices(
  services: Services,
  caches: Caches,
  boundaryId: string | undefined,
): Promise<Services> {
  const namespacesOfKind: NamespacesOfKind = (kind) =>
    kind.placement === 'cluster' ? undefined : namespacesOf(boundaryId)
  const lists = await Promise.all(ACCESS_KINDS.map((kind) => listFresh(services.records, kind, namespacesOfKind(kind))))
  const now = new Map(ACCESS_KINDS.map((kind, index) => [kind as AnyKind, lists[index] ?? []]))
  const records = recordsWith(services.records, now, namespacesOfKind)
  const { clock, log } = services
  const access = createAccess({ caches: cachesWith(caches, now, boundaryId), clock, log })
  return {
    ...services,
    records,
    access,
    visibilityAccess: services.access,
    principals: principalsOf(services, records),
  }
}

/** Groups come from the fresh records, people and accounts from the identity provider. */
function principalsOf(services: Services, records: Records): Services['principals'] {
  const fresh = recordedPrincipals(records)
  return {
    async find(ids, boundaryId) {
      const wanted = [...ids]
      const [known, now] = await Promise.all([
        services.principals.find(wanted, boundaryId),
        fresh.find(wanted, boundaryId),
      ])
      return new Map([...known, ...now])
    },
  }
}

function namespacesOf(boundaryId: string | undefined): readonly string[] {
  return boundaryId === undefined ? [SYSTEM_NAMESPACE] : [SYSTEM_NAMESPACE, boundaryNamespace(boundaryId)]
}

async function listFresh(
  records: Records,
  kind: AnyKind,
  namespaces: readonly string[] | undefined,
): Promise<KubeObject[]> {
  const filters: ListFilter[] = namespaces === undefined ? [{}] : namespaces.map((namespace) => ({ namespace }))
  const lists = await Promise.all(filters.map((filter) => records.list(kind, filter, { fresh: true })))
  return lists.flat() as KubeObject[]
}

type FreshRecords = ReadonlyMap<AnyKind, readonly KubeObject[]>

function recordsWith(records: Records, now: FreshRecords, namespacesOfKind: NamespacesOfKind): Records {
  /** Returns undefined for what was not read. */
  const read = (kind: AnyKind, namespace: string | undefined) => {
    const namespaces = namespacesOfKind(kind)
    return namespaces === undefined || namespaces.includes(namespace ?? '') ? now.get(kind) : undefined
  }
  // Rules look up each member of each group.
  const byKey = new Map(
    [...now].map(([kind, objects]) => [kind, new Map(objects.map((object) => [keyOf(object), object]))]),
  )
  const peek = <K extends AnyKind>(kind: K, ref: ObjectRef) => {
    if (read(kind, ref.namespace) === undefined) return records.peek(kind, ref)
    return byKey.get(kind)?.get(objectKey(ref.namespace, ref.name)) as RecordOf<K> | undefined
  }
  const peekAll = <K extends AnyKind>(kind: K, filter: ListFilter = {}) => {
    const { namespace, boundaryId } = filter
    const found = boundaryId === undefined ? read(kind, namespace) : undefined
    if (found === undefined) return records.peekAll(kind, filter)
    const inNamespace =
      namespace === undefined ? found : found.filter(({ metadata }) => metadata.namespace === namespace)
    return inNamespace as unknown as readonly RecordOf<K>[]
  }
  return {
    peek,
    peekAll,
    // The fresh records never change, so neither does their revision.
    revision: (kind, filter = {}) => (read(kind, filter.namespace) === undefined ? records.revision(kind, filter) : -1),
    get: (kind, ref, options) => records.get(kind, ref, options),
    list: (kind, filter, options) => records.list(kind, filter, options),
    create: () => refuseWriting(),
    update: () => refuseWriting(),
    remove: () => refuseWriting(),
    exclusively: () => refuseWriting(),
  }
}

function refuseWriting(): never {
  throw new TypeError('A review of admission writes nothing.')
}

/** Returns caches of the fresh records, for the evaluator. Of the boundaries, they report only the one under review. */
function cachesWith(caches: Caches, now: FreshRecords, boundaryId: string | undefined): Caches {
  const read = new Map([...now].map(([kind, objects]) => [kind.resource, objects]))
  return {
    has: (resource) => read.has(resource) || caches.has(resource),
    get<T extends KubeObject>(resource: Resource) {
      const cache = caches.get<T>(resource)
      const objects = (read.get(resource) ?? (resource === Boundary.resource ? own(cache) : [])) as readonly T[]
      const subscribe: WatchCache<T>['subscribe'] = (handler) => {
        for (const object of objects) handler({ type: 'added', object } as never)
        return () => undefined
      }
      return { get: (namespace, name) => cache.get(namespace, name), list: (filter) => cache.list(filter), subscribe }
    },
  }

  function own<T extends KubeObject>(cache: Pick<WatchCache<T>, 'get'>): readonly T[] {
    const boundary = boundaryId === undefined ? undefined : cache.get(undefined, boundaryId)
    return boundary === undefined ? [] : [boundary]
  }
}
