import { z } from 'zod'
import { CIRCUIT_TOKEN_ROTATION_MS, CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import { timestamp } from '../../core/clock.ts'
import { withFieldPaths } from '../../core/fieldPaths.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { NUMERIC_ID, safeId } from './calls.ts'
import type { Connection, NewRepository, SourceProvider } from './port.ts'
import { GITHUB_REPOSITORY_FIELDS, nameFilter, ProviderRepository, repositoryOf } from './repositories.ts'
import { Account, createRestCalls, hostUrlOf, ProviderWebhook, tokenOf, type WebhookFormat } from './rest.ts'

const User = withFieldPaths({ name: 'login', avatarUrl: 'avatar_url', createdAt: 'created' }, Account)
const Repo = withFieldPaths(
  { ...GITHUB_REPOSITORY_FIELDS, pushedAt: 'updated_at', kilobytes: 'size', mayPush: 'permissions.push' },
  ProviderRepository.extend({ kilobytes: z.number().nullish(), mayPush: z.boolean().nullish() }),
)

const HOOKS: WebhookFormat = {
  schema: withFieldPaths({ id: 'id', url: 'config.url', isActive: 'active', events: 'events' }, ProviderWebhook),
  body: ({ url, secret }) => ({
    active: true,
    events: ['push', 'delete', 'pull_request', 'pull_request_sync'],
    config: { url, content_type: 'json', secret },
  }),
  createBody: { type: 'gitea' },
  change: 'PATCH',
}

/** Gitea, through version 1 of its REST API (`/api/v1`, documented by each host at `/swagger.v1.json`). */
export function giteaProvider(fetch: OutgoingFetch): Required<SourceProvider> {
  const rest = createRestCalls(fetch, {
    base: (connection) => `${hostUrlOf(connection)}/api/v1`,
    headers: (connection) => ({ authorization: `token ${tokenOf(connection)}` }),
    pageSize: 'limit',
    hasShortPages: true,
  })
  const find = (connection: Connection, id: string, signal?: AbortSignal) =>
    rest(connection, signal).call(`/repositories/${safeId(id, NUMERIC_ID)}`, Repo)
  const place = ({ organization }: Connection) =>
    organization === undefined ? undefined : `/orgs/${encodeURIComponent(organization)}`
  const all = (connection: Connection, search?: string, signal?: AbortSignal) =>
    rest(connection, signal).all(`${place(connection) ?? '/user'}/repos`, Repo, nameFilter(search))

  return {
    check: (connection, signal) => rest(connection, signal).check(User, place(connection)),
    async repositories(connection, search, signal) {
      return (await all(connection, search, signal)).map(repositoryOf)
    },
    async token(connection, id, signal) {
      const { cloneUrl, mayPush } = await find(connection, id, signal)
      const { name: username } = await rest(connection, signal).call('/user', User)
      return {
        token: tokenOf(connection),
        username,
        cloneUrl,
        expiresAt: endOfToken(connection),
        permissions: { contents: mayPush === true ? 'write' : 'read', repositories: 'all' },
      }
    },
    async ensureWebhook(connection, id, hook, signal) {
      const { fullName } = await find(connection, id, signal)
      const path = `/repos/${fullName.split('/').map(encodeURIComponent).join('/')}/hooks`
      return rest(connection, signal).ensureHook(path, HOOKS, hook)
    },
    async createRepository(connection, repository, signal) {
      const path = repository.importUrl === undefined ? '/user/repos' : '/repos/migrate'
      const call = { method: 'POST', body: creationOf(repository), conflict: 'NameTaken' } as const
      return repositoryOf(await rest(connection, signal).call(path, Repo, call))
    },
    async usage(connection, signal) {
      const repositories = await all(connection, undefined, signal)
      const sum = repositories.reduce((before, { kilobytes }) => before + (kilobytes ?? 0), 0)
      return { repositoryCount: repositories.length, kilobytes: sum }
    },
  }
}

/** Tokens of Gitea do not expire; the platform replaces those of its own Git host. */
function endOfToken({ provider, credentials }: Connection): string | null {
  const issuedAt = credentials[CREDENTIAL_KEYS.tokenIssuedAt]
  if (provider !== 'Circuit' || issuedAt === undefined) return null
  return timestamp(Date.parse(issuedAt) + 2 * CIRCUIT_TOKEN_ROTATION_MS)
}

function creationOf({ name, description, isPrivate, defaultBranch, initialize, importUrl }: NewRepository): object {
  if (importUrl !== undefined)
    return { clone_addr: importUrl, repo_name: name, description, private: isPrivate, service: 'git' }
  return { name, description, private: isPrivate, default_branch: defaultBranch, auto_init: initialize }
}
