import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import { idOf } from '../core/ids.ts'
import { INCARNATION_ANNOTATION, INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../core/labels.ts'
import type { Log } from '../core/log.ts'
import { boundaryNamespace, boundaryOfNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type KubeObject, objectKey, type Resource, resourceId } from '../core/object.ts'
import { parseScope, type Scope } from '../core/scope.ts'
import { Boundary } from '../crds/boundaries.ts'
import { KINDS } from '../crds/index.ts'
import { PrincipalGroup, RoleAssignment, RoleDefinition } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import type { ActionName } from '../iam/actions.ts'
import { type BoundariesOfPrincipal, Evaluator, type ScopesOfAction } from '../iam/evaluate.ts'
import type { Permissions } from '../iam/permissions.ts'
import type { Decision } from '../iam/records.ts'
import type { CacheEvent, WatchCache } from '../kube/cache.ts'
import type { Access } from './context.ts'

type Caches = {
  get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'get' | 'list' | 'subscribe'>
  has(resource: Resource): boolean
}
export type AccessOptions = { caches: Caches; clock: Clock; log: Log }

type WithSpec<T> = T & KubeObject
type Assignment = WithSpec<RoleAssignment>
type Group = WithSpec<PrincipalGroup>
type Role = WithSpec<RoleDefinition>
type BoundaryObject = WithSpec<Boundary>

const OWNER = 'Owner'
/** Behind the id of an assignment to a group: the entry for a group of the platform of that id. */
const PLATFORM_SUFFIX = '#platform'

/**
 * Decisions from the assignments that count now. Follows the caches, so that an own write decides the next request and
 * everybody else's the moment its event comes.
 */
export function createAccess(options: AccessOptions): Access & { stop(): void } {
  return new CachedAccess(options)
}

class CachedAccess implements Access {
  readonly #evaluator = new Evaluator()
  readonly #caches: Caches
  readonly #clock: Clock
  readonly #log: Log
  readonly #stops: (() => void)[] = []
  /** Assignments that name the incarnation of an object, by that object. */
  readonly #waiting = new Map<string, Map<string, Assignment>>()

  constructor({ caches, clock, log }: AccessOptions) {
    this.#caches = caches
    this.#clock = clock
    this.#log = log
    this.#follow<Role>(RoleDefinition.resource, (event) => this.#role(event))
    this.#follow<Group>(PrincipalGroup.resource, (event) => this.#group(event))
    this.#follow<Assignment>(RoleAssignment.resource, (event) => this.#assignment(event))
    this.#follow<BoundaryObject>(Boundary.resource, (event) => this.#boundary(event))
    const scoped = KINDS.filter((kind) => kind === ResourceGroup || kind === Boundary || kind.placement === 'group')
    for (const { resource } of scoped) {
      if (caches.has(resource)) this.#follow(resource, (event) => this.#scopeObject(resource, event.object))
    }
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  isAllowed(principalId: string, action: string, scope: string): boolean {
    return this.#evaluator.isAllowed(principalId, action, scope, this.#clock.now())
  }

  explain(principalId: string, action: string, scope: string): Decision {
    const decision = this.#evaluator.explain(principalId, action, scope, this.#clock.now())
    const { decidedBy } = decision
    if (decidedBy === undefined) return decision
    const { viaGroupId } = decidedBy
    const via = viaGroupId === undefined ? {} : { viaGroupId: viaGroupId.slice(viaGroupId.indexOf('/') + 1) }
    return { ...decision, decidedBy: { ...decidedBy, id: decidedBy.id.replace(PLATFORM_SUFFIX, ''), ...via } }
  }

  permissionsAt(principalId: string, scope: string): ActionName[] {
    return this.#evaluator.permissionsAt(principalId, scope, this.#clock.now())
  }

  scopesWith(principalId: string, action: string): ScopesOfAction {
    return this.#evaluator.scopesWith(principalId, action, this.#clock.now())
  }

  boundariesOf(principalId: string): BoundariesOfPrincipal {
    return this.#evaluator.boundariesOf(principalId, this.#clock.now())
  }

  holdsAll(principalId: string, permissions: Permissions, scope: string): boolean {
    return this.#evaluator.holdsAll(principalId, permissions, scope, this.#clock.now())
  }

  #follow<T extends KubeObject>(resource: Resource, handler: (event: CacheEvent<T>) => void): void {
    const cache = this.#caches.get<T>(resource)
    const guarded = (event: CacheEvent<T>) => {
      try {
        handler(event)
      } catch (error) {
        // What cannot be read grants nothing; the evaluator sees to that.
        const { namespace, name } = event.object.metadata
        this.#log.warn(
          { kind: resource.kind, namespace, name, reason: messageOf(error) },
          'A record of access control cannot be read.',
        )
      }
    }
    this.#stops.push(cache.subscribe(guarded, { replay: true }))
  }

  #role({ type, object }: CacheEvent<Role>): void {
    const { policy } = this.#evaluator
    const { name } = object.metadata
    if (type === 'removed') {
      policy.removeRole(name)
      return
    }
    if (policy.upsertRole({ ...object.spec, name })) return
    const { displayName } = object.spec
    this.#log.warn({ name, displayName }, 'The display name of a role is taken: it counts for nothing.')
  }

  /**
   * A group of a boundary counts in that boundary only, so its id carries the namespace: else anybody could make a
   * group with the id of a foreign one and be in it.
   */
  #group({ type, object }: CacheEvent<Group>): void {
    const { namespace = '', name } = object.metadata
    const id = groupId(namespace, name)
    if (type === 'removed') {
      this.#evaluator.policy.removeGroup(id)
      return
    }
    const memberIds = object.spec.memberIds.flatMap((member) => [
      member,
      groupId(namespace, member),
      ...(namespace === SYSTEM_NAMESPACE ? [] : [groupId(SYSTEM_NAMESPACE, member)]),
    ])
    this.#evaluator.policy.upsertGroup({ id, memberIds })
  }

  #assignment({ type, object }: CacheEvent<Assignment>): void {
    const id = assignmentId(object)
    this.#forget(object)
    const scope = parseScope(object.spec.scope)
    if (type === 'removed' || scope === undefined || !standsIn(scope, object.metadata.namespace)) {
      this.#drop(id)
      return
    }
    const target = scopeObjectKey(scope)
    if (object.spec.scopeIncarnation !== undefined && target !== undefined) {
      const known = this.#waiting.get(target.key) ?? new Map<string, Assignment>()
      this.#waiting.set(target.key, known.set(id, object))
    }
    this.#judge(object, scope)
  }

  #drop(id: string): void {
    this.#evaluator.policy.removeAssignment(id)
    this.#evaluator.policy.removeAssignment(id + PLATFORM_SUFFIX)
  }

  #forget(object: Assignment): void {
    const scope = parseScope(object.spec.scope)
    const key = scope === undefined ? undefined : scopeObjectKey(scope)?.key
    const known = key === undefined ? undefined : this.#waiting.get(key)
    known?.delete(assignmentId(object))
    if (known?.size === 0 && key !== undefined) this.#waiting.delete(key)
  }

  /** Gives the assignment to the evaluator, or takes it away where its scope is another life of that name. */
  #judge(object: Assignment, scope: Scope): void {
    const id = assignmentId(object)
    this.#drop(id)
    const { principalId, principalType, roleDefinitionName: roleName, scopeIncarnation, expiresAt } = object.spec
    if (scopeIncarnation !== undefined && scopeIncarnation !== this.#incarnationAt(scope)) return
    const expiry = expiresAt === undefined ? {} : { expiresAt: Date.parse(expiresAt) }
    const common = { principalType, roleName, scope: object.spec.scope, ...expiry }
    const { policy } = this.#evaluator
    if (principalType !== 'Group') {
      policy.upsertAssignment({ ...common, id, principalId })
      return
    }
    const own = groupId(object.metadata.namespace ?? '', principalId)
    policy.upsertAssignment({ ...common, id, principalId: own })
    const platform = groupId(SYSTEM_NAMESPACE, principalId)
    if (platform !== own) policy.upsertAssignment({ ...common, id: id + PLATFORM_SUFFIX, principalId: platform })
  }

  #incarnationAt(scope: Scope): string | undefined {
    const target = scopeObjectKey(scope)
    if (target === undefined || !this.#caches.has(target.resource)) return undefined
    const { namespace, name, resource } = target
    return this.#caches.get(resource).get(namespace, name)?.metadata.annotations?.[INCARNATION_ANNOTATION]
  }

  /** Something that assignments are about came, went or came back. */
  #scopeObject(resource: Resource, { metadata: { namespace, name } }: KubeObject): void {
    const key = `${resourceId(resource)}/${objectKey(namespace, name)}`
    for (const assignment of this.#waiting.get(key)?.values() ?? []) {
      const scope = parseScope(assignment.spec.scope)
      if (scope !== undefined) this.#judge(assignment, scope)
    }
  }

  /** The initial owner is an Owner until the controller has written the assignment, and never again after. */
  #boundary({ type, object }: CacheEvent<BoundaryObject>): void {
    const { name, annotations } = object.metadata
    const id = `initial-owner/${name}`
    const { initialOwner } = object.spec
    const isOver = annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] !== undefined
    if (type === 'removed' || initialOwner === undefined || isOver) {
      this.#evaluator.policy.removeAssignment(id)
      return
    }
    this.#evaluator.policy.upsertAssignment({ id, ...initialOwner, roleName: OWNER, scope: `/boundaries/${name}` })
  }
}

function groupId(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

function assignmentId({ metadata: { namespace, name } }: KubeObject): string {
  return idOf({ group: RoleAssignment.resource.group, kind: RoleAssignment.kind, namespace, name })
}

/** A boundary's namespace may speak of that boundary only, the platform's of the root only. */
function standsIn(scope: Scope, namespace: string | undefined): boolean {
  if (scope.level === 'root') return namespace === SYSTEM_NAMESPACE
  return boundaryOfNamespace(namespace ?? '') === scope.boundaryId
}

const RESOURCES = new Map(
  KINDS.filter((kind) => kind.placement === 'group').map((kind) => [kind.plural, kind.resource]),
)

type Target = { key: string; resource: Resource; namespace: string | undefined; name: string }

/** The object that a scope is of; undefined for the root and for collections that are not built. */
function scopeObjectKey(scope: Scope): Target | undefined {
  if (scope.level === 'root') return undefined
  const { boundaryId } = scope
  if (scope.level === 'boundary') return target(Boundary.resource, undefined, boundaryId)
  if (scope.level === 'resourceGroup')
    return target(ResourceGroup.resource, boundaryNamespace(boundaryId), scope.resourceGroup)
  const resource = RESOURCES.get(scope.collection)
  return resource === undefined
    ? undefined
    : target(resource, groupNamespace(boundaryId, scope.resourceGroup), scope.name)
}

function target(resource: Resource, namespace: string | undefined, name: string): Target {
  return { key: `${resourceId(resource)}/${objectKey(namespace, name)}`, resource, namespace, name }
}
