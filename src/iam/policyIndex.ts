import { validPatterns } from '../core/actionPatterns.ts'
import { findAction, isOpenAction } from '../core/actions.ts'
import { CacheReadTrackers } from '../core/readTrackers.ts'
import { BoundaryBloomFilter } from './boundaryBloomFilter.ts'
import {
  type ActionSet,
  addAction,
  compilePermissions,
  emptyActionSet,
  NO_PERMISSIONS,
  ROOT_ACTION_SET,
  subtract,
} from './permissions.ts'
import {
  type Denial,
  type Grant,
  linkDenial,
  linkGrant,
  PrincipalIndex,
  PrincipalNode,
  type RoleEntry,
  unlinkDenial,
  unlinkGrant,
} from './principals.ts'
import type { Assignment, Deny, PrincipalGroup, Trust } from './records.ts'
import { BUILT_IN_ROLES, isAssignableAtRoot, isAssignableBelowRoot, type Role } from './roles.ts'
import { type ScopeNode, ScopeTree } from './scopeTree.ts'

export type TrustEntry = {
  readonly id: string
  /** Each granting boundary with the boundary whose principals it trusts. */
  readonly directions: readonly { readonly granting: ScopeNode; readonly trusted: ScopeNode }[]
  readonly actions: ActionSet
  readonly openActions: ReadonlySet<string>
  readonly expiresAt: number
}

/**
 * The records that decide, indexed by principal and scope. The cost of a change does not depend on the number of
 * records, and the next decision takes it into account. An unreadable record throws (InvalidActionPattern, or
 * RangeError for a scope). An unreadable assignment, role or trust then has no effect, whatever it granted before. A
 * deny with unreadable patterns keeps the readable ones, also after a restart; a deny with an unreadable scope stays as
 * it was. So a mistake never grants more.
 */
export class PolicyIndex {
  readonly scopes = new ScopeTree()
  readonly principals = new PrincipalIndex()
  /** Holds the denies for everyone. It is not in `principals`, so that no principal can have its id. */
  readonly everyone = new PrincipalNode('everyone')
  readonly #grants = new Map<string, Grant>()
  readonly #denials = new Map<string, Denial>()
  readonly boundaryFilter = new BoundaryBloomFilter(this.#grants)
  /** Who has asked what a principal may do, by principal id. */
  readonly readers = new CacheReadTrackers()
  readonly #trusts = new Map<string, TrustEntry>()
  readonly #roles = new Map<string, RoleEntry>()
  /** The keys in `#roles` of each definition, by the name of the definition. */
  readonly #keys = new Map<string, readonly string[]>()
  readonly #builtIn: ReadonlySet<string> = new Set(BUILT_IN_ROLES.map((role) => role.name))
  readonly #builtInDisplayNames: ReadonlySet<string> = new Set(BUILT_IN_ROLES.map((role) => role.displayName))

  constructor() {
    for (const role of BUILT_IN_ROLES) this.#define(role)
  }

  upsertAssignment(assignment: Assignment): void {
    this.removeAssignment(assignment.id)
    const scope = this.scopes.retain(assignment.scope)
    const principal = this.principals.ensure(assignment.principalId)
    const { roleName, roleIncarnation } = assignment
    const role = this.#role(roleName, this.#builtInDisplayNames.has(roleName) ? undefined : roleIncarnation)
    role.uses += 1
    const { id, expiresAt, jitRequestId } = assignment
    const grant: Grant = { id, principal, role, scope, expiresAt, jitRequestId, next: undefined }
    linkGrant(grant)
    this.#grants.set(id, grant)
    this.boundaryFilter.add(grant)
    this.#changed(principal)
  }

  removeAssignment(id: string): void {
    const grant = this.#grants.get(id)
    if (grant === undefined) return
    this.#grants.delete(id)
    unlinkGrant(grant)
    this.#changed(grant.principal)
    this.principals.forgetIfUnused(grant.principal)
    this.scopes.release(grant.scope)
    grant.role.uses -= 1
    this.#forgetRoleIfUnused(grant.role)
  }

  upsertDeny(deny: Deny): void {
    const { id, excludedPrincipalIds, expiresAt = Number.POSITIVE_INFINITY } = deny
    // One invalid pattern must not disable the others.
    const [actions, dataActions] = [validPatterns(deny.actions), validPatterns(deny.dataActions)]
    const permissions = compilePermissions({ actions, dataActions, notActions: [], notDataActions: [] })
    const scope = this.scopes.retain(deny.scope)
    this.removeDeny(id)
    const principal = deny.principal === 'everyone' ? this.everyone : this.principals.ensure(deny.principal.id)
    const excludedIds = excludedPrincipalIds.length === 0 ? undefined : new Set(excludedPrincipalIds)
    // An unreadable time must not end a deny.
    const until = Number.isNaN(expiresAt) ? Number.POSITIVE_INFINITY : expiresAt
    const denial: Denial = {
      id,
      principal,
      permissions,
      scope,
      expiresAt: until,
      excluded: excludedIds,
      next: undefined,
    }
    linkDenial(denial)
    this.#denials.set(id, denial)
    this.#changed(principal)
  }

  removeDeny(id: string): void {
    const denial = this.#denials.get(id)
    if (denial === undefined) return
    this.#denials.delete(id)
    unlinkDenial(denial)
    this.#changed(denial.principal)
    if (denial.principal === this.everyone) {
      if (this.everyone.denials?.size === 0) this.everyone.denials = undefined
    } else this.principals.forgetIfUnused(denial.principal)
    this.scopes.release(denial.scope)
  }

  upsertGroup(group: PrincipalGroup): void {
    this.principals.setMembers(group)
    this.readers.allChanged()
  }

  removeGroup(id: string): void {
    this.principals.setMembers({ id, memberIds: [] })
    this.readers.allChanged()
  }

  /**
   * Adds or changes a custom role. Returns false if another role has its display name: the definition then has no
   * effect until it is passed again after the other is removed. Definitions named like a built-in role are ignored,
   * because built-in roles are part of the program and cannot be changed from outside.
   */
  upsertRole(role: Role): boolean {
    if (this.#builtIn.has(role.name)) return true
    return this.#define(role)
  }

  removeRole(name: string): void {
    if (!this.#builtIn.has(name)) this.#undefine(name)
  }

  upsertTrust(trust: Trust): void {
    this.removeTrust(trust.id)
    const { id, boundaryId, trustedBoundaryId, bidirectional, expiresAt = Number.POSITIVE_INFINITY } = trust
    const boundaryNode = this.scopes.retain(`/boundaries/${boundaryId}`)
    const trustedNode = this.#retainSecond(`/boundaries/${trustedBoundaryId}`, boundaryNode)
    const directions = [{ granting: boundaryNode, trusted: trustedNode }]
    if (bidirectional) directions.push({ granting: trustedNode, trusted: boundaryNode })
    const named = trust.actions.flatMap((name) => findAction(name) ?? []).filter((action) => !action.isData)
    const actions = emptyActionSet()
    for (const action of named) addAction(actions, action.index)
    subtract(actions, ROOT_ACTION_SET)
    const openActions = new Set(trust.actions.filter(isOpenAction))
    this.readers.allChanged()
    this.#trusts.set(id, { id, directions, actions, openActions, expiresAt })
  }

  removeTrust(id: string): void {
    const trust = this.#trusts.get(id)
    const direction = trust?.directions[0]
    if (direction === undefined) return
    this.#trusts.delete(id)
    this.readers.allChanged()
    this.scopes.release(direction.granting)
    this.scopes.release(direction.trusted)
  }

  /** Trusts are few and are created at the platform root, so a list is enough. */
  trusts(): Iterable<TrustEntry> {
    return this.#trusts.values()
  }

  get hasTrusts(): boolean {
    return this.#trusts.size > 0
  }

  /** A change of a group or of everyone affects many principals, so it notifies all readers. */
  #changed({ id, members }: PrincipalNode): void {
    if (id === this.everyone.id || members !== undefined) this.readers.allChanged()
    else this.readers.changed(id, '')
  }

  /** Retains a second scope; releases the first if the second is invalid. */
  #retainSecond(text: string, first: ScopeNode): ScopeNode {
    try {
      return this.scopes.retain(text)
    } catch (error) {
      this.scopes.release(first)
      throw error
    }
  }

  #role(displayName: string, incarnation?: string): RoleEntry {
    const key = roleKey(displayName, incarnation)
    let entry = this.#roles.get(key)
    if (entry === undefined) {
      entry = { key, displayName, holder: undefined, ...GRANTS_NOTHING, uses: 0 }
      this.#roles.set(key, entry)
    }
    return entry
  }

  /** Indexes a definition by its display name and, for assignments of this incarnation only, by both. */
  #define(role: Role): boolean {
    const { name, displayName, incarnation } = role
    const incarnations = incarnation === undefined ? [undefined] : [undefined, incarnation]
    const keys = incarnations.map((life) => roleKey(displayName, life))
    this.#undefine(name, keys)
    const { holder } = this.#role(displayName)
    if (holder !== undefined && holder !== name) return false
    const entries = incarnations.map((life) => this.#role(displayName, life))
    for (const entry of entries) Object.assign(entry, { holder: name, ...GRANTS_NOTHING })
    this.#keys.set(name, keys)
    const permissions = compilePermissions(role)
    const assignable = { assignableAtRoot: isAssignableAtRoot(role), assignableBelowRoot: isAssignableBelowRoot(role) }
    for (const entry of entries) Object.assign(entry, { permissions, ...assignable })
    return true
  }

  #undefine(name: string, kept: readonly string[] = []): void {
    this.readers.allChanged()
    for (const key of this.#keys.get(name) ?? []) {
      const entry = this.#roles.get(key)
      if (entry === undefined || kept.includes(key)) continue
      Object.assign(entry, { holder: undefined, ...GRANTS_NOTHING })
      this.#forgetRoleIfUnused(entry)
    }
    this.#keys.delete(name)
  }

  #forgetRoleIfUnused(entry: RoleEntry): void {
    if (entry.uses === 0 && entry.holder === undefined) this.#roles.delete(entry.key)
  }
}

/** What a role has that is not defined, or not validly. */
const GRANTS_NOTHING = { permissions: NO_PERMISSIONS, assignableAtRoot: false, assignableBelowRoot: false }

/** NUL separates safely, because display names never contain it. */
function roleKey(displayName: string, incarnation: string | undefined): string {
  return incarnation === undefined ? displayName : `${displayName}\0${incarnation}`
}
