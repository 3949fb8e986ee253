import { z } from 'zod'
import { readAt } from '../../core/readAt.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { basic, safeId } from './calls.ts'
import { type Connection, SourceError, type SourceProvider } from './port.ts'
import { isNamed, repositoryOf, ToldRepository } from './repositories.ts'
import { Account, accountOf, type HookForm, hostOf, restOf, ToldHook, tokenOf } from './rest.ts'

const Links = z.array(z.object({ name: z.string(), href: z.string() }))
const Repo = readAt(
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
  ToldRepository.extend({
    cloneUrl: Links.transform((links) =>
      links.find(({ name }) => name === 'https')?.href.replace(/^https:\/\/[^@/]*@/, 'https://'),
    ),
  }),
).transform(repositoryOf)
const Workspace = readAt({ name: 'slug', createdAt: 'created_on' }, Account)

const HOOKS: HookForm = {
  schema: readAt({ id: 'uuid', url: 'url', isActive: 'active', events: 'events' }, ToldHook),
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
  const rest = restOf(fetch, {
    base: (connection) => `${connection.baseUrl === CLOUD ? 'https://api.bitbucket.org' : hostOf(connection)}/2.0`,
    // Workspace tokens are bearer tokens; a user's tokens need the user name.
    headers: (connection) => {
      const [token, { username }] = [tokenOf(connection), connection]
      return { authorization: username === undefined ? `Bearer ${token}` : basic(username, token) }
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
      return rest(connection, signal).all(path, Repo, isNamed(search))
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
