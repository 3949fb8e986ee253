import { z } from 'zod'
import { withFieldPaths } from '../../core/fieldPaths.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { basicAuthHeader, safeId } from './calls.ts'
import { type Connection, SourceError, type SourceProvider } from './port.ts'
import { nameFilter, ProviderRepository, repositoryOf } from './repositories.ts'
import { Account, accountOf, createRestCalls, hostUrlOf, ProviderWebhook, tokenOf, type WebhookFormat } from './rest.ts'

const Links = z.array(z.object({ name: z.string(), href: z.string() }))
const Repo = withFieldPaths(
  {
    id: 'uuid',
    fullName: 'full_name',
    url: 'links.html.href',
    cloneUrl: 'links.clone',
    defaultBranch: 'mainbranch.name',
    isPrivate: 'is_private',
    description: 'description',
    language: 'language',
    pushedAt: 'updated_on',
  },
  // Bitbucket puts the caller's user name into the clone URL.
  ProviderRepository.extend({
    cloneUrl: Links.transform((links) =>
      links.find(({ name }) => name === 'https')?.href.replace(/^https:\/\/[^@/]*@/, 'https://'),
    ),
  }),
).transform(repositoryOf)
const Workspace = withFieldPaths({ name: 'slug', createdAt: 'created_on' }, Account)

const HOOKS: WebhookFormat = {
  schema: withFieldPaths({ id: 'uuid', url: 'url', isActive: 'active', events: 'events' }, ProviderWebhook),
  body: ({ url, secret }) => {
    const events = ['repo:push', 'pullrequest:created', 'pullrequest:updated']
    return { description: 'Freehold', url, active: true, secret, events }
  },
  change: 'PUT',
}

const UUID = /^\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}$/
const CLOUD = 'https://bitbucket.org'

/** Bitbucket Cloud, through version 2 of its REST API (developer.atlassian.com/cloud/bitbucket/rest). */
export function bitbucketProvider(fetch: OutgoingFetch): SourceProvider {
  const rest = createRestCalls(fetch, {
    base: (connection) => `${connection.baseUrl === CLOUD ? 'https://api.bitbucket.org' : hostUrlOf(connection)}/2.0`,
    // Workspace tokens are bearer tokens; a user's tokens need the user name.
    headers: (connection) => {
      const [token, { username }] = [tokenOf(connection), connection]
      return { authorization: username === undefined ? `Bearer ${token}` : basicAuthHeader(username, token) }
    },
    pageSize: 'pagelen',
    pageIn: 'values',
  })
  const place = ({ organization }: Connection) => {
    if (organization !== undefined) return encodeURIComponent(organization)
    throw new SourceError('Unsupported', 'Bitbucket needs the workspace in "organization".')
  }
  const one = (connection: Connection, id: string) =>
    `/repositories/${place(connection)}/${encodeURIComponent(safeId(id, UUID))}`

  return {
    async check(connection, signal) {
      const path = `/workspaces/${place(connection)}`
      const workspace = await rest(connection, signal).call(path, Workspace)
      return accountOf(workspace, workspace.name)
    },
    async repositories(connection, search, signal) {
      const path = `/repositories/${place(connection)}?sort=full_name`
      return rest(connection, signal).all(path, Repo, nameFilter(search))
    },
    async token(connection, id, signal) {
      const { cloneUrl } = await rest(connection, signal).call(one(connection, id), Repo)
      return {
        token: tokenOf(connection),
        username: connection.username ?? 'x-token-auth',
        cloneUrl,
        expiresAt: null,
        permissions: { contents: 'read', repositories: 'all' },
      }
    },
    ensureWebhook: async (connection, id, hook, signal) =>
      rest(connection, signal).ensureHook(`${one(connection, id)}/hooks`, HOOKS, hook),
  }
}
