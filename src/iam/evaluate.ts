import type { ActionName } from '../core/actions.ts'
import { parseScope } from '../core/scope.ts'
import { describeDenial, describeGrant, describeTrust, widestFirst } from './explanation.ts'
import {
  ancestorAt,
  anyGrantInEffect,
  denies,
  firstPermitting,
  grantedSet,
  grantsAtRoot,
  grantsBelowRoot,
  isBelow,
  isExcluded,
  isGrantInEffect,
  isWithin,
  permits,
  subjectDenies,
  type WantedAction,
  walkUpwards,
  wantedAction,
  withGroups,
} from './matching.ts'
import { openActionWitnesses } from './openActions.ts'
import {
  type ActionSet,
  actionNames,
  type CompiledPermissions,
  compilePermissions,
  coversOpenAction,
  emptyActionSet,
  hasAction,
  intersect,
  isSubset,
  type Permissions,
  subtract,
  unite,
} from './permissions.ts'
import { PolicyIndex, type TrustEntry } from './policyIndex.ts'
import { closureOf, type Denial, type Grant, PrincipalNode } from './principals.ts'
import type { Decision } from './records.ts'
import { type ScopeNode, scopeText } from './scopeTree.ts'

/** Where a principal holds an action: at and below `granted`, but not at or below `denied`. Both are canonical texts. */
export type ScopesOfAction = { readonly granted: readonly string[]; readonly denied: readonly string[] }

/** The boundaries that a principal's assignments reach; `everywhere` if one of the assignments is at `/`. */
export type BoundariesOfPrincipal = { readonly everywhere: boolean; readonly boundaryIds: readonly string[] }

/**
 * Answers who may do what where (interface section 5). A deny overrides every grant. Grants apply at their scope and
 * below, through nested groups of any depth. Only data patterns grant data actions, and only assignments at `/` grant
 * root actions. Callers pass times in milliseconds since the epoch, so an answer depends on the question and the policy
 * alone. Unknown actions and invalid scopes are allowed to nobody.
 */
export class Evaluator {
  readonly policy: PolicyIndex

  constructor(policy: PolicyIndex = new PolicyIndex()) {
    this.policy = policy
  }

  isAllowed(principalId: string, action: string, scope: string, at: number): boolean {
    // Every grant names the principal or one of its groups, so an unknown principal is allowed nothing.
    const principal = this.policy.principals.find(principalId)
    if (principal === undefined) return false
    const wanted = wantedAction(action)
    const scopeNode = wanted === undefined ? undefined : this.policy.scopes.locate(scope)
    if (wanted === undefined || scopeNode === undefined) return false
    if (this.#grantedByAssignment(principal, wanted, scopeNode, at))
      return !this.#isDenied(principal, wanted, scopeNode, at)
    if (!this.policy.hasTrusts || this.#isDenied(principal, wanted, scopeNode, at)) return false
    return this.#trustFor(principal, wanted, scopeNode, at) !== undefined
  }

  /** Like `isAllowed`, with the reason and the deciding record; of several, the one at the widest scope. */
  explain(principalId: string, action: string, scope: string, at: number): Decision {
    const wanted = wantedAction(action)
    const scopeNode = this.policy.scopes.locate(scope)
    if (wanted === undefined || scopeNode === undefined) return { allowed: false, reason: 'NoAssignment' }
    // Denies for everyone apply even to a principal that no record names.
    const principal = this.policy.principals.find(principalId) ?? new PrincipalNode(principalId)
    const denial = this.#decidingDenial(principal, wanted, scopeNode, at)
    if (denial !== undefined) {
      return { allowed: false, reason: 'DeniedByAssignment', decidedBy: describeDenial(denial, principal) }
    }
    const grant = this.#decidingGrant(principal, wanted, scopeNode, at)
    if (grant !== undefined) {
      return { allowed: true, reason: 'AllowedByAssignment', decidedBy: describeGrant(grant, principal) }
    }
    const trust = this.#trustFor(principal, wanted, scopeNode, at)
    if (trust !== undefined)
      return { allowed: true, reason: 'AllowedByTrust', decidedBy: describeTrust(trust, scopeNode) }
    return { allowed: false, reason: wanted.definition?.isRoot ? 'RootOnly' : 'NoAssignment' }
  }

  /** Returns every action of the interface that the principal holds at the scope, in the order of ACTIONS. */
  permissionsAt(principalId: string, scope: string, at: number): ActionName[] {
    const principal = this.policy.principals.find(principalId)
    const scopeNode = this.policy.scopes.locate(scope)
    if (principal === undefined || scopeNode === undefined) return []
    const held = this.#heldByAssignment(principal, scopeNode, at)
    for (const { trust, trusted } of this.#trustsInto(scopeNode, at)) {
      const throughTrust = this.#heldByAssignment(principal, trusted, at)
      subtract(throughTrust, this.#denied(principal, trusted, at))
      intersect(throughTrust, trust.actions)
      unite(held, throughTrust)
    }
    subtract(held, this.#denied(principal, scopeNode, at))
    return actionNames(held)
  }

  /** Returns where the principal holds the action. Lists over many scopes filter by it. */
  scopesWith(principalId: string, action: string, at: number): ScopesOfAction {
    const principal = this.policy.principals.find(principalId)
    const wanted = wantedAction(action)
    if (principal === undefined || wanted === undefined) return { granted: [], denied: [] }
    const denied = new Set<ScopeNode>()
    for (const denial of this.#denialsOf(principal, at)) if (denies(denial, wanted, at)) denied.add(denial.scope)
    const granted = new Set<ScopeNode>()
    for (const subject of withGroups(principal)) {
      for (const head of subject.grants?.values() ?? []) if (firstPermitting(head, wanted, at)) granted.add(head.scope)
    }
    for (const trust of this.policy.trusts()) {
      for (const { granting, trusted } of trust.directions) {
        if (this.#holdsByTrust(principal, trust, trusted, wanted, at)) granted.add(granting)
      }
    }
    const open = [...granted].filter((scope) => !isWithin(scope, denied) && !isBelow(scope, granted))
    const closed = [...denied].filter((scope) => isBelow(scope, granted) && !isBelow(scope, denied))
    return { granted: open.map(scopeText), denied: closed.map(scopeText) }
  }

  /** Returns the boundaries that the assignments of the principal and its groups reach. */
  boundariesOf(principalId: string, at: number): BoundariesOfPrincipal {
    const principal = this.policy.principals.find(principalId)
    const boundaryIds = new Set<string>()
    let everywhere = false
    for (const subject of principal === undefined ? [] : withGroups(principal)) {
      for (const head of subject.grants?.values() ?? []) {
        if (!anyGrantInEffect(head, at)) continue
        const boundary = ancestorAt(head.scope, 1)
        if (boundary === undefined) everywhere = true
        else boundaryIds.add(boundary.segment)
      }
    }
    return { everywhere, boundaryIds: [...boundaryIds] }
  }

  /** Returns the display names of the roles that the principal or one of its groups has at exactly this scope. */
  rolesAt(principalId: string, scope: string, at: number): string[] {
    const principal = this.policy.principals.find(principalId)
    const node = this.policy.scopes.find(scope)
    if (principal === undefined || node === undefined) return []
    const names = new Set<string>()
    for (const subject of withGroups(principal)) {
      for (let grant = subject.grants?.get(node); grant !== undefined; grant = grant.next) {
        if (isGrantInEffect(grant, at)) names.add(grant.role.displayName)
      }
    }
    return [...names]
  }

  /**
   * Returns whether the principal may grant these permissions at the scope. It must itself hold every action there and
   * everywhere below: otherwise it could evade a deny below the scope by granting to a second account. Only assignments
   * count, because a borrower may not pass on what a trust lends.
   */
  holdsAll(principalId: string, permissions: Permissions, scope: string, at: number): boolean {
    const principal = this.policy.principals.find(principalId)
    const scopeNode = this.policy.scopes.locate(scope)
    if (principal === undefined || scopeNode === undefined) return false
    const wanted = compilePermissions(permissions)
    const held = this.#heldByAssignment(principal, scopeNode, at)
    subtract(held, this.#denied(principal, scopeNode, at))
    const below = this.#denialsBelow(principal, scope, at)
    for (const denial of below) subtract(held, denial.permissions.atRoot)
    if (!isSubset(parseScope(scope)?.level === 'root' ? wanted.atRoot : wanted.belowRoot, held)) return false
    return openActionWitnesses([wanted, ...this.#permissionsNear(principal, at)]).every(
      (action) => !coversOpenAction(wanted, action) || this.#holdsOpenAction(principal, action, scopeNode, below, at),
    )
  }

  #holdsOpenAction(
    principal: PrincipalNode,
    name: string,
    scopeNode: ScopeNode,
    below: readonly Denial[],
    at: number,
  ): boolean {
    const wanted: WantedAction = { definition: undefined, name }
    if (below.some((denial) => denies(denial, wanted, at))) return false
    return (
      this.#grantedByAssignment(principal, wanted, scopeNode, at) && !this.#isDenied(principal, wanted, scopeNode, at)
    )
  }

  #grantedByAssignment(principal: PrincipalNode, wanted: WantedAction, scopeNode: ScopeNode, at: number): boolean {
    const { boundaryFilter } = this.policy
    if (grantsAtRoot(principal, wanted, at)) return true
    if (
      boundaryFilter.mayHold(principal.number, scopeNode.boundary) &&
      grantsBelowRoot(principal, wanted, scopeNode, at)
    )
      return true
    const { groups, numbers, atRoot } = closureOf(principal)
    for (let index = 0; index < atRoot.length; index += 1) {
      const group = atRoot[index]
      if (group !== undefined && grantsAtRoot(group, wanted, at)) return true
    }
    for (let index = 0; index < numbers.length; index += 1) {
      if (!boundaryFilter.mayHold(numbers[index] ?? 0, scopeNode.boundary)) continue
      const group = groups[index]
      if (group !== undefined && grantsBelowRoot(group, wanted, scopeNode, at)) return true
    }
    return false
  }

  #isDenied(principal: PrincipalNode, wanted: WantedAction, scopeNode: ScopeNode, at: number): boolean {
    if (subjectDenies(this.policy.everyone, principal, wanted, scopeNode, at)) return true
    if (subjectDenies(principal, principal, wanted, scopeNode, at)) return true
    const { denied } = closureOf(principal)
    for (let index = 0; index < denied.length; index += 1) {
      const group = denied[index]
      if (group !== undefined && subjectDenies(group, principal, wanted, scopeNode, at)) return true
    }
    return false
  }

  #decidingGrant(principal: PrincipalNode, wanted: WantedAction, scopeNode: ScopeNode, at: number): Grant | undefined {
    const found: Grant[] = []
    for (const subject of withGroups(principal)) {
      for (const grant of walkUpwards(subject.grants, scopeNode)) if (permits(grant, wanted, at)) found.push(grant)
    }
    return found.sort(widestFirst(principal))[0]
  }

  #decidingDenial(
    principal: PrincipalNode,
    wanted: WantedAction,
    scopeNode: ScopeNode,
    at: number,
  ): Denial | undefined {
    const found = this.#denialsAbove(principal, scopeNode, at).filter((denial) => denies(denial, wanted, at))
    return found.sort(widestFirst(principal))[0]
  }

  /** Returns the trust that lends the principal the action at this place. A trust lends in the whole boundary. */
  #trustFor(principal: PrincipalNode, wanted: WantedAction, scopeNode: ScopeNode, at: number): TrustEntry | undefined {
    for (const { trust, trusted } of this.#trustsInto(scopeNode, at)) {
      if (this.#holdsByTrust(principal, trust, trusted, wanted, at)) return trust
    }
    return undefined
  }

  *#trustsInto(scopeNode: ScopeNode, at: number): Generator<{ trust: TrustEntry; trusted: ScopeNode }> {
    if (!this.policy.hasTrusts) return
    const boundary = ancestorAt(scopeNode, 1)
    for (const trust of this.policy.trusts()) {
      if (!(at < trust.expiresAt)) continue
      for (const { granting, trusted } of trust.directions) if (granting === boundary) yield { trust, trusted }
    }
  }

  #holdsByTrust(
    principal: PrincipalNode,
    trust: TrustEntry,
    trusted: ScopeNode,
    wanted: WantedAction,
    at: number,
  ): boolean {
    if (!(at < trust.expiresAt)) return false
    const isLent =
      wanted.definition === undefined
        ? trust.openActions.has(wanted.name)
        : hasAction(trust.actions, wanted.definition.index)
    if (!isLent || !this.#grantedByAssignment(principal, wanted, trusted, at)) return false
    return !this.#isDenied(principal, wanted, trusted, at)
  }

  #heldByAssignment(principal: PrincipalNode, scopeNode: ScopeNode, at: number): ActionSet {
    const held = emptyActionSet()
    for (const subject of withGroups(principal)) {
      for (const grant of walkUpwards(subject.grants, scopeNode))
        if (isGrantInEffect(grant, at)) unite(held, grantedSet(grant))
    }
    return held
  }

  #denied(principal: PrincipalNode, scopeNode: ScopeNode, at: number): ActionSet {
    const denied = emptyActionSet()
    for (const denial of this.#denialsAbove(principal, scopeNode, at))
      if (at < denial.expiresAt) unite(denied, denial.permissions.atRoot)
    return denied
  }

  /** Yields the denies that apply to the principal, at any scope. */
  *#denialsOf(principal: PrincipalNode, at: number): Generator<Denial> {
    for (const subject of [this.policy.everyone, ...withGroups(principal)]) {
      for (const head of subject.denials?.values() ?? []) {
        for (let denial: Denial | undefined = head; denial !== undefined; denial = denial.next) {
          if (!isExcluded(denial, principal, at)) yield denial
        }
      }
    }
  }

  #denialsAbove(principal: PrincipalNode, scopeNode: ScopeNode, at: number): Denial[] {
    const subjects = [this.policy.everyone, ...withGroups(principal)]
    const above = subjects.flatMap((subject) => [...walkUpwards(subject.denials, scopeNode)])
    return above.filter((denial) => !isExcluded(denial, principal, at))
  }

  #denialsBelow(principal: PrincipalNode, scope: string, at: number): Denial[] {
    const node = this.policy.scopes.find(scope)
    if (node === undefined) return []
    const all = this.#denialsOf(principal, at)
    return [...all].filter((denial) => denial.scope !== node && node.contains(denial.scope) && at < denial.expiresAt)
  }

  /** Returns all permissions whose patterns can distinguish open actions for this principal. */
  #permissionsNear(principal: PrincipalNode, at: number): CompiledPermissions[] {
    const permissions = new Set<CompiledPermissions>()
    for (const subject of withGroups(principal)) {
      for (const head of subject.grants?.values() ?? []) {
        for (let grant: Grant | undefined = head; grant !== undefined; grant = grant.next)
          permissions.add(grant.role.permissions)
      }
    }
    for (const denial of this.#denialsOf(principal, at)) permissions.add(denial.permissions)
    return [...permissions]
  }
}
