import { type ActionDefinition, findAction, isOpenAction } from '../core/actions.ts'
import { type ActionSet, coversOpenAction, hasAction } from './permissions.ts'
import { type Denial, type Grant, groupsOf, type PrincipalNode, scopeBit } from './principals.ts'
import type { ScopeNode } from './scopeTree.ts'

/** The action that a question is about: one of the interface, or one below an open prefix. */
export type WantedAction = { readonly definition: ActionDefinition | undefined; readonly name: string }

export function wantedAction(name: string): WantedAction | undefined {
  const definition = findAction(name)
  return definition !== undefined || isOpenAction(name) ? { definition, name } : undefined
}

/** Grants by an assignment at the root, which every decision checks. */
export function grantsAtRoot({ rootGrants }: PrincipalNode, wanted: WantedAction, at: number): boolean {
  return rootGrants !== undefined && firstPermitting(rootGrants, wanted, at)
}

/** Grants by an assignment at the place or above it, but below the root. */
export function grantsBelowRoot(
  subject: PrincipalNode,
  wanted: WantedAction,
  scopeNode: ScopeNode,
  at: number,
): boolean {
  for (let node: ScopeNode = scopeNode; node.parent !== undefined; node = node.parent) {
    if ((subject.grantedScopes & scopeBit(node)) === 0) continue
    const head = subject.grants?.get(node)
    if (head !== undefined && firstPermitting(head, wanted, at)) return true
  }
  return false
}

export function subjectDenies(
  subject: PrincipalNode,
  principal: PrincipalNode,
  wanted: WantedAction,
  scopeNode: ScopeNode,
  at: number,
): boolean {
  if (subject.denials === undefined) return false
  for (let node: ScopeNode | undefined = scopeNode; node !== undefined; node = node.parent) {
    if (node.denials === 0) continue
    for (let denial = subject.denials.get(node); denial !== undefined; denial = denial.next) {
      if (denies(denial, wanted, at) && !isExcluded(denial, principal, at)) return true
    }
  }
  return false
}

export function firstPermitting(head: Grant, wanted: WantedAction, at: number): boolean {
  for (let grant: Grant | undefined = head; grant !== undefined; grant = grant.next)
    if (permits(grant, wanted, at)) return true
  return false
}

/** Returns whether an assignment is in effect: not expired, and of a role that exists and may be assigned at such a scope. */
export function isGrantInEffect(grant: Grant, at: number): boolean {
  if (grant.expiresAt !== undefined && !(at < grant.expiresAt)) return false
  return grant.scope.parent === undefined ? grant.role.assignableAtRoot : grant.role.assignableBelowRoot
}

export function anyGrantInEffect(head: Grant, at: number): boolean {
  for (let grant: Grant | undefined = head; grant !== undefined; grant = grant.next) {
    if (isGrantInEffect(grant, at)) return true
  }
  return false
}

export function grantedSet(grant: Grant): ActionSet {
  return grant.scope.parent === undefined ? grant.role.permissions.atRoot : grant.role.permissions.belowRoot
}

export function permits(grant: Grant, wanted: WantedAction, at: number): boolean {
  if (!isGrantInEffect(grant, at)) return false
  if (wanted.definition === undefined) return coversOpenAction(grant.role.permissions, wanted.name)
  return hasAction(grantedSet(grant), wanted.definition.index)
}

export function denies(denial: Denial, wanted: WantedAction, at: number): boolean {
  if (!(at < denial.expiresAt)) return false
  if (wanted.definition === undefined) return coversOpenAction(denial.permissions, wanted.name)
  return hasAction(denial.permissions.atRoot, wanted.definition.index)
}

const OWNER = 'Owner'

/** Returns whether the principal is Owner at the root, directly or through a group. */
function isRootOwner(principal: PrincipalNode, at: number): boolean {
  return withGroups(principal).some((subject) => {
    for (let grant = subject.rootGrants; grant !== undefined; grant = grant.next) {
      if (grant.role.displayName === OWNER && isGrantInEffect(grant, at)) return true
    }
    return false
  })
}

/**
 * Returns whether the deny exempts the principal or one of its groups. A deny below the root never applies to Owners at
 * the root, even if they became that later, so that no tenant can lock out the people who run the platform.
 */
export function isExcluded(denial: Denial, principal: PrincipalNode, at: number): boolean {
  const { excluded } = denial
  if (denial.scope.parent !== undefined && isRootOwner(principal, at)) return true
  if (excluded === undefined) return false
  return excluded.has(principal.id) || groupsOf(principal).some((group) => excluded.has(group.id))
}

export function withGroups(principal: PrincipalNode): PrincipalNode[] {
  return [principal, ...groupsOf(principal)]
}

/** Yields the records at a place and above it. */
export function* walkUpwards<Self extends { next: Self | undefined }>(
  index: ReadonlyMap<ScopeNode, Self> | undefined,
  scopeNode: ScopeNode,
): Generator<Self> {
  if (index === undefined) return
  for (let node: ScopeNode | undefined = scopeNode; node !== undefined; node = node.parent) {
    for (let entry = index.get(node); entry !== undefined; entry = entry.next) yield entry
  }
}

export function ancestorAt(scopeNode: ScopeNode, depth: number): ScopeNode | undefined {
  let node: ScopeNode | undefined = scopeNode
  while (node !== undefined && node.depth > depth) node = node.parent
  return node?.depth === depth ? node : undefined
}

export function isWithin(scope: ScopeNode, scopes: ReadonlySet<ScopeNode>): boolean {
  return scopes.has(scope) || isBelow(scope, scopes)
}

export function isBelow(scope: ScopeNode, scopes: ReadonlySet<ScopeNode>): boolean {
  for (let node = scope.parent; node !== undefined; node = node.parent) if (scopes.has(node)) return true
  return false
}
