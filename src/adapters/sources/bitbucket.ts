import { z } from 'zod'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { allPages, ask, type Call, safeId } from './calls.ts'
import { type Connection, type Repository, SourceError, type SourceProvider } from './port.ts'

const Text = z.string().nullish()
const Link = z.object({ href: z.string() })
const Repo = z.object({
  uuid: z.string(),
  slug: z.string(),
  full_name: z.string(),
  workspace: z.object({ slug: z.string() }),
  links: z.object({ html: Link, clone: z.array(Link.extend({ name: z.string() })) }),
  mainbranch: z.object({ name: z.string() }).nullish(),
  is_private: z.boolean(),
  description: Text,
  language: Text,
  updated_on: Text,
})
const Workspace = z.object({ slug: z.string(), created_on: Text })
const Hook = z.object({ uuid: z.string(), url: z.string(), active: z.boolean(), events: z.array(z.string()) })
const pageOf = <Item extends z.ZodType>(item: Item) => z.object({ values: z.array(item) })

const EVENTS = ['repo:push', 'pullrequest:created', 'pullrequest:updated']
const UUID = /^\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}$/
const CLOUD = 'https://bitbucket.org'

/** Bitbucket Cloud, by version 2 of its REST interface (developer.atlassian.com/cloud/bitbucket/rest). */
export function bitbucketProvider(fetch: OutgoingFetch): SourceProvider {
  const api = <Schema extends z.ZodType>(
    { baseUrl, credentials, username }: Connection,
    path: string,
    schema: Schema,
    call: Call = {},
  ) => {
    const token = credentials[CREDENTIAL_KEYS.token] ?? ''
    // Access tokens of a workspace stand alone; those of a person go with a name.
    const authorization =
      username === undefined ? `Bearer ${token}` : `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
    const base = baseUrl === CLOUD ? 'https://api.bitbucket.org' : baseUrl.replace(/\/+$/, '')
    return ask(fetch, `${base}/2.0${path}`, schema, { ...call, headers: { authorization } })
  }
  const place = ({ organization }: Connection) => {
    if (organization !== undefined) return encodeURIComponent(organization)
    throw new SourceError('Unsupported', 'Bitbucket needs the workspace in "organization".')
  }
  const one = (connection: Connection, id: string) =>
    `/repositories/${place(connection)}/${encodeURIComponent(safeId(id, UUID))}`

  return {
    async check(connection, signal) {
      const { slug, created_on } = await api(connection, `/workspaces/${place(connection)}`, Workspace, { signal })
      const permissions = { repositories: 'all' }
      const installation = { repositorySelection: 'All' as const, permissions, createdAt: created_on ?? undefined }
      return { accountName: slug, accountType: 'Organization', installation }
    },
    async repositories(connection, search = '', signal) {
      const found = await allPages(async (page, size) => {
        const path = `/repositories/${place(connection)}?page=${page}&pagelen=${size}&sort=full_name`
        return (await api(connection, path, pageOf(Repo), { signal })).values
      })
      const words = search.toLowerCase()
      return found.filter(({ full_name }) => full_name.toLowerCase().includes(words)).map(repositoryOf)
    },
    async token(connection, id, signal) {
      const found = repositoryOf(await api(connection, one(connection, id), Repo, { signal }))
      return {
        token: connection.credentials[CREDENTIAL_KEYS.token] ?? '',
        username: connection.username ?? 'x-token-auth',
        cloneUrl: found.cloneUrl,
        expiresAt: null,
        permissions: { contents: 'read', repositories: 'all' },
      }
    },
    async ensureWebhook(connection, id, hook, signal) {
      const path = `${one(connection, id)}/hooks`
      const hooks = await allPages(async (page, size) => {
        return (await api(connection, `${path}?page=${page}&pagelen=${size}`, pageOf(Hook), { signal })).values
      })
      const present = hooks.find(({ url }) => url === hook.url)
      const body = { description: 'Freehold', url: hook.url, active: true, secret: hook.secret, events: EVENTS }
      const made =
        present === undefined
          ? await api(connection, path, Hook, { method: 'POST', body, signal })
          : await api(connection, `${path}/${encodeURIComponent(present.uuid)}`, Hook, { method: 'PUT', body, signal })
      const { url, active: isActive, events } = made
      const created = present === undefined
      return { url, isActive, events, lastDeliveryAt: null, lastDeliveryStatus: null, created }
    },
  }
}

function repositoryOf(repo: z.output<typeof Repo>): Repository {
  const clone = repo.links.clone.find(({ name }) => name === 'https')?.href ?? repo.links.html.href
  // Bitbucket puts the name of whoever asks into the address.
  const cloneUrl = clone.replace(/^https:\/\/[^@/]*@/, 'https://')
  return {
    id: repo.uuid,
    name: repo.slug,
    fullName: repo.full_name,
    owner: repo.workspace.slug,
    url: repo.links.html.href,
    cloneUrl,
    defaultBranch: repo.mainbranch?.name ?? '',
    isPrivate: repo.is_private,
    isArchived: false,
    description: repo.description || null,
    language: repo.language || null,
    pushedAt: repo.updated_on ?? null,
  }
}
