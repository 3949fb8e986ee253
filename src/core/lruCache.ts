import { LRUCache } from 'lru-cache'

/**
 * Creates a cache of the `max` most recently used entries. lru-cache allocates all memory in advance for a maximum
 * count, which takes milliseconds per cache, but not for a maximum size: so every entry has the size 1.
 *
 * @param ttl milliseconds after which an entry expires in any case
 */
export function createLruCache<Key extends {}, Value extends {}>(max: number, ttl = 0): LRUCache<Key, Value> {
  return new LRUCache<Key, Value>({ maxSize: max, sizeCalculation: () => 1, ttl })
}
