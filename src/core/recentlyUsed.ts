import { LRUCache } from 'lru-cache'

/**
 * Keeps so many entries, those that were used last. The package lays out all of its memory at once for a number of
 * entries, which takes milliseconds for each cache, and none for a size: here every entry has the size of one.
 *
 * @param ttl milliseconds after which an entry is forgotten all the same
 */
export function recentlyUsed<Key extends {}, Value extends {}>(most: number, ttl = 0): LRUCache<Key, Value> {
  return new LRUCache<Key, Value>({ maxSize: most, sizeCalculation: () => 1, ttl })
}
