import type { Head } from './events.ts'
import type { Provider } from './providers.ts'
import { isValidGitName, REPOSITORY_RULE } from './refs.ts'

/** Whether two addresses are of one repository for Git hosts, with or without `.git`. */
export function isSameRepository(one: string, other: string): boolean {
  const [first, second] = [normalizeUrl(one), normalizeUrl(other)]
  return first !== undefined && first === second
}

/** Normalizes an address; undefined for an invalid one. Case matters in paths, not in hosts. */
function normalizeUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null) return undefined
  const path = url.pathname.replace(/\/+$/, '').replace(/\.git$/, '')
  return `${url.protocol}//${url.host}${path}`
}

/**
 * Whether a delivery of a source is about the repository, by its name at the provider. A source of plain Git is one
 * repository, whatever its deliveries call it.
 */
export function isOfRepository(
  { provider, baseUrl }: { provider: Provider; baseUrl: string },
  { repositoryName }: Pick<Head, 'repositoryName'>,
  repositoryUrl: string,
): boolean {
  const address = provider === 'Git' ? baseUrl : `${baseUrl.replace(/\/+$/, '')}/${repositoryName}`
  return isSameRepository(address, repositoryUrl)
}

/** The provider as deployments name it: Circuit is a Gitea, and anything but a known Git host is plain Git. */
const codeProviderOf = (provider: Provider) =>
  provider === 'Circuit' ? 'Gitea' : provider === 'Registry' ? 'Git' : provider

/** Returns what a deployment states about the origin of its code. */
export function originOf(repositoryUrl: string, source: { provider: Provider; displayName: string } | undefined) {
  return {
    provider: codeProviderOf(source?.provider ?? 'Git'),
    repositoryName: repositoryNameOf(repositoryUrl),
    ...(source !== undefined && { source: source.displayName }),
  }
}

/** Returns the path of a repository at its host, as records name it; undefined if that is not a valid name. */
export function repositoryNameOf(url: string): string | undefined {
  const name = (URL.parse(url)?.pathname ?? '').replace(/^\/+|(\.git)?\/*$/g, '')
  return isValidGitName(REPOSITORY_RULE, name) ? name : undefined
}
