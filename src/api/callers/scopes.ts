import { isResourceName, isUuid } from '../../core/names.ts'
import type { Route } from '../http/route.ts'

/** Which segments of a route's path are a boundary's id, a group's name, and a resource's collection and name. */
export type PathLevels = {
  readonly depth: 0 | 1 | 2 | 3
  readonly wanted: 0 | 1 | 2 | 3
  /** The segment of the collection; the resource's name follows it. */
  readonly collectionAt: number
}

export type PathScope = {
  /** The scope that the path names, or the nearest one above it if part of the path is not a valid id or name. */
  readonly text: string
  readonly badPart: 'boundary' | 'resourceGroup' | 'resource' | undefined
}

const DEPTH = { root: 0, boundary: 1, resourceGroup: 2, resource: 3 } as const
const PARTS = ['boundary', 'resourceGroup', 'resource'] as const
const COLLECTION_AT = 5

/** Returns how deep a path reaches into the scope tree, and how deep the route asks. A collection alone is no level. */
export function levelsOf(route: Pick<Route, 'path' | 'scope'>): PathLevels {
  const parts = route.path.slice(1).split('/')
  const isParameter = (index: number) => parts[index]?.startsWith('{') === true
  let depth: PathLevels['depth'] = 0
  if (parts[0] === 'boundaries' && isParameter(1)) {
    depth = 1
    if (parts[2] === 'resourcegroups' && isParameter(3)) {
      depth = 2
      if (parts[4] === 'resources' && isParameter(6)) depth = 3
    }
  }
  // `monitoring/{resourceType}/{resourceName}` is about the resource that it names, and `monitoring` is no collection.
  const collectionAt = parts[6] === '{resourceType}' ? COLLECTION_AT + 1 : COLLECTION_AT
  return { depth, wanted: Math.min(depth, DEPTH[route.scope ?? 'root']) as PathLevels['wanted'], collectionAt }
}

/**
 * Returns the scope at which a permission is checked. No object has a malformed id or name, so the permission is then
 * checked one level higher: callers who may read there get a 404, all others a 403.
 *
 * @param segments of the request's path, not decoded: ids and names contain nothing that would be encoded
 */
export function scopeOfPath({ depth, wanted, collectionAt }: PathLevels, segments: readonly string[]): PathScope {
  const resource = segments.slice(collectionAt, collectionAt + 2)
  const good = wellFormedDepth(depth, segments, resource)
  return { text: textAt(Math.min(wanted, good), segments, resource), badPart: good < depth ? PARTS[good] : undefined }
}

type Resource = readonly string[]

function wellFormedDepth(depth: number, segments: readonly string[], [collection = '', name = '']: Resource): number {
  if (depth < 1 || !isUuid(segments[1] ?? '')) return 0
  if (depth < 2 || !isResourceName(segments[3] ?? '')) return 1
  if (depth < 3 || !/^[a-z][a-z0-9]{0,62}$/.test(collection) || !isResourceName(name)) return 2
  return 3
}

function textAt(depth: number, segments: readonly string[], [collection, name]: Resource): string {
  if (depth === 0) return '/'
  const boundary = `/boundaries/${segments[1]}`
  if (depth === 1) return boundary
  const group = `${boundary}/resourcegroups/${segments[3]}`
  return depth === 2 ? group : `${group}/resources/${collection}/${name}`
}
