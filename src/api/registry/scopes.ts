import { counted } from '../../core/counted.ts'

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

/** As clients write the first, and how many more there are, for people. */
export function scopesText([first, ...others]: readonly AskedScope[]): string | undefined {
  if (first === undefined) return undefined
  const text = `repository:${first.repository}:${first.actions.join(',').slice(0, 33)}`
  return others.length === 0 ? text : `${text} and ${counted(others.length, 'other')}`
}

/** Whether a limit such as `<boundaryId>/*` reaches a repository. */
export function isWithin(limit: string, repository: string): boolean {
  return limit.endsWith('/*') ? repository.startsWith(limit.slice(0, -1)) : limit === repository
}
