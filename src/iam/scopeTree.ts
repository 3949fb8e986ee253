import { isRestOfScope, parseScope, scopeSegments } from '../core/scope.ts'

/** A scope that a record names, or an ancestor of one. Nodes are compared by identity, never by text. */
export class ScopeNode {
  readonly parent: ScopeNode | undefined
  readonly segment: string
  readonly depth: number
  children: Map<string, ScopeNode> | undefined = undefined
  /** The number of records that name exactly this scope. */
  uses = 0
  /** How many of these are denies. */
  denials = 0
  /** Unique in the tree. */
  readonly number: number
  /** The number of the boundary that the node is or lies in; for the root, its own number. */
  readonly boundary: number

  constructor(parent: ScopeNode | undefined, segment: string, number: number) {
    this.parent = parent
    this.segment = segment
    this.number = number
    this.boundary = parent?.parent === undefined ? number : parent.boundary
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  /** Returns true if `other` is this scope or lies below it. */
  contains(other: ScopeNode): boolean {
    let node: ScopeNode | undefined = other
    while (node !== undefined && node.depth > this.depth) node = node.parent
    return node === this
  }
}

/** How many texts are cached in addition to one for each node: about 3 MB at most. */
const CACHED_TEXTS_MAX = 16_384

const KEYWORDS = ['', '/boundaries/', '/resourcegroups/', '/resources/'] as const
const BOUNDARY_START = KEYWORDS[1].length
const BOUNDARY_END = BOUNDARY_START + 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'.length
const GROUP_START = BOUNDARY_END + KEYWORDS[2].length

export function scopeText(node: ScopeNode): string {
  if (node.parent === undefined) return '/'
  const above = node.parent.parent === undefined ? '' : scopeText(node.parent)
  return `${above}${KEYWORDS[node.depth]}${node.segment}`
}

/** The scopes that records name. The tree shrinks with the records; lookups of other scopes add no nodes. */
export class ScopeTree {
  readonly root = new ScopeNode(undefined, '', 0)
  readonly #located = new Map<string, ScopeNode>()
  #lastNumber = 0
  /** The number of nodes without the root. */
  #count = 0

  /** Returns the node of a scope, created if needed and held until `release`. Throws RangeError if invalid. */
  retain(text: string): ScopeNode {
    const scope = parseScope(text)
    if (scope === undefined) {
      throw new RangeError(
        `${JSON.stringify(String(text).slice(0, 200))} is not a scope: write it as /boundaries/<uuid>/….`,
      )
    }
    let node = this.root
    for (const segment of scopeSegments(scope)) {
      let child = node.children?.get(segment)
      if (child === undefined) {
        // A slice would keep the whole text in memory, so copy it.
        const key = Buffer.from(segment, 'latin1').toString('latin1')
        this.#lastNumber += 1
        this.#count += 1
        child = new ScopeNode(node, key, this.#lastNumber)
        this.#forget()
        node.children ??= new Map()
        node.children.set(key, child)
      }
      node = child
    }
    node.uses += 1
    return node
  }

  release(node: ScopeNode): void {
    node.uses -= 1
    let empty = node
    while (empty.parent !== undefined && empty.uses === 0 && empty.children === undefined) {
      const { parent } = empty
      parent.children?.delete(empty.segment)
      this.#count -= 1
      this.#forget()
      if (parent.children?.size === 0) parent.children = undefined
      empty = parent
    }
  }

  /**
   * Returns the deepest node that is the scope or contains it, because only this node and its ancestors matter to a
   * decision. Undefined for an invalid scope. Runs for every decision, so texts are cached until the tree changes: one
   * lookup instead of three.
   */
  locate(text: string): ScopeNode | undefined {
    const known = this.#located.get(text)
    if (known !== undefined) return known
    const node = this.#follow(text)
    if (node !== undefined) this.#remember(text, node)
    return node
  }

  /**
   * Caches valid scopes only, of which the longest has 260 characters, so that callers cannot fill the memory. There is
   * room for every node: otherwise a scan of all scopes of a large platform would always miss.
   */
  #remember(text: string, node: ScopeNode): void {
    if (this.#located.size >= CACHED_TEXTS_MAX + this.#count) this.#located.clear()
    // A slice of a request would keep the whole request in memory, so copy it.
    this.#located.set(Buffer.from(text, 'latin1').toString('latin1'), node)
  }

  #forget(): void {
    if (this.#located.size > 0) this.#located.clear()
  }

  /** Follows the text through the tree and parses only what is not in it: the rest was validated when added. */
  #follow(text: string): ScopeNode | undefined {
    const { root } = this
    if (text === '/') return root
    if (typeof text !== 'string' || !text.startsWith(KEYWORDS[1])) return undefined
    const boundary = root.children?.get(text.slice(BOUNDARY_START, BOUNDARY_END))
    if (boundary === undefined) return ifRest(text, 0, 0, root)
    if (text.length === BOUNDARY_END) return boundary
    if (!text.startsWith(KEYWORDS[2], BOUNDARY_END)) return undefined
    const groupEnd = text.indexOf('/', GROUP_START)
    const group = boundary.children?.get(groupEnd < 0 ? text.slice(GROUP_START) : text.slice(GROUP_START, groupEnd))
    if (group === undefined) return ifRest(text, 1, BOUNDARY_END, boundary)
    if (groupEnd < 0) return group
    if (!text.startsWith(KEYWORDS[3], groupEnd)) return undefined
    return group.children?.get(text.slice(groupEnd + KEYWORDS[3].length)) ?? ifRest(text, 2, groupEnd, group)
  }

  /** The number of cached texts. */
  get remembered(): number {
    return this.#located.size
  }

  /** Returns the node of exactly this scope; undefined if no record names it or a scope below it. */
  find(text: string): ScopeNode | undefined {
    const node = this.locate(text)
    return node !== undefined && scopeText(node) === text ? node : undefined
  }
}

function ifRest(text: string, depth: 0 | 1 | 2, position: number, node: ScopeNode): ScopeNode | undefined {
  return isRestOfScope(text, depth, position) ? node : undefined
}
