import { percentDecoded } from '../core/percentDecoded.ts'

/** Rules for paths of calls: the activator applies them to callers, and the facade to test calls. */

export const PATH_NOT_PLAIN_MESSAGE = 'is not plain: leave out "." and ".." and empty parts'

/** Returns the path of a request target without its query and undecoded: `/a%2Fb` is one segment. */
export function stripQuery(target: string): string {
  return target.split('?', 1)[0] ?? ''
}

/**
 * Returns the path decoded once, as a copy may read it; undefined if it is ambiguous. A path that the copy or a gateway
 * could resolve, cut or join in another way is refused before the caller's rights are checked.
 */
export function decodePath(path: string): string | undefined {
  const decoded = percentDecoded(path)
  if (decoded === undefined || !path.startsWith('/') || path.includes('#')) return undefined
  if (/[\\\p{Cc}]|\/\//u.test(decoded)) return undefined
  return decoded.split('/').some((part) => part === '.' || part === '..') ? undefined : decoded
}
