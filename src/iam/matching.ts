import { type ActionDefinition, findAction, isOpenAction } from '../core/actions.ts'
import { type ActionSet, coversOpenAction, hasAction } from './permissions.ts'
import { type Denial, type Grant, groupsOf, type PrincipalNode, scopeBit } from './principals.ts'
import type { ScopeNode } from './scopeTree.ts'

/** What is asked about: an action of the interface, or one below an open prefix. */
export type Wanted = { readonly known: ActionDefinition | undefined; readonly name: string }

export function wantedAction(name: string): Wanted | undefined {
  const known = findAction(name)
  return known !== undefined || isOpenAction(name) ? { known, name } : undefined
}

/** By an assignment at the root, which every question asks about. */
export function grantsAtRoot({ rootGrants }: PrincipalNode, wanted: Wanted, at: number): boolean {
  return rootGrants !== undefined && firstPermitting(rootGrants, wanted, at)
}

/** By an assignment at the place or above it, below the root. */
export function grantsBelowRoot(subject: PrincipalNode, wanted: Wanted, place: ScopeNode, at: number): boolean {
  for (let node: ScopeNode = place; node.parent !== undefined; node = node.parent) {
    if ((subject.grantedScopes & scopeBit(node)) === 0) continue
    const head = subject.grants?.get(node)
    if (head !== undefined && firstPermitting(head, wanted, at)) return true
  }
  return false
}

export function subjectDenies(
  subject: PrincipalNode,
  asker: PrincipalNode,
  wanted: Wanted,
  place: ScopeNode,
  at: number,
): boolean {
  if (subject.denials === undefined) return false
  for (let node: ScopeNode | undefined = place; node !== undefined; node = node.parent) {
    if (node.denials === 0) continue
    for (let denial = subject.denials.get(node); denial !== undefined; denial = denial.next) {
      if (denies(denial, wanted, at) && !isExcluded(denial, asker, at)) return true
    }
  }
  return false
}

export function firstPermitting(head: Grant, wanted: Wanted, at: number): boolean {
  for (let grant: Grant | undefined = head; grant !== undefined; grant = grant.next)
    if (permits(grant, wanted, at)) return true
  return false
}

/** An assignment counts before it expires, and where its role may be assigned at all. */
export function counts(grant: Grant, at: number): boolean {
  if (grant.expiresAt !== undefined && !(at < grant.expiresAt)) return false
  return grant.scope.parent === undefined ? grant.role.assignableAtRoot : grant.role.assignableBelowRoot
}

export function anyCounts(head: Grant, at: number): boolean {
  for (let grant: Grant | undefined = head; grant !== undefined; grant = grant.next) {
    if (counts(grant, at) && grant.role.holder !== undefined) return true
  }
  return false
}

export function grantedSet(grant: Grant): ActionSet {
  return grant.scope.parent === undefined ? grant.role.permissions.atRoot : grant.role.permissions.belowRoot
}

export function permits(grant: Grant, wanted: Wanted, at: number): boolean {
  if (!counts(grant, at)) return false
  if (wanted.known === undefined) return coversOpenAction(grant.role.permissions, wanted.name)
  return hasAction(grantedSet(grant), wanted.known.index)
}

export function denies(denial: Denial, wanted: Wanted, at: number): boolean {
  if (!(at < denial.expiresAt)) return false
  if (wanted.known === undefined) return coversOpenAction(denial.permissions, wanted.name)
  return hasAction(denial.permissions.atRoot, wanted.known.index)
}

const OWNER = 'Owner'

/** Owners at the root, by an assignment of their own or of a group. */
function isRootOwner(principal: PrincipalNode, at: number): boolean {
  return withGroups(principal).some((subject) => {
    for (let grant = subject.rootGrants; grant !== undefined; grant = grant.next) {
      if (grant.role.displayName === OWNER && counts(grant, at)) return true
    }
    return false
  })
}

/**
 * A deny spares a principal that it excludes by name or by one of its groups. One below the root spares Owners of the
 * platform too, also where they became that later: no tenant locks out who runs it.
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

/** The records at a place and above it. */
export function* upwards<Self extends { next: Self | undefined }>(
  index: ReadonlyMap<ScopeNode, Self> | undefined,
  place: ScopeNode,
): Generator<Self> {
  if (index === undefined) return
  for (let node: ScopeNode | undefined = place; node !== undefined; node = node.parent) {
    for (let entry = index.get(node); entry !== undefined; entry = entry.next) yield entry
  }
}

export function ancestorAt(place: ScopeNode, depth: number): ScopeNode | undefined {
  let node: ScopeNode | undefined = place
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
