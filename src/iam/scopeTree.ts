import { parseScope, type Scope, scopeSegments } from '../core/scope.ts'

/** A scope that some record names, or that lies above one. Nodes are compared by identity, never by text. */
export class ScopeNode {
  readonly parent: ScopeNode | undefined
  readonly segment: string
  readonly depth: number
  children: Map<string, ScopeNode> | undefined = undefined
  /** Records that name this very scope. */
  uses = 0

  constructor(parent: ScopeNode | undefined, segment: string) {
    this.parent = parent
    this.segment = segment
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  /** True if `other` is this scope or lies below it. */
  contains(other: ScopeNode): boolean {
    let node: ScopeNode | undefined = other
    while (node !== undefined && node.depth > this.depth) node = node.parent
    return node === this
  }
}

const WORDS = ['', '/boundaries/', '/resourcegroups/', '/resources/'] as const

export function scopeText(node: ScopeNode): string {
  if (node.parent === undefined) return '/'
  const above = node.parent.parent === undefined ? '' : scopeText(node.parent)
  return `${above}${WORDS[node.depth]}${node.segment}`
}

/** The scopes that records name. It grows and shrinks with them, so that questions about others leave nothing behind. */
export class ScopeTree {
  readonly root = new ScopeNode(undefined, '')

  /** The node of a scope, made if need be, held until `release`. Throws RangeError for a text that is no scope. */
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
        // A piece cut from the text would keep the whole text in memory; the copy keeps the piece alone.
        const key = Buffer.from(segment, 'latin1').toString('latin1')
        child = new ScopeNode(node, key)
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
      if (parent.children?.size === 0) parent.children = undefined
      empty = parent
    }
  }

  /** The deepest node that is the scope or holds it: all that can matter to a question. Undefined if it is no scope. */
  locate(text: string): ScopeNode | undefined {
    const scope = parseScope(text)
    if (scope === undefined) return undefined
    return this.#deepest(scope)
  }

  /** The node of exactly this scope; undefined where nothing stands at or below it. */
  find(text: string): ScopeNode | undefined {
    const scope = parseScope(text)
    if (scope === undefined) return undefined
    const node = this.#deepest(scope)
    return node.depth === scopeSegments(scope).length ? node : undefined
  }

  #deepest(scope: Scope): ScopeNode {
    const boundary = scope.level === 'root' ? undefined : this.root.children?.get(scope.boundaryId)
    if (scope.level === 'root' || boundary === undefined) return this.root
    const group = scope.level === 'boundary' ? undefined : boundary.children?.get(scope.resourceGroup)
    if (scope.level === 'boundary' || group === undefined) return boundary
    const resource = scope.level === 'resource' ? group.children?.get(`${scope.collection}/${scope.name}`) : undefined
    return resource ?? group
  }
}
