import type { Provider } from '../../contracts/sources/providers.ts'
import { createAddressResolver, type ResolveAddresses } from '../outgoing/addresses.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { bitbucketProvider } from './bitbucket.ts'
import { gitProvider } from './git.ts'
import { giteaProvider } from './gitea.ts'
import { githubProvider } from './github.ts'
import { gitlabProvider } from './gitlab.ts'
import { type Connection, requireOwnHost, SourceError, type SourcePort, type SourceProvider } from './port.ts'
import { verifyRegistry } from './registry.ts'

/**
 * Dispatches to the providers.
 *
 * @param addressesOf vets the addresses that ssh connects to; by default only public ones
 * @param ownHost address of the platform's own Git host
 */
export function createSources(
  fetch: OutgoingFetch,
  now: () => number,
  addressesOf: ResolveAddresses = createAddressResolver([]),
  ownHost?: string,
): SourcePort {
  const gitea = giteaProvider(fetch)
  const gitHub = githubProvider(fetch, now)
  const verify: SourcePort['verifyRegistry'] = (...given) => verifyRegistry(fetch, ...given)
  const providers: Readonly<Record<Provider, SourceProvider>> = {
    GitHub: gitHub,
    GitLab: gitlabProvider(fetch, now),
    Gitea: gitea,
    Circuit: gitea,
    Bitbucket: bitbucketProvider(fetch),
    Git: gitProvider(fetch, addressesOf),
    Registry: registryProvider(verify),
  }
  const of = (connection: Connection) => {
    requireOwnHost(connection, ownHost)
    return providers[connection.provider]
  }
  const cannot =
    (what: string) =>
    ({ provider }: Connection) => {
      throw new SourceError('Unsupported', `A source of type ${provider} has no ${what}.`)
    }
  return {
    check: async (connection, signal) => of(connection).check(connection, signal),
    repositories: async (connection, search, signal) => of(connection).repositories(connection, search, signal),
    token: async (connection, id, signal) => of(connection).token(connection, id, signal),
    ensureWebhook: async (connection, id, hook, signal) =>
      (of(connection).ensureWebhook ?? cannot('webhooks'))(connection, id, hook, signal),
    createRepository: async (connection, repository, signal) =>
      (of(connection).createRepository ?? cannot('repositories of its own'))(connection, repository, signal),
    usage: async (connection, signal) => (of(connection).usage ?? cannot('storage of its own'))(connection, signal),
    makeApp: gitHub.makeApp,
    verifyRegistry: verify,
  }
}

function registryProvider(verify: SourcePort['verifyRegistry']): SourceProvider {
  return {
    async check(connection, signal) {
      const { isReachable, isAuthenticated, message } = await verify(connection, {}, signal)
      if (!isReachable) throw new SourceError('Unreachable', message ?? 'The registry does not answer.')
      if (!isAuthenticated) throw new SourceError('CredentialRejected', message ?? 'The registry refuses them.')
      const installation = { repositorySelection: 'All' as const, permissions: { images: 'pull' } }
      return { ...(connection.username !== undefined && { accountName: connection.username }), installation }
    },
    repositories: async () => [],
    async token() {
      throw new SourceError('Unsupported', 'A registry holds images, not repositories of code.')
    },
  }
}
