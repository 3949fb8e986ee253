import type { CompiledPermissions } from './permissions.ts'
import type { PrincipalGroup } from './records.ts'
import type { ScopeNode } from './scopeTree.ts'

/** A role as assignments refer to it. The object stays the same when the definition changes. */
export type RoleEntry = {
  /** The key in the index: the display name, alone or with an incarnation. */
  readonly key: string
  readonly displayName: string
  /** The name of the definition that has the display name now; undefined if there is none. */
  holder: string | undefined
  permissions: CompiledPermissions
  assignableAtRoot: boolean
  assignableBelowRoot: boolean
  uses: number
}

/**
 * An assignment in the index. Those of one principal at one scope form a linked list through `next`: nearly every list
 * has one element, and an array for each would cost more memory than the assignment.
 */
export type Grant = {
  readonly id: string
  readonly principal: PrincipalNode
  readonly role: RoleEntry
  readonly scope: ScopeNode
  /** Undefined if it never expires, as nearly all: a stored number would cost another memory access. */
  readonly expiresAt: number | undefined
  readonly jitRequestId: string | undefined
  next: Grant | undefined
}

/** A deny in the index, in a linked list like that of `Grant`. */
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
 * All direct and indirect groups of a principal, with the data that most decisions need stored contiguously: each
 * access to a group itself is likely to miss the CPU cache.
 */
export type GroupClosure = {
  readonly groups: readonly PrincipalNode[]
  /** The number of each group, in the same order. */
  readonly numbers: readonly number[]
  /** The groups that have assignments at the root. */
  readonly atRoot: readonly PrincipalNode[]
  /** The groups that denies name. May include groups that no deny names any more. */
  readonly denied: readonly PrincipalNode[]
}

/** A person, service principal or group with all records that name it. */
export class PrincipalNode {
  readonly id: string
  grants: Map<ScopeNode, Grant> | undefined = undefined
  /** The grants at the root, which every decision checks. */
  rootGrants: Grant | undefined = undefined
  /** A bit mask of the scopes that its assignments name or have named. It saves most map lookups. */
  grantedScopes = 0
  denials: Map<ScopeNode, Denial> | undefined = undefined
  /** Unique among the principals of the policy. */
  readonly number: number
  /** The groups that list it as a member. */
  parents: Set<PrincipalNode> | undefined = undefined
  members: Set<PrincipalNode> | undefined = undefined
  /** Undefined until it is computed again after a change. */
  closure: GroupClosure | undefined = undefined

  constructor(id: string, number = 0) {
    this.id = id
    this.number = number
  }
}

type Entry<Self> = { readonly scope: ScopeNode; next: Self | undefined }

/** Inserts a record at the head of the list of its scope. */
function link<Self extends Entry<Self>>(index: Map<ScopeNode, Self>, entry: Self): void {
  entry.next = index.get(entry.scope)
  index.set(entry.scope, entry)
}

/** Removes a record from the list of its scope. */
function unlink<Self extends Entry<Self>>(index: Map<ScopeNode, Self>, entry: Self): void {
  const head = index.get(entry.scope)
  if (head === entry) {
    if (entry.next === undefined) index.delete(entry.scope)
    else index.set(entry.scope, entry.next)
  } else {
    let previous = head
    while (previous !== undefined && previous.next !== entry) previous = previous.next
    if (previous !== undefined) previous.next = entry.next
  }
  entry.next = undefined
}

/** Adds an assignment to the index of its principal. */
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

/** Adds a deny to the index of its principal. */
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

/** Principals by id, with groups nested to any depth. Principals that nothing refers to are removed. */
export class PrincipalIndex {
  readonly #nodes = new Map<string, PrincipalNode>()
  #lastNumber = 0

  get size(): number {
    return this.#nodes.size
  }

  find(id: string): PrincipalNode | undefined {
    return this.#nodes.get(id)
  }

  ensure(id: string): PrincipalNode {
    let node = this.#nodes.get(id)
    if (node === undefined) {
      this.#lastNumber += 1
      node = new PrincipalNode(id, this.#lastNumber)
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

  /** Replaces the members of a group; an empty list removes it. Takes time linear in both lists. */
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
const NO_CLOSURE: GroupClosure = { groups: NO_GROUPS, numbers: [], atRoot: NO_GROUPS, denied: NO_GROUPS }

/** Returns all direct and indirect groups of the principal. Cycles are safe. */
export function closureOf(node: PrincipalNode): GroupClosure {
  if (node.parents === undefined) return NO_CLOSURE
  if (node.closure !== undefined) return node.closure
  const visited = new Set([node])
  for (const next of visited) for (const parent of next.parents ?? NO_GROUPS) visited.add(parent)
  visited.delete(node)
  const groups = [...visited]
  const groupsWith = (is: (group: PrincipalNode) => boolean) => (groups.some(is) ? groups.filter(is) : NO_GROUPS)
  node.closure = {
    groups,
    numbers: groups.map(({ number }) => number),
    atRoot: groupsWith(({ rootGrants }) => rootGrants !== undefined),
    denied: groupsWith(({ denials }) => denials !== undefined),
  }
  return node.closure
}

export function groupsOf(node: PrincipalNode): readonly PrincipalNode[] {
  return closureOf(node).groups
}

/** Invalidates the cached closures of the member and of everything below it. */
function forgetClosures(member: PrincipalNode): void {
  const below = new Set([member])
  for (const node of below) {
    node.closure = undefined
    for (const next of node.members ?? NO_GROUPS) below.add(next)
  }
}
