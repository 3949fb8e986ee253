import { z } from 'zod'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { basic, safeId } from './calls.ts'
import { type Connection, SourceError, type SourceProvider } from './port.ts'
import { repositoryOf, searched, Text } from './repositories.ts'
import { accountOf, type HookForm, hostOf, Rest, tokenOf } from './rest.ts'

const Link = z.object({ href: z.string() })
const Repo = z
  .object({
    uuid: z.string(),
    full_name: z.string(),
    links: z.object({ html: Link, clone: z.array(Link.extend({ name: z.string() })) }),
    mainbranch: z.object({ name: z.string() }).nullish(),
    is_private: z.boolean(),
    description: Text,
    language: Text,
    updated_on: Text,
  })
  .transform(({ links: { html, clone }, ...repo }) =>
    repositoryOf({
      id: repo.uuid,
      fullName: repo.full_name,
      url: html.href,
      // Bitbucket puts the name of whoever asks into the address.
      cloneUrl: (clone.find(({ name }) => name === 'https') ?? html).href.replace(/^https:\/\/[^@/]*@/, 'https://'),
      defaultBranch: repo.mainbranch?.name ?? '',
      isPrivate: repo.is_private,
      description: repo.description || null,
      language: repo.language || null,
      pushedAt: repo.updated_on ?? null,
    }),
  )
const Workspace = z.object({ slug: z.string(), created_on: Text })

const HOOKS: HookForm = {
  schema: z
    .object({ uuid: z.string(), url: z.string(), active: z.boolean(), events: z.array(z.string()) })
    .transform(({ uuid: id, active: isActive, ...hook }) => ({ id, isActive, ...hook })),
  body: ({ url, secret }) => {
    const events = ['repo:push', 'pullrequest:created', 'pullrequest:updated']
    return { description: 'Freehold', url, active: true, secret, events }
  },
  change: 'PUT',
}

const UUID = /^\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}$/
const CLOUD = 'https://bitbucket.org'

/** Bitbucket Cloud, by version 2 of its REST interface (developer.atlassian.com/cloud/bitbucket/rest). */
export function bitbucketProvider(fetch: OutgoingFetch): SourceProvider {
  const rest = new Rest(fetch, {
    base: (connection) => `${connection.baseUrl === CLOUD ? 'https://api.bitbucket.org' : hostOf(connection)}/2.0`,
    // Access tokens of a workspace stand alone; those of a person go with a name.
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
      const { slug, created_on: createdAt } = await rest.call(connection, path, Workspace, { signal })
      return accountOf('', slug, { createdAt })
    },
    async repositories(connection, search, signal) {
      const path = `/repositories/${place(connection)}?sort=full_name`
      return searched(await rest.all(connection, path, Repo, signal), search)
    },
    async token(connection, id, signal) {
      const { cloneUrl } = await rest.call(connection, one(connection, id), Repo, { signal })
      return {
        token: tokenOf(connection),
        username: connection.username ?? 'x-token-auth',
        cloneUrl,
        expiresAt: null,
        permissions: { contents: 'read', repositories: 'all' },
      }
    },
    ensureWebhook: async (connection, id, hook, signal) =>
      rest.ensureHook(connection, `${one(connection, id)}/hooks`, HOOKS, hook, signal),
  }
}
