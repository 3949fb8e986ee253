import { LRUCache } from 'lru-cache'

/** Caches an answer for so many milliseconds, and shares one call among concurrent callers. Failures are not cached. */
export function memoizeWithTtl<Answer extends object>(
  ask: () => Promise<Answer>,
  milliseconds: number,
): () => Promise<Answer> {
  const known = new LRUCache<'answer', Answer>({ max: 1, ttl: milliseconds, fetchMethod: () => ask() })
  return () => known.forceFetch('answer')
}
