import { invalidName, notFound, type PlatformError } from '../../core/errors.ts'
import { levelsOf } from '../callers/scopes.ts'
import type { Route } from './route.ts'

/** The refusal of a name that no object can have: 400 on creation, otherwise 404. */
export function badName(
  route: Route,
  part: 'boundary' | 'resourceGroup' | 'resource',
  segments: readonly string[],
): PlatformError {
  const isCreation = route.method === 'POST' && route.path.endsWith('}') && part !== 'boundary'
  const isLast =
    part === 'resource'
      ? /resources\/[^/]+\/\{[^/]+\}$/.test(route.path)
      : /resourcegroups\/\{[^/]+\}$/.test(route.path)
  const shown = segments.map((segment) => decodeSegment(segment).slice(0, 64))
  const [, boundary = '', , group = ''] = shown
  const [collection = '', name = ''] = shown.slice(levelsOf(route).collectionAt)
  if (!isCreation || !isLast) {
    if (part === 'boundary') return notFound(`Boundary "${boundary}"`)
    if (part === 'resourceGroup') return notFound(`Resource group "${group}" of boundary "${boundary}"`)
    return notFound(`"${name}" of ${collection} in group "${group}"`)
  }
  return invalidName(part === 'resource' ? name : group)
}

/** Returns the segment as the caller wrote it, if that is text that can be shown. */
function decodeSegment(segment: string): string {
  try {
    const text = decodeURIComponent(segment)
    return /\p{C}/u.test(text) ? segment : text
  } catch {
    return segment
  }
}
