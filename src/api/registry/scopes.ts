import type { RegistryAccess } from '../../adapters/registry/port.ts'

/** What a client asks a token for, one repository each. */
export type AskedScope = { readonly repository: string; readonly actions: readonly string[] }

/** A client asks for one or two: the repository, and one that blobs are mounted from. */
const SCOPES_MAX = 20

/**
 * `repository:<name>:pull,push`, several with spaces between them or in several parameters. What is not about a
 * repository gives nothing here, so it is left out, as what a caller may not do is.
 */
export function askedScopes(texts: readonly string[]): AskedScope[] {
  const asked = new Map<string, Set<string>>()
  for (const text of texts.flatMap((each) => each.split(' ')).filter((each) => each !== '')) {
    const [, repository, actions = ''] = /^repository(?:\([a-z]+\))?:([^:\s]{1,255}):([a-z,*]{0,64})$/.exec(text) ?? []
    if (repository === undefined) continue
    const wanted = actions === '*' ? ['pull', 'push', 'delete'] : actions.split(',')
    asked.set(repository, new Set([...(asked.get(repository) ?? []), ...wanted]))
  }
  return [...asked].slice(0, SCOPES_MAX).map(([repository, actions]) => ({ repository, actions: [...actions] }))
}

/** As clients write it, for people: at most 300 characters. */
export function scopeText({ repository, actions }: AskedScope): string {
  return `repository:${repository}:${actions.join(',').slice(0, 33)}`
}

/** Of what was asked for, what was not granted: of some repositories all, of others some actions. */
export function notGranted(asked: readonly AskedScope[], granted: readonly RegistryAccess[]): AskedScope[] {
  return asked.flatMap(({ repository, actions }) => {
    const given = granted.find(({ name }) => name === repository)?.actions ?? []
    const left = actions.filter((action) => !given.includes(action))
    return left.length === 0 ? [] : [{ repository, actions: left }]
  })
}

/** Whether a limit such as `<boundaryId>/*` reaches a repository. */
export function isWithin(limit: string, repository: string): boolean {
  return limit.endsWith('/*') ? repository.startsWith(limit.slice(0, -1)) : limit === repository
}
