import type { CompiledPermissions } from './permissions.ts'
import type { PrincipalGroup } from './records.ts'
import type { ScopeNode } from './scopeTree.ts'

/** A role as assignments see it; it stays the same object while its definition changes. */
export type RoleEntry = {
  /** Under which the index holds it: of a display name, or of one life of the role that has it. */
  readonly key: string
  readonly displayName: string
  /** Name of the definition that holds the display name now; undefined while there is none. */
  holder: string | undefined
  permissions: CompiledPermissions
  assignableAtRoot: boolean
  assignableBelowRoot: boolean
  uses: number
}

/**
 * An assignment in the index. Those of one principal at one scope form a list through `next`: nearly every list holds
 * one, and an array for each would cost more memory than the assignment.
 */
export type Grant = {
  readonly id: string
  readonly principal: PrincipalNode
  readonly role: RoleEntry
  readonly scope: ScopeNode
  /** Undefined for those that never end: nearly all, and a number of its own for each would be one more look. */
  readonly expiresAt: number | undefined
  readonly jitRequestId: string | undefined
  next: Grant | undefined
}

/** A deny in the index, in a list like that of grants. */
export type Denial = {
  readonly id: string
  readonly principal: PrincipalNode
  readonly permissions: CompiledPermissions
  readonly scope: ScopeNode
  readonly expiresAt: number
  readonly excluded: ReadonlySet<string> | undefined
  next: Denial | undefined
}

/**
 * Every group that holds a principal, however deep, and of them what most decisions ask, close together: each group that
 * is looked at itself waits for the memory.
 */
export type Closure = {
  readonly groups: readonly PrincipalNode[]
  /** Of each of the groups. */
  readonly numbers: readonly number[]
  /** Those that have assignments at the root. */
  readonly atRoot: readonly PrincipalNode[]
  /** Those that denies name, and perhaps some that no deny names any more. */
  readonly denied: readonly PrincipalNode[]
}

/** A person, service principal or group with all that names it. */
export class PrincipalNode {
  readonly id: string
  grants: Map<ScopeNode, Grant> | undefined = undefined
  /** Of its grants those at the root, which every question asks about. */
  rootGrants: Grant | undefined = undefined
  /** One of 32 bits for each scope that its assignments name, or have named: spares most looks into the map. */
  grantedScopes = 0
  denials: Map<ScopeNode, Denial> | undefined = undefined
  /** No other principal of the policy has it. */
  readonly number: number
  /** The groups that list it. */
  parents: Set<PrincipalNode> | undefined = undefined
  members: Set<PrincipalNode> | undefined = undefined
  /** Undefined until asked for again after a change. */
  closure: Closure | undefined = undefined

  constructor(id: string, number = 0) {
    this.id = id
    this.number = number
  }
}

type Entry<Self> = { readonly scope: ScopeNode; next: Self | undefined }

/** Puts a record at the head of its scope's list. */
function link<Self extends Entry<Self>>(index: Map<ScopeNode, Self>, entry: Self): void {
  entry.next = index.get(entry.scope)
  index.set(entry.scope, entry)
}

/** Takes a record out of its scope's list. */
function unlink<Self extends Entry<Self>>(index: Map<ScopeNode, Self>, entry: Self): void {
  const head = index.get(entry.scope)
  if (head === entry) {
    if (entry.next === undefined) index.delete(entry.scope)
    else index.set(entry.scope, entry.next)
  } else {
    let before = head
    while (before !== undefined && before.next !== entry) before = before.next
    if (before !== undefined) before.next = entry.next
  }
  entry.next = undefined
}

/** An assignment comes into the index of its principal. */
export function linkGrant(grant: Grant): void {
  const { principal, scope } = grant
  principal.grants ??= new Map()
  link(principal.grants, grant)
  principal.grantedScopes |= scopeBit(scope)
  if (scope.parent !== undefined) return
  if (principal.rootGrants === undefined) forgetClosures(principal)
  principal.rootGrants = grant
}

export function unlinkGrant(grant: Grant): void {
  const { principal, scope } = grant
  if (principal.grants === undefined) return
  unlink(principal.grants, grant)
  if (scope.parent === undefined) principal.rootGrants = principal.grants.get(scope)
}

/** A deny comes into the index of its principal. */
export function linkDenial(denial: Denial): void {
  if (denial.principal.denials === undefined) forgetClosures(denial.principal)
  denial.principal.denials ??= new Map()
  link(denial.principal.denials, denial)
  denial.scope.denials += 1
}

export function unlinkDenial(denial: Denial): void {
  if (denial.principal.denials !== undefined) unlink(denial.principal.denials, denial)
  denial.scope.denials -= 1
}

export function scopeBit({ number }: ScopeNode): number {
  return 1 << (number & 31)
}

/** Principals by id, with groups in groups to any depth. Principals that nothing names any more are forgotten. */
export class PrincipalIndex {
  readonly #nodes = new Map<string, PrincipalNode>()
  #made = 0

  get size(): number {
    return this.#nodes.size
  }

  find(id: string): PrincipalNode | undefined {
    return this.#nodes.get(id)
  }

  ensure(id: string): PrincipalNode {
    let node = this.#nodes.get(id)
    if (node === undefined) {
      this.#made += 1
      node = new PrincipalNode(id, this.#made)
      this.#nodes.set(id, node)
    }
    return node
  }

  forgetIfUnused(node: PrincipalNode): void {
    if (node.grants?.size === 0) node.grants = undefined
    if (node.denials?.size === 0) node.denials = undefined
    if (node.parents?.size === 0) node.parents = undefined
    if (node.members?.size === 0) node.members = undefined
    if ((node.grants ?? node.denials ?? node.parents ?? node.members) === undefined) this.#nodes.delete(node.id)
  }

  /** Replaces the members of a group; an empty list removes it. Costs as much as the members that came or went. */
  setMembers(group: PrincipalGroup): void {
    const node = this.ensure(group.id)
    const wanted = new Set(group.memberIds)
    for (const member of node.members ?? []) {
      if (wanted.delete(member.id)) continue
      forgetClosures(member)
      node.members?.delete(member)
      member.parents?.delete(node)
      if (member !== node) this.forgetIfUnused(member)
    }
    for (const id of wanted) {
      const member = this.ensure(id)
      node.members ??= new Set()
      node.members.add(member)
      member.parents ??= new Set()
      member.parents.add(node)
      forgetClosures(member)
    }
    this.forgetIfUnused(node)
  }
}

const NO_GROUPS: readonly PrincipalNode[] = []
const NO_CLOSURE: Closure = { groups: NO_GROUPS, numbers: [], atRoot: NO_GROUPS, denied: NO_GROUPS }

/** Every group that holds the principal, directly or through groups. A loop of groups ends where it meets itself. */
export function closureOf(node: PrincipalNode): Closure {
  if (node.parents === undefined) return NO_CLOSURE
  if (node.closure !== undefined) return node.closure
  const seen = new Set([node])
  for (const next of seen) for (const parent of next.parents ?? NO_GROUPS) seen.add(parent)
  seen.delete(node)
  const groups = [...seen]
  const those = (is: (group: PrincipalNode) => boolean) => (groups.some(is) ? groups.filter(is) : NO_GROUPS)
  node.closure = {
    groups,
    numbers: groups.map(({ number }) => number),
    atRoot: those(({ rootGrants }) => rootGrants !== undefined),
    denied: those(({ denials }) => denials !== undefined),
  }
  return node.closure
}

export function groupsOf(node: PrincipalNode): readonly PrincipalNode[] {
  return closureOf(node).groups
}

/** Whoever is below a change must look its groups up again. */
function forgetClosures(member: PrincipalNode): void {
  const below = new Set([member])
  for (const node of below) {
    node.closure = undefined
    for (const next of node.members ?? NO_GROUPS) below.add(next)
  }
}
