import { recordedPrincipals } from '../../api/callers/principals.ts'
import type { Services } from '../../api/http/context.ts'
import type { ListFilter, RecordOf, Records } from '../../api/records/records.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, keyOf, type ObjectRef, objectKey } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { BoundaryTrust, DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { type Caches, FreshAccess, type FreshRecords } from './freshAccess.ts'

/** The kinds that decide about grants. All others may be slightly stale. */
const ACCESS_KINDS: readonly AnyKind[] = [RoleAssignment, DenyAssignment, PrincipalGroup, RoleDefinition, BoundaryTrust]

/** Returns the namespaces to read a kind in; undefined for all. */
type NamespacesOfKind = (kind: AnyKind) => readonly string[] | undefined

/** Evaluators kept between reviews. Reviews of one boundary take turns, so more are rarely needed at once. */
const MAX_IDLE = 2

/**
 * Services with access-control records and decisions as they are in the API server now. A cache lags, and lags far more
 * while its watch is disconnected: meanwhile somebody who has lost a role could still grant it to others. So each
 * review lists these records; such writes are rare.
 */
export class UncachedServices {
  readonly #services: Services
  readonly #caches: Caches
  /** Each serves one review at a time, because it knows the records of one boundary only. */
  readonly #idle: FreshAccess[] = []

  constructor(services: Services, caches: Caches) {
    this.#services = services
    this.#caches = caches
  }

  /**
   * @param boundaryId whose records are read in addition to the platform's
   * @param judge must not use the services after it has ended
   */
  async during<Result>(
    boundaryId: string | undefined,
    judge: (services: Services) => Promise<Result>,
  ): Promise<Result> {
    const services = this.#services
    const namespacesOfKind: NamespacesOfKind = (kind) =>
      kind.placement === 'cluster' ? undefined : namespacesOf(boundaryId)
    const lists = await Promise.all(
      ACCESS_KINDS.map((kind) => listFresh(services.records, kind, namespacesOfKind(kind))),
    )
    // Rules look up each member of each group.
    const now: FreshRecords = new Map(
      ACCESS_KINDS.map(({ resource }, index) => [
        resource,
        new Map((lists[index] ?? []).map((object) => [keyOf(object), object])),
      ]),
    )
    const records = recordsWith(services.records, now, namespacesOfKind)
    const fresh = this.#take(now)
    try {
      return await judge({
        ...services,
        records,
        access: fresh.access,
        visibilityAccess: services.access,
        principals: principalsOf(services, records),
      })
    } finally {
      this.#giveBack(fresh)
    }
  }

  #take(now: FreshRecords): FreshAccess {
    const idle = this.#idle.pop()
    if (idle === undefined) return new FreshAccess({ ...this.#services, caches: this.#caches }, now)
    idle.update(now)
    return idle
  }

  #giveBack(fresh: FreshAccess): void {
    if (this.#idle.length < MAX_IDLE) this.#idle.push(fresh)
    else fresh.access.stop()
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

function recordsWith(records: Records, now: FreshRecords, namespacesOfKind: NamespacesOfKind): Records {
  /** Returns undefined for what was not read. */
  const read = (kind: AnyKind, namespace: string | undefined) => {
    const namespaces = namespacesOfKind(kind)
    return namespaces === undefined || namespaces.includes(namespace ?? '') ? now.get(kind.resource) : undefined
  }
  const peek = <K extends AnyKind>(kind: K, ref: ObjectRef) => {
    const found = read(kind, ref.namespace)
    if (found === undefined) return records.peek(kind, ref)
    return found.get(objectKey(ref.namespace, ref.name)) as RecordOf<K> | undefined
  }
  const peekAll = <K extends AnyKind>(kind: K, filter: ListFilter = {}) => {
    const { namespace, boundaryId } = filter
    const found = boundaryId === undefined ? read(kind, namespace) : undefined
    if (found === undefined) return records.peekAll(kind, filter)
    const all = [...found.values()]
    const inNamespace = namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace)
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
