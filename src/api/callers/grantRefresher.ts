import type { Clock } from '../../core/clock.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { parseScope, type Scope } from '../../core/scope.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { scopeObject } from '../../crds/scopeObjects.ts'
import type { WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent } from '../../kube/errors.ts'

type Caches = {
  get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'get' | 'list' | 'observeWrite'>
  has(resource: Resource): boolean
}
export type GrantRefresherOptions = { client: Pick<KubeClient, 'get' | 'list'>; caches: Caches; clock: Clock }

/**
 * Reads into the caches what lets a principal act at a scope, because another replica may have stored it a moment ago.
 * Remembers its lookups for a moment, so that refusals cause little load.
 */
export type GrantRefresher = (principalId: string, scope: string) => Promise<void>

/** Milliseconds for which a lookup counts, and in which the lookups of a principal are counted. */
const LOOKUP_WINDOW_MS = 2_000
/** Scopes looked up per principal in that time: beyond that, somebody who invents boundaries is refused at once. */
const LOOKUPS_MAX = 10
/** Windows that are kept: a principal whose window is evicted may look up again. */
const WINDOWS_MAX = 1_000
/** The most groups of a boundary that are read, and the most whose assignments are read. */
const GROUPS_READ_MAX = 100
const MEMBER_GROUPS_MAX = 5
/** Milliseconds for a lookup, because a refusal waits for it. */
const LOOKUP_TIMEOUT_MS = 2_000

type Assignment = RoleAssignment & KubeObject
type Group = PrincipalGroup & KubeObject
type Window = { readonly until: number; readonly lookups: Map<string, Promise<void>> }

export function createGrantRefresher({ client, caches, clock }: GrantRefresherOptions): GrantRefresher {
  const windows = createLruCache<string, Window>(WINDOWS_MAX)
  const reader = new GrantReader(client, caches)
  return (principalId, text) => {
    const scope = parseScope(text)
    if (scope === undefined) return Promise.resolve()
    const now = clock.monotonic()
    let window = windows.get(principalId)
    if (window === undefined || now >= window.until) {
      window = { until: now + LOOKUP_WINDOW_MS, lookups: new Map() }
      windows.set(principalId, window)
    }
    const known = window.lookups.get(text)
    if (known !== undefined || window.lookups.size >= LOOKUPS_MAX) return known ?? Promise.resolve()
    // If the API server does not answer, what the caches know decides.
    const lookup = reader.lookup(principalId, scope).catch(() => undefined)
    window.lookups.set(text, lookup)
    return lookup
  }
}

/** Puts what it reads into the caches, whose subscribers then evaluate again. */
class GrantReader {
  readonly #client: GrantRefresherOptions['client']
  readonly #caches: Caches

  constructor(client: GrantRefresherOptions['client'], caches: Caches) {
    this.#client = client
    this.#caches = caches
  }

  async lookup(principalId: string, scope: Scope): Promise<void> {
    if (scope.level === 'root') {
      await this.#refreshDenies(SYSTEM_NAMESPACE)
      await this.#refreshAssignments(principalId, SYSTEM_NAMESPACE)
      return
    }
    const { boundaryId } = scope
    const namespace = boundaryNamespace(boundaryId)
    // Nobody holds anything in a boundary that does not exist.
    if (!(await this.#refreshObject({ level: 'boundary', boundaryId }))) return
    // Denies come first: a role must not count a moment before what is denied with it.
    await Promise.all([
      ...scopesWithin(scope).map((place) => this.#refreshObject(place)),
      this.#refreshDenies(SYSTEM_NAMESPACE),
      this.#refreshDenies(namespace),
    ])
    await Promise.all([
      this.#refreshAssignments(principalId, SYSTEM_NAMESPACE),
      this.#refreshAssignments(principalId, namespace),
      this.#refreshGroups(principalId, namespace),
    ])
  }

  /** Reads the object of a scope unless it is known. @returns whether it is there */
  async #refreshObject(scope: Scope): Promise<boolean> {
    const place = scopeObject(scope)
    if (place === undefined || !this.#caches.has(place.resource)) return false
    const { resource, namespace, name } = place
    if (this.#caches.get(resource).get(namespace, name) !== undefined) return true
    const found = await this.#client.get(resource, { namespace, name }, { timeout: LOOKUP_TIMEOUT_MS }).catch(absent)
    if (found !== undefined) this.#updateCache(resource, found)
    return found !== undefined
  }

  async #refreshDenies(namespace: string): Promise<void> {
    await this.#listChanged(DenyAssignment.resource, { namespace })
  }

  async #refreshAssignments(principalId: string, namespace: string): Promise<void> {
    const fieldSelector = `spec.principalId=${principalId}`
    const changed = await this.#listChanged<Assignment>(RoleAssignment.resource, { namespace, fieldSelector })
    const roles = this.#caches.get<RoleDefinition & KubeObject>(RoleDefinition.resource).list()
    const isKnown = ({ spec }: Assignment) => roles.some((role) => role.spec.displayName === spec.roleDefinitionName)
    if (!changed.every(isKnown)) await this.#listChanged(RoleDefinition.resource, {})
  }

  /** Reads the groups of the boundary, and the assignments of those that the principal is in. */
  async #refreshGroups(principalId: string, namespace: string): Promise<void> {
    await this.#listChanged<Group>(PrincipalGroup.resource, { namespace, limit: GROUPS_READ_MAX })
    const groups = this.#caches.get<Group>(PrincipalGroup.resource).list({ namespace })
    const holders = [principalId]
    for (const holder of holders) {
      const groupNames = groups
        .filter(({ spec }) => spec.memberIds.includes(holder))
        .map(({ metadata }) => metadata.name)
      holders.push(...groupNames.filter((name) => !holders.includes(name)))
      if (holders.length > MEMBER_GROUPS_MAX) break
    }
    const followed = holders.slice(1, MEMBER_GROUPS_MAX + 1)
    await Promise.all(followed.map((group) => this.#refreshAssignments(group, namespace)))
  }

  /** @returns the objects that the caches did not have in this version */
  async #listChanged<T extends KubeObject>(
    resource: Resource,
    options: { namespace?: string; fieldSelector?: string; limit?: number },
  ): Promise<T[]> {
    const { items } = await this.#client.list<T>(resource, { ...options, timeout: LOOKUP_TIMEOUT_MS })
    return items.filter((item) => this.#updateCache(resource, item))
  }

  #updateCache(resource: Resource, object: KubeObject): boolean {
    const cache = this.#caches.get(resource)
    const { namespace, name, resourceVersion } = object.metadata
    if (cache.get(namespace, name)?.metadata.resourceVersion === resourceVersion) return false
    cache.observeWrite(object)
    return true
  }
}

/** Returns the group of a scope, and the resource if it names one. */
function scopesWithin(scope: Exclude<Scope, { level: 'root' }>): Scope[] {
  if (scope.level === 'boundary') return []
  const { boundaryId, resourceGroup } = scope
  const group: Scope = { level: 'resourceGroup', boundaryId, resourceGroup }
  return scope.level === 'resource' ? [group, scope] : [group]
}
