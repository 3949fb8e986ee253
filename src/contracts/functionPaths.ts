import { percentDecoded } from '../core/percentDecoded.ts'

/** What paths functions are called with: the activator holds callers to it, and the facade test calls. */

export const NOT_PLAIN = 'is not plain: leave out "." and ".." and empty parts'

/** The path of a request target without its query, decoded nowhere: `/a%2Fb` is one segment. */
export function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? ''
}

/**
 * The path as a copy may read it, decoded once; undefined if nobody can say what it means: what the copy or a gateway would
 * walk up, cut off or put together otherwise is refused before anybody is asked for rights.
 */
export function decodedPath(path: string): string | undefined {
  const decoded = percentDecoded(path)
  if (decoded === undefined || !path.startsWith('/') || path.includes('#')) return undefined
  if (/[\\\p{Cc}]|\/\//u.test(decoded)) return undefined
  return decoded.split('/').some((part) => part === '.' || part === '..') ? undefined : decoded
}
