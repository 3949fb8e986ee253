import type { Head } from './events.ts'
import type { Provider } from './providers.ts'
import { isPossible, REPOSITORY } from './refs.ts'

/** Whether two addresses are of one repository: as Git hosts take them, with or without `.git`. */
export function isSameRepository(one: string, other: string): boolean {
  const [first, second] = [plain(one), plain(other)]
  return first !== undefined && first === second
}

/** Undefined for what is no address. Hosts are names, and so in one case; paths are as they are. */
function plain(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null) return undefined
  const path = url.pathname.replace(/\/+$/, '').replace(/\.git$/, '')
  return `${url.protocol}//${url.host}${path}`
}

/**
 * Whether a delivery of a source is of the repository: by the name that the provider gave it there. A source of plain Git
 * is one repository, whatever its deliveries call it.
 */
export function isOfRepository(
  { provider, baseUrl }: { provider: Provider; baseUrl: string },
  { repositoryName }: Pick<Head, 'repositoryName'>,
  repositoryUrl: string,
): boolean {
  const address = provider === 'Git' ? baseUrl : `${baseUrl.replace(/\/+$/, '')}/${repositoryName}`
  return isSameRepository(address, repositoryUrl)
}

/** As deployments name it: Circuit is a Gitea, and what no Git host is asked about is plain Git. */
const codeProviderOf = (provider: Provider) =>
  provider === 'Circuit' ? 'Gitea' : provider === 'Registry' ? 'Git' : provider

/** What a deployment says of where its code is from, whoever asked for it. */
export function originOf(repositoryUrl: string, source: { provider: Provider; displayName: string } | undefined) {
  return {
    provider: codeProviderOf(source?.provider ?? 'Git'),
    repositoryName: repositoryNameOf(repositoryUrl),
    ...(source !== undefined && { source: source.displayName }),
  }
}

/** The path of a repository at its host, as records name it; undefined where an address has none that is a name. */
export function repositoryNameOf(url: string): string | undefined {
  const name = (URL.parse(url)?.pathname ?? '').replace(/^\/+|(\.git)?\/*$/g, '')
  return isPossible(REPOSITORY, name) ? name : undefined
}
