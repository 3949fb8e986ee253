import { constants } from 'node:fs'
import { join } from 'node:path'
import { cachedAt } from './cache.ts'
import { exists } from './files.ts'
import { NODE_PROGRAMS, PROGRAMS, type Program, type ProgramName, type ToolLock } from './modules.ts'

/** Where the programs come from. `mixed`: some from a given folder, the rest from the cache or a build. */
export type SourceName = 'kubeconfig' | 'kubebuilder-assets' | 'cache' | 'go-build' | 'mixed'

export type SourcePlan =
  | { source: 'kubeconfig'; kubeconfig: string }
  | { source: Exclude<SourceName, 'kubeconfig'>; found: Partial<Record<ProgramName, string>>; build: ProgramName[] }

export type SourceFacts = {
  /** A cluster that exists, as the caller named it. */
  kubeconfig?: string | undefined
  /** Programs of `KUBEBUILDER_ASSETS`, as name and path. */
  assets: Partial<Record<ProgramName, string>>
  cache: Partial<Record<ProgramName, string>>
}

/** For each program the first available of: an existing cluster, the given folder, our cache, a build with Go. */
export function chooseSource(facts: SourceFacts, wanted: readonly Program[] = PROGRAMS): SourcePlan {
  if (facts.kubeconfig !== undefined) return { source: 'kubeconfig', kubeconfig: facts.kubeconfig }
  const found: Partial<Record<ProgramName, string>> = {}
  const build: ProgramName[] = []
  const used = new Set<Exclude<SourceName, 'kubeconfig' | 'mixed'>>()
  for (const { name } of wanted) {
    const path = facts.assets[name] ?? facts.cache[name]
    if (path === undefined) build.push(name)
    else found[name] = path
    used.add(facts.assets[name] !== undefined ? 'kubebuilder-assets' : path !== undefined ? 'cache' : 'go-build')
  }
  // A cache that lacked a program is still our build of the same lock, so it counts as one.
  if (used.has('go-build')) used.delete('cache')
  const [only, ...others] = used
  return { source: others.length === 0 && only !== undefined ? only : 'mixed', found, build }
}

/** The folder of programs that this lock gives: `$XDG_CACHE_HOME/freehold/<version>-<hash>`. */
export function cacheFolder(lock: ToolLock, environment: NodeJS.ProcessEnv): string {
  return cachedAt(lock.cacheKey, environment)
}

/** The executable programs in a folder. */
export async function programsIn(folder: string | undefined): Promise<Partial<Record<ProgramName, string>>> {
  const found: Partial<Record<ProgramName, string>> = {}
  if (folder === undefined || folder === '') return found
  await Promise.all(
    [...PROGRAMS, ...NODE_PROGRAMS].map(async ({ name }) => {
      const path = join(folder, name)
      if (await exists(path, constants.X_OK)) found[name] = path
    }),
  )
  return found
}
