import { pluralize } from '../../core/pluralize.ts'

/** The access that a client requests a token for, one repository each. */
export type RequestedScope = { readonly repository: string; readonly actions: readonly string[] }

/** Clients request one or two: the repository, and one to mount blobs from. */
const SCOPES_MAX = 20

/**
 * Parses `repository:<name>:pull,push`, in several parameters or separated by spaces. Other scopes are ignored, like
 * actions that the caller may not do.
 */
export function parseScopes(texts: readonly string[]): RequestedScope[] {
  const requested = new Map<string, Set<string>>()
  for (const text of texts.flatMap((each) => each.split(' ')).filter((each) => each !== '')) {
    const [, repository, actions = ''] = /^repository(?:\([a-z]+\))?:([^:\s]{1,255}):([a-z,*]{0,64})$/.exec(text) ?? []
    if (repository === undefined) continue
    const expanded = actions === '*' ? ['pull', 'push', 'delete'] : actions.split(',')
    requested.set(repository, new Set([...(requested.get(repository) ?? []), ...expanded]))
  }
  return [...requested].slice(0, SCOPES_MAX).map(([repository, actions]) => ({ repository, actions: [...actions] }))
}

/** Returns the first scope as clients write it, and the number of others, for people. */
export function scopesText([first, ...others]: readonly RequestedScope[]): string | undefined {
  if (first === undefined) return undefined
  const text = `repository:${first.repository}:${first.actions.join(',').slice(0, 33)}`
  return others.length === 0 ? text : `${text} and ${pluralize(others.length, 'other')}`
}

/** Returns whether a limit such as `<boundaryId>/*` includes a repository. */
export function isRepositoryWithin(limit: string, repository: string): boolean {
  return limit.endsWith('/*') ? repository.startsWith(limit.slice(0, -1)) : limit === repository
}
