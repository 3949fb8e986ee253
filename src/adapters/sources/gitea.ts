import { z } from 'zod'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { NUMBER, safeId } from './calls.ts'
import type { Connection, NewRepository, SourceProvider } from './port.ts'
import { GitHubRepository, gitHubRepository, searched, Text } from './repositories.ts'
import { accountOf, type HookForm, hostOf, Rest, tokenOf } from './rest.ts'

const User = z.object({ login: z.string(), avatar_url: Text, created: Text })
const Repo = GitHubRepository.extend({
  updated_at: Text,
  size: z.number().nullish(),
  permissions: z.object({ push: z.boolean() }).nullish(),
})
const shown = (repo: z.output<typeof Repo>) => gitHubRepository(repo, repo.updated_at)

const HOOKS: HookForm = {
  schema: z
    .object({
      id: z.int(),
      active: z.boolean(),
      events: z.array(z.string()),
      config: z.record(z.string(), z.unknown()),
    })
    .transform(({ id, active, events, config }) => {
      return { id: String(id), url: String(config.url), isActive: active, events }
    }),
  body: ({ url, secret }) => ({
    active: true,
    events: ['push', 'pull_request', 'pull_request_sync'],
    config: { url, content_type: 'json', secret },
  }),
  born: { type: 'gitea' },
  change: 'PATCH',
}

/** Gitea, by its REST interface of version 1 (`/api/v1`, described by the host itself at `/swagger.v1.json`). */
export function giteaProvider(fetch: OutgoingFetch): Required<Omit<SourceProvider, 'makeApp'>> {
  const rest = new Rest(fetch, {
    base: (connection) => `${hostOf(connection)}/api/v1`,
    headers: (connection) => ({ authorization: `token ${tokenOf(connection)}` }),
    pageSize: 'limit',
  })
  const find = (connection: Connection, id: string, signal?: AbortSignal) =>
    rest.call(connection, `/repositories/${safeId(id, NUMBER)}`, Repo, { signal })
  const account = (connection: Connection, signal?: AbortSignal) => rest.call(connection, '/user', User, { signal })
  const all = (connection: Connection, signal?: AbortSignal) => {
    const { organization } = connection
    const place = organization === undefined ? '/user/repos' : `/orgs/${encodeURIComponent(organization)}/repos`
    return rest.all(connection, place, Repo, signal)
  }

  return {
    async check(connection, signal) {
      const { login, avatar_url: avatarUrl, created: createdAt } = await account(connection, signal)
      const { organization } = connection
      if (organization !== undefined)
        await rest.call(connection, `/orgs/${encodeURIComponent(organization)}`, z.object({}), { signal })
      return accountOf(login, organization, { avatarUrl, createdAt })
    },
    async repositories(connection, search, signal) {
      return searched((await all(connection, signal)).map(shown), search)
    },
    async token(connection, id, signal) {
      const found = await find(connection, id, signal)
      const { login } = await account(connection, signal)
      return {
        token: tokenOf(connection),
        username: login,
        cloneUrl: found.clone_url,
        expiresAt: null,
        permissions: { contents: found.permissions?.push === true ? 'write' : 'read', repositories: 'all' },
      }
    },
    async ensureWebhook(connection, id, hook, signal) {
      const { full_name: fullName } = await find(connection, id, signal)
      const path = `/repos/${fullName.split('/').map(encodeURIComponent).join('/')}/hooks`
      return rest.ensureHook(connection, path, HOOKS, hook, signal)
    },
    async createRepository(connection, repository, signal) {
      const call = { method: 'POST' as const, body: creationOf(repository), signal }
      const path = repository.importUrl === undefined ? '/user/repos' : '/repos/migrate'
      return shown(await rest.call(connection, path, Repo, call))
    },
    async usage(connection, signal) {
      const repositories = await all(connection, signal)
      const kilobytes = repositories.reduce((sum, { size }) => sum + (size ?? 0), 0)
      return { repositoryCount: repositories.length, kilobytes }
    },
  }
}

function creationOf({ name, description, isPrivate, defaultBranch, initialize, importUrl }: NewRepository): object {
  if (importUrl !== undefined)
    return { clone_addr: importUrl, repo_name: name, description, private: isPrivate, service: 'git' }
  return { name, description, private: isPrivate, default_branch: defaultBranch, auto_init: initialize }
}
