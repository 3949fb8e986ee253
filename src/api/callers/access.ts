import type { ActionName } from '../../core/actions.ts'
import type { Clock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import {
  FORMER_INCARNATIONS_ANNOTATION,
  INCARNATION_ANNOTATION,
  INITIAL_OWNER_ASSIGNED_ANNOTATION,
} from '../../core/labels.ts'
import type { Log } from '../../core/log.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { parseScope, type Scope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import {
  currentPrincipalsOf,
  incarnationOf,
  incarnationsNamedBy,
  namesCurrentPrincipal,
  type PrincipalLookup,
} from '../../crds/principals.ts'
import { BoundaryTrust, DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { roleIncarnationOf } from '../../crds/roleIncarnations.ts'
import {
  isAllowedInNamespace,
  SCOPE_KINDS,
  scopeIncarnationOf,
  scopeObject,
  scopeObjectKey,
} from '../../crds/scopeObjects.ts'
import { type BoundariesOfPrincipal, Evaluator, type ScopesOfAction } from '../../iam/evaluate.ts'
import { formerScope, isFormerScope } from '../../iam/formerScope.ts'
import type { Permissions } from '../../iam/permissions.ts'
import type { Decision } from '../../iam/records.ts'
import type { CacheEvent, WatchCache } from '../../kube/cache.ts'
import type { Access } from '../http/context.ts'
import type { GrantRefresher } from './grantRefresher.ts'
import { groupId, memberKeys, PLATFORM_SUFFIX, subjectKeys } from './groupIds.ts'
import { isAnotherIncarnation } from './incarnationEvents.ts'
import { RolesByName } from './rolesByName.ts'

type Caches = {
  get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'get' | 'list' | 'subscribe'>
  has(resource: Resource): boolean
}
export type AccessOptions = {
  caches: Caches
  clock: Clock
  log: Log
  /** Absent if the caches were just read from the API server. */
  refresher?: GrantRefresher | undefined
}

type WithSpec<T> = T & KubeObject
type Assignment = WithSpec<RoleAssignment>
type Denial = WithSpec<DenyAssignment>
type Trust = WithSpec<BoundaryTrust>
type Group = WithSpec<PrincipalGroup>
type Role = WithSpec<RoleDefinition>
type BoundaryObject = WithSpec<Boundary>

const OWNER = 'Owner'
/** Separates the id of a record from its namespace. */
const NAMESPACE_SEPARATOR = '#'
type ScopeIncarnation = { scope: Scope; incarnation: string | undefined }

/**
 * Decides access from the assignments in force. Follows the caches, so that an own write counts for the next request,
 * and any other write as soon as its event arrives.
 */
export function createAccess(options: AccessOptions): Access & { stop(): void } {
  return new CachedAccess(options)
}

class CachedAccess implements Access {
  readonly #evaluator = new Evaluator()
  readonly #caches: Caches
  readonly #clock: Clock
  readonly #log: Log
  readonly #refresher: GrantRefresher | undefined
  readonly #stops: (() => void)[] = []
  /** By object, the callbacks that evaluate again the records that name its incarnation. */
  readonly #rechecksByKey = new Map<string, Map<string, () => void>>()
  readonly #keysOfRecord = new Map<string, readonly string[]>()
  readonly #roles = new RolesByName()

  constructor({ caches, clock, log, refresher }: AccessOptions) {
    this.#caches = caches
    this.#clock = clock
    this.#log = log
    this.#refresher = refresher
    this.#follow<Role>(RoleDefinition.resource, (event) => this.#role(event))
    this.#follow<Group>(PrincipalGroup.resource, (event) => this.#group(event))
    this.#follow<Assignment>(RoleAssignment.resource, (event) => this.#assignment(event))
    this.#follow<Denial>(DenyAssignment.resource, (event) => this.#deny(event))
    this.#follow<Trust>(BoundaryTrust.resource, (event) => this.#trust(event))
    this.#follow<BoundaryObject>(Boundary.resource, (event) => this.#boundary(event))
    // The records above were just judged by what these caches hold.
    for (const { resource } of [PlatformUser, PlatformClient])
      this.#follow(resource, (event) => this.#recheck(principalKey(event.object.metadata.name), event), false)
    for (const { resource } of SCOPE_KINDS) {
      if (!caches.has(resource)) continue
      this.#follow(resource, (event) => this.#recheck(keyAt(resource, event.object), event), false)
    }
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  isAllowed(principalId: string, action: string, scope: string): boolean {
    return this.#evaluatorFor(principalId).isAllowed(principalId, action, scope, this.#clock.now())
  }

  async catchUp(principalId: string, scope: string): Promise<void> {
    await this.#refresher?.(principalId, scope)
  }

  explain(principalId: string, action: string, scope: string): Decision {
    const decision = this.#evaluatorFor(principalId).explain(principalId, action, scope, this.#clock.now())
    const { decidedBy } = decision
    if (decidedBy === undefined) return decision
    const { viaGroupId } = decidedBy
    const via = viaGroupId === undefined ? {} : { viaGroupId: viaGroupId.slice(viaGroupId.indexOf('/') + 1) }
    return { ...decision, decidedBy: { ...decidedBy, id: decidedBy.id.split(NAMESPACE_SEPARATOR)[0] ?? '', ...via } }
  }

  permissionsAt(principalId: string, scope: string): ActionName[] {
    return this.#evaluatorFor(principalId).permissionsAt(principalId, scope, this.#clock.now())
  }

  scopesWith(principalId: string, action: string): ScopesOfAction {
    const { granted, denied } = this.#evaluatorFor(principalId).scopesWith(principalId, action, this.#clock.now())
    return { granted, denied: denied.filter((scope) => !isFormerScope(scope)) }
  }

  boundariesOf(principalId: string): BoundariesOfPrincipal {
    return this.#evaluatorFor(principalId).boundariesOf(principalId, this.#clock.now())
  }

  holdsAll(principalId: string, permissions: Permissions, scope: string): boolean {
    return this.#evaluatorFor(principalId).holdsAll(principalId, permissions, scope, this.#clock.now())
  }

  rolesAt(principalId: string, scope: string): string[] {
    return this.#evaluatorFor(principalId).rolesAt(principalId, scope, this.#clock.now())
  }

  #evaluatorFor(principalId: string): Evaluator {
    this.#evaluator.policy.readers.note(principalId)
    return this.#evaluator
  }

  #follow<T extends KubeObject>(resource: Resource, handler: (event: CacheEvent<T>) => void, replay = true): void {
    const cache = this.#caches.get<T>(resource)
    const guarded = (event: CacheEvent<T>) => {
      try {
        handler(event)
      } catch (error) {
        // An unreadable record grants nothing; the evaluator ensures that.
        const { namespace, name } = event.object.metadata
        this.#log.warn(
          { kind: resource.kind, namespace, name, reason: messageOf(error) },
          'A record of access control cannot be read.',
        )
      }
    }
    this.#stops.push(cache.subscribe(guarded, { replay }))
  }

  #role({ type, object, previous }: CacheEvent<Role>): void {
    const { name } = object.metadata
    const [displayName, before] = [object.spec.displayName, previous?.spec.displayName]
    const isRenamed = before !== undefined && before !== displayName
    if (isRenamed) this.#roles.remove(before, name)
    if (type === 'removed') {
      this.#roles.remove(displayName, name)
      this.#evaluator.policy.removeRole(name)
    } else this.#roles.add(object)
    try {
      this.#chooseRole(displayName, type === 'removed' ? undefined : object)
    } finally {
      if (isRenamed) this.#chooseRole(before)
    }
    if (type === 'removed' || this.#roles.choose(displayName).first === name) return
    this.#log.warn({ name, displayName }, 'The display name of a role is taken: the role is ignored.')
  }

  /** @param changed the role that was added or changed: what an event brings may be newer than the cache */
  #chooseRole(displayName: string, changed?: Role): void {
    const { policy } = this.#evaluator
    const { first = '', others } = this.#roles.choose(displayName)
    for (const name of others) policy.removeRole(name)
    const roles = this.#caches.get<Role>(RoleDefinition.resource)
    const role = changed?.metadata.name === first ? changed : roles.get(undefined, first)
    if (role === undefined) return
    const { name, annotations } = role.metadata
    policy.upsertRole({ ...role.spec, name, incarnation: annotations?.[INCARNATION_ANNOTATION] })
  }

  /**
   * A group of a boundary counts in that boundary only, so its id contains the namespace: otherwise anybody could
   * create a group with the id of a foreign one and join it.
   */
  #group(event: CacheEvent<Group>): void {
    const { type, object } = event
    const { namespace = '', name } = object.metadata
    const id = groupId(namespace, name)
    this.#recheck(principalKey(name), event)
    if (type === 'removed') {
      this.#recheckOnChange(`group ${id}`, [], () => {})
      this.#evaluator.policy.removeGroup(id)
      return
    }
    this.#recheckOnChange(`group ${id}`, this.#principalKeys(object), () => {
      const present = currentPrincipalsOf(this.#find, object, object.spec.memberIds)
      const memberIds = present.flatMap((member) => memberKeys(namespace, member))
      this.#evaluator.policy.upsertGroup({ id, memberIds })
    })
  }

  #assignment({ type, object }: CacheEvent<Assignment>): void {
    const id = recordId(RoleAssignment.resource, object)
    const scope = type === 'removed' ? undefined : ownScope(object)
    const incarnation = scopeIncarnationOf(object)
    // Made by kubectl or Git without a scope incarnation: ignored until the controller fills it in.
    const lacksIncarnation = scope !== undefined && scope.level !== 'root' && incarnation === undefined
    const named = scope === undefined || lacksIncarnation ? [] : [{ scope, incarnation }]
    this.#watchRecord(object, `assignment ${id}`, named, (counts) => {
      this.#dropAssignment(id)
      if (!counts || !namesCurrentPrincipal(this.#find, object, object.spec.principalId)) return
      const { principalId, principalType, roleDefinitionName: roleName, expiresAt, jitRequestId } = object.spec
      const roleIncarnation = roleIncarnationOf(object)
      const { scope } = object.spec
      const common = { principalType, roleName, roleIncarnation, scope, jitRequestId, ...expiry(expiresAt) }
      for (const [suffix, subject] of subjectKeys(principalType, principalId, object.metadata.namespace)) {
        this.#evaluator.policy.upsertAssignment({ ...common, id: id + suffix, principalId: subject })
      }
    })
  }

  #dropAssignment(id: string): void {
    for (const suffix of ['', PLATFORM_SUFFIX]) this.#evaluator.policy.removeAssignment(id + suffix)
  }

  /**
   * An unreadable deny keeps its previous effect; a deleted one, or one of another incarnation, ends. A deny on a
   * resource that is gone is kept at the former scope, where it still says from whom the resource was hidden.
   */
  #deny({ type, object }: CacheEvent<Denial>): void {
    const id = recordId(DenyAssignment.resource, object)
    const scope = type === 'removed' ? undefined : ownScope(object)
    const named = scope === undefined ? [] : [{ scope, incarnation: scopeIncarnationOf(object) }]
    const apply = (counts: boolean) => {
      const { policy } = this.#evaluator
      const place = counts ? object.spec.scope : scope && formerScope(object.spec.scope)
      if (place === undefined || this.#isOfFormerHolder(object, object.spec.principalId)) {
        policy.removeDeny(id)
        policy.removeDeny(id + PLATFORM_SUFFIX)
        return
      }
      const { principalId, principalType = 'User', isEveryone, actions, dataActions, expiresAt } = object.spec
      const { namespace = '' } = object.metadata
      const excluded = currentPrincipalsOf(this.#find, object, object.spec.excludedPrincipalIds)
      const excludedPrincipalIds = excluded.flatMap((member) => memberKeys(namespace, member))
      const common = { excludedPrincipalIds, actions, dataActions, scope: place, ...expiry(expiresAt) }
      const isForAll = isEveryone || principalId === undefined
      if (isForAll) policy.upsertDeny({ ...common, id, principal: 'everyone' })
      for (const [suffix, subject] of isForAll ? [] : subjectKeys(principalType, principalId, namespace)) {
        policy.upsertDeny({ ...common, id: id + suffix, principal: { id: subject } })
      }
      // Until it was recreated, it may have been on a group.
      if (isForAll || principalType !== 'Group') policy.removeDeny(id + PLATFORM_SUFFIX)
    }
    this.#watchRecord(object, `deny ${id}`, named, apply, { withFormer: true })
  }

  #trust({ type, object }: CacheEvent<Trust>): void {
    const id = recordId(BoundaryTrust.resource, object)
    const { boundaryId, trustedBoundaryId, actions, bidirectional, expiresAt } = object.spec
    const isIgnored = type === 'removed' || object.metadata.namespace !== SYSTEM_NAMESPACE
    const named: ScopeIncarnation[] = isIgnored
      ? []
      : [
          { scope: { level: 'boundary', boundaryId }, incarnation: object.spec.boundaryIncarnation },
          {
            scope: { level: 'boundary', boundaryId: trustedBoundaryId },
            incarnation: object.spec.trustedBoundaryIncarnation,
          },
        ]
    this.#watchRecord(object, `trust ${id}`, named, (counts) => {
      const { policy } = this.#evaluator
      if (!counts) policy.removeTrust(id)
      else policy.upsertTrust({ id, boundaryId, trustedBoundaryId, actions, bidirectional, ...expiry(expiresAt) })
    })
  }

  /**
   * Decides whether a record counts: now, and again whenever an object whose incarnation it names is created, deleted
   * or recreated. A record that names no scope does not count.
   */
  #watchRecord(
    record: KubeObject,
    id: string,
    named: readonly ScopeIncarnation[],
    decide: (counts: boolean) => void,
    { withFormer = false } = {},
  ): void {
    const pinned = named.filter(({ incarnation }) => incarnation !== undefined)
    const recheck = () =>
      decide(named.length > 0 && pinned.every((one) => this.#incarnationsAt(one, withFormer).includes(one.incarnation)))
    const places = pinned.flatMap(({ scope }) => scopeObject(scope)?.key ?? [])
    this.#recheckOnChange(id, named.length === 0 ? [] : [...places, ...this.#principalKeys(record)], recheck)
  }

  /** Runs `recheck` now, and again whenever an object with one of the keys is created, deleted or recreated. */
  #recheckOnChange(id: string, keys: readonly string[], recheck: () => void): void {
    for (const key of this.#keysOfRecord.get(id) ?? []) {
      const waiting = this.#rechecksByKey.get(key)
      waiting?.delete(id)
      if (waiting?.size === 0) this.#rechecksByKey.delete(key)
    }
    this.#keysOfRecord.delete(id)
    for (const key of keys) {
      const waiting = this.#rechecksByKey.get(key) ?? new Map<string, () => void>()
      this.#rechecksByKey.set(key, waiting.set(id, recheck))
    }
    if (keys.length > 0) this.#keysOfRecord.set(id, keys)
    recheck()
  }

  /** @param withFormer also the incarnations whose data the object adopted: denies at those apply to its data */
  #incarnationsAt({ scope }: ScopeIncarnation, withFormer: boolean): readonly (string | undefined)[] {
    const target = scopeObject(scope)
    if (target === undefined || !this.#caches.has(target.resource)) return []
    const { namespace, name, resource } = target
    const { annotations } = this.#caches.get(resource).get(namespace, name)?.metadata ?? {}
    const former = withFormer ? (annotations?.[FORMER_INCARNATIONS_ANNOTATION] ?? '').split(',') : []
    return [annotations?.[INCARNATION_ANNOTATION], ...former]
  }

  readonly #find: PrincipalLookup = (resource, namespace, name) =>
    this.#caches.has(resource) ? this.#caches.get(resource).get(namespace, name) : undefined

  #principalKeys(record: KubeObject): string[] {
    return Object.keys(incarnationsNamedBy(record)).map(principalKey)
  }

  /** A deny applies while nobody is known under the id, but not to a later holder of the id. */
  #isOfFormerHolder(record: KubeObject, id: string | undefined): boolean {
    if (id === undefined || namesCurrentPrincipal(this.#find, record, id)) return false
    return incarnationOf(this.#find, id, record.metadata.namespace) !== undefined
  }

  /** A principal, or an object that records are about, was created, deleted or recreated. */
  #recheck(key: string, event: CacheEvent<KubeObject>): void {
    const waiting = this.#rechecksByKey.get(key)
    if (waiting !== undefined && isAnotherIncarnation(event)) for (const recheck of waiting.values()) recheck()
  }

  /** The initial owner counts as Owner until the controller has written the assignment, and never again after that. */
  #boundary({ type, object }: CacheEvent<BoundaryObject>): void {
    const { name, annotations } = object.metadata
    const id = `initial-owner/${name}`
    const { initialOwner } = object.spec
    const isAssigned = annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] !== undefined
    const { policy } = this.#evaluator
    const counts = type !== 'removed' && initialOwner !== undefined && !isAssigned
    this.#recheckOnChange(id, counts ? this.#principalKeys(object) : [], () => {
      if (counts && namesCurrentPrincipal(this.#find, object, initialOwner.principalId))
        policy.upsertAssignment({ id, ...initialOwner, roleName: OWNER, scope: `/boundaries/${name}` })
      else policy.removeAssignment(id)
    })
  }
}

const keyAt = (resource: Resource, { metadata }: KubeObject) =>
  scopeObjectKey(resource, metadata.namespace, metadata.name)

const principalKey = (id: string) => `principal/${id}`

function expiry(expiresAt: string | undefined): { expiresAt?: number } {
  return expiresAt === undefined ? {} : { expiresAt: Date.parse(expiresAt) }
}

/**
 * Objects in two namespaces may have the same name, so the namespace is part of the key: otherwise a record of one
 * boundary would replace one of another, even a deny.
 */
function recordId(resource: Resource, { metadata }: KubeObject): string {
  return `${objectId(resource, metadata)}${NAMESPACE_SEPARATOR}${metadata.namespace ?? ''}`
}

/** The scope of a record, if its namespace may hold records of that scope. */
function ownScope(object: { spec: { scope: string }; metadata: { namespace?: string } }): Scope | undefined {
  const scope = parseScope(object.spec.scope)
  return scope !== undefined && isAllowedInNamespace(scope, object.metadata.namespace) ? scope : undefined
}
