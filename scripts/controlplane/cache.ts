import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where what is built or downloaded once is kept: `$XDG_CACHE_HOME/freehold/<name>`. */
export function cachedAt(name: string, environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment.XDG_CACHE_HOME
  return join(base !== undefined && base !== '' ? base : join(homedir(), '.cache'), 'freehold', name)
}
