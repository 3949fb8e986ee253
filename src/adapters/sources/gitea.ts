import { z } from 'zod'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { allPages, ask, type Call, NUMBER, safeId } from './calls.ts'
import type { Checked, Connection, NewRepository, SourceProvider, Webhook } from './port.ts'
import { GitHubRepository, repositoryOf } from './repositories.ts'

const Text = z.string().nullish()
const User = z.object({ login: z.string(), avatar_url: Text, created: Text })
const Repo = GitHubRepository.extend({
  updated_at: Text,
  size: z.number().nullish(),
  permissions: z.object({ push: z.boolean() }).nullish(),
})
type Repo = z.output<typeof Repo>
const shown = (repo: Repo) => repositoryOf(repo, repo.updated_at)
const Hook = z.object({
  id: z.int(),
  active: z.boolean(),
  events: z.array(z.string()),
  config: z.record(z.string(), z.unknown()),
})

const WEBHOOK_EVENTS = ['push', 'pull_request', 'pull_request_sync']

type Api = ReturnType<typeof apiOf>

const apiOf =
  (fetch: OutgoingFetch) =>
  <Schema extends z.ZodType>({ baseUrl, credentials }: Connection, path: string, schema: Schema, call: Call = {}) =>
    ask(fetch, `${baseUrl.replace(/\/+$/, '')}/api/v1${path}`, schema, {
      ...call,
      headers: { authorization: `token ${credentials[CREDENTIAL_KEYS.token] ?? ''}` },
    })

/** Gitea, by its REST interface of version 1 (`/api/v1`, described by the host itself at `/swagger.v1.json`). */
export function giteaProvider(fetch: OutgoingFetch): Required<Omit<SourceProvider, 'makeApp'>> {
  const api = apiOf(fetch)
  const find = (connection: Connection, id: string, signal?: AbortSignal) =>
    api(connection, `/repositories/${safeId(id, NUMBER)}`, Repo, { signal })
  const account = (connection: Connection, signal?: AbortSignal) => api(connection, '/user', User, { signal })

  return {
    async check(connection, signal): Promise<Checked> {
      const { login, avatar_url: avatarUrl, created: createdAt } = await account(connection, signal)
      const installation = {
        avatarUrl: avatarUrl ?? undefined,
        repositorySelection: 'All' as const,
        permissions: { repositories: 'all' },
        createdAt: createdAt ?? undefined,
      }
      const { organization } = connection
      if (organization === undefined) return { accountName: login, accountType: 'User', installation }
      await api(connection, `/orgs/${encodeURIComponent(organization)}`, z.object({}), { signal })
      return { accountName: organization, accountType: 'Organization', installation }
    },
    async repositories(connection, search, signal) {
      return (await allOf(api, connection, search, signal)).map(shown)
    },
    async token(connection, id, signal) {
      const found = await find(connection, id, signal)
      const { login } = await account(connection, signal)
      return {
        token: connection.credentials[CREDENTIAL_KEYS.token] ?? '',
        username: login,
        cloneUrl: found.clone_url,
        expiresAt: null,
        permissions: { contents: found.permissions?.push === true ? 'write' : 'read', repositories: 'all' },
      }
    },
    async ensureWebhook(connection, id, hook, signal) {
      const { full_name: fullName } = await find(connection, id, signal)
      return ensureHook(api, connection, fullName, hook, signal)
    },
    async createRepository(connection, repository, signal) {
      const call = { method: 'POST' as const, body: creationOf(repository), signal }
      const path = repository.importUrl === undefined ? '/user/repos' : '/repos/migrate'
      return shown(await api(connection, path, Repo, call))
    },
    async usage(connection, signal) {
      const repositories = await allOf(api, connection, '', signal)
      const kilobytes = repositories.reduce((sum, { size }) => sum + (size ?? 0), 0)
      return { repositoryCount: repositories.length, kilobytes }
    },
  }
}

async function allOf(api: Api, connection: Connection, search = '', signal?: AbortSignal): Promise<Repo[]> {
  const { organization } = connection
  const place = organization === undefined ? '/user/repos' : `/orgs/${encodeURIComponent(organization)}/repos`
  const found = await allPages((page, limit) =>
    api(connection, `${place}?page=${page}&limit=${limit}`, z.array(Repo), { signal }),
  )
  return found.filter(({ full_name: name }) => name.toLowerCase().includes(search.toLowerCase()))
}

async function ensureHook(
  api: Api,
  connection: Connection,
  fullName: string,
  { url, secret }: { url: string; secret: string },
  signal?: AbortSignal,
): Promise<Webhook> {
  const path = `/repos/${fullName.split('/').map(encodeURIComponent).join('/')}/hooks`
  const hooks = await allPages((page, limit) =>
    api(connection, `${path}?page=${page}&limit=${limit}`, z.array(Hook), { signal }),
  )
  const wanted = { active: true, events: WEBHOOK_EVENTS, config: { url, content_type: 'json', secret } }
  const present = hooks.find(({ config }) => config.url === url)
  // The secret cannot be read, so it is written in any case.
  const { active: isActive, events } =
    present === undefined
      ? await api(connection, path, Hook, { method: 'POST', body: { type: 'gitea', ...wanted }, signal })
      : await api(connection, `${path}/${present.id}`, Hook, { method: 'PATCH', body: wanted, signal })
  return { url, isActive, events, lastDeliveryAt: null, lastDeliveryStatus: null, created: present === undefined }
}

function creationOf({ name, description, isPrivate, defaultBranch, initialize, importUrl }: NewRepository): object {
  if (importUrl !== undefined)
    return { clone_addr: importUrl, repo_name: name, description, private: isPrivate, service: 'git' }
  return { name, description, private: isPrivate, default_branch: defaultBranch, auto_init: initialize }
}
