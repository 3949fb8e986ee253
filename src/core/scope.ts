import { RESOURCE_NAME_PATTERN, UUID_PATTERN } from './names.ts'

/**
 * Scopes of the authorization model (interface section 5): the platform root, a boundary, a resource group in it, a
 * resource in that. A scope contains another only if its segments are the first segments of the other; comparing the texts
 * instead would let `/boundaries/…b1` reach into `/boundaries/…b10`.
 */
export type RootScope = { readonly level: 'root' }
export type BoundaryScope = { readonly level: 'boundary'; readonly boundaryId: string }
export type ResourceGroupScope = {
  readonly level: 'resourceGroup'
  readonly boundaryId: string
  readonly resourceGroup: string
}
export type ResourceScope = {
  readonly level: 'resource'
  readonly boundaryId: string
  readonly resourceGroup: string
  readonly collection: string
  readonly name: string
}
export type Scope = RootScope | BoundaryScope | ResourceGroupScope | ResourceScope

export const ROOT_SCOPE: RootScope = { level: 'root' }

/** Without the anchors of its ends, and without a group that would count. */
const withoutAnchors = (pattern: string) => pattern.slice(1, -1).replaceAll('(', '(?:')
const UUID = withoutAnchors(UUID_PATTERN)
const NAME = withoutAnchors(RESOURCE_NAME_PATTERN)
const COLLECTION = '[a-z][a-z0-9]{0,62}'
/** The same grammar for schemas, without the non-capturing groups. */
export const SCOPE_PATTERN =
  `^/(boundaries/${UUID}(/resourcegroups/${NAME}(/resources/${COLLECTION}/${NAME})?)?)?$`.replaceAll('?:', '')
const BELOW_ROOT = new RegExp(
  `^/boundaries/(${UUID})(?:/resourcegroups/(${NAME})(?:/resources/(${COLLECTION})/(${NAME}))?)?$`,
)
/** No valid scope is longer; the check keeps the cost of hostile input constant. */
export const SCOPE_MAX_LENGTH = 260

/**
 * Reads `/`, `/boundaries/<uuid>`, `…/resourcegroups/<name>` or `…/resources/<collection>/<name>`. Only the canonical
 * spelling is a scope: lower case, no trailing slash, no percent encoding, because two spellings of one scope would be
 * two keys. Returns undefined for everything else (the facade answers 400).
 */
export function parseScope(text: string): Scope | undefined {
  if (text === '/') return ROOT_SCOPE
  if (typeof text !== 'string' || text.length > SCOPE_MAX_LENGTH) return undefined
  const match = BELOW_ROOT.exec(text)
  if (match === null) return undefined
  const [, boundaryId, resourceGroup, collection, name] = match
  if (boundaryId === undefined) return undefined
  if (resourceGroup === undefined) return { level: 'boundary', boundaryId }
  if (collection === undefined || name === undefined) return { level: 'resourceGroup', boundaryId, resourceGroup }
  return { level: 'resource', boundaryId, resourceGroup, collection, name }
}

/** By depth, what may follow the root, a boundary or a group. Sticky, so that the known part is not matched again. */
const REST_PATTERNS = [
  new RegExp(`/boundaries/${UUID}(?:/resourcegroups/${NAME}(?:/resources/${COLLECTION}/${NAME})?)?$`, 'y'),
  new RegExp(`/resourcegroups/${NAME}(?:/resources/${COLLECTION}/${NAME})?$`, 'y'),
  new RegExp(`/resources/${COLLECTION}/${NAME}$`, 'y'),
] as const

/**
 * Whether the text is a scope, given that its first `position` characters are known to be one of this depth (at the
 * root: none). For callers that follow scopes step by step; all others call `parseScope`.
 */
export function isRestOfScope(text: string, depth: 0 | 1 | 2, position: number): boolean {
  if (text.length > SCOPE_MAX_LENGTH) return false
  REST_PATTERNS[depth].lastIndex = position
  return REST_PATTERNS[depth].test(text)
}

/** The canonical text. Throws RangeError if a part is not a valid id or name, so that no part can add segments. */
export function formatScope(scope: Scope): string {
  const text = `/${pathOf(scope).join('/')}`
  if (parseScope(text)?.level !== scope.level) {
    throw new RangeError(
      `${JSON.stringify(text)} is not a ${scope.level} scope: a part of it is not a valid id or name.`,
    )
  }
  return text
}

/** What distinguishes a scope from its siblings at each level below the root: boundary id, group name, collection and name. */
export function scopeSegments(scope: Scope): string[] {
  switch (scope.level) {
    case 'root':
      return []
    case 'boundary':
      return [scope.boundaryId]
    case 'resourceGroup':
      return [scope.boundaryId, scope.resourceGroup]
    case 'resource':
      return [scope.boundaryId, scope.resourceGroup, `${scope.collection}/${scope.name}`]
  }
}

/** True if `inner` is `outer` or lies below it. */
export function scopeContains(outer: Scope, inner: Scope): boolean {
  const inside = scopeSegments(inner)
  return scopeSegments(outer).every((segment, depth) => inside[depth] === segment)
}

function pathOf(scope: Scope): string[] {
  const path: string[] = []
  if ('boundaryId' in scope) path.push('boundaries', scope.boundaryId)
  if ('resourceGroup' in scope) path.push('resourcegroups', scope.resourceGroup)
  if ('collection' in scope) path.push('resources', scope.collection, scope.name)
  return path
}
