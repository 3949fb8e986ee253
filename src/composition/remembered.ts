import { LRUCache } from 'lru-cache'

/** Asks once for all who come at once, and again after so many milliseconds. A failure is not remembered. */
export function remembered<Answer extends object>(
  ask: () => Promise<Answer>,
  milliseconds: number,
): () => Promise<Answer> {
  const known = new LRUCache<'answer', Answer>({ max: 1, ttl: milliseconds, fetchMethod: () => ask() })
  return () => known.forceFetch('answer')
}
