import { homedir } from 'node:os'
import { join } from 'node:path'

/** `$XDG_CACHE_HOME/freehold/<name>`: where what tests fetch is kept for the next run. */
export function cacheFolder(name: string): string {
  const { XDG_CACHE_HOME: cache } = process.env
  const base = cache === undefined || cache === '' ? join(homedir(), '.cache') : cache
  return join(base, 'freehold', name)
}
