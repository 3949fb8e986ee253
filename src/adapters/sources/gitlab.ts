import { z } from 'zod'
import { DAY_MS } from '../../core/clock.ts'
import { withFieldPaths } from '../../core/fieldPaths.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { NUMERIC_ID, safeId } from './calls.ts'
import type { Connection, SourceProvider } from './port.ts'
import { NullishText, repositorySchema } from './repositories.ts'
import { Account, createRestCalls, hostUrlOf, ProviderWebhook, tokenOf, type WebhookFormat } from './rest.ts'

const User = withFieldPaths({ name: 'username', avatarUrl: 'avatar_url', createdAt: 'created_at' }, Account)
const Project = repositorySchema({
  id: 'id',
  fullName: 'path_with_namespace',
  url: 'web_url',
  cloneUrl: 'http_url_to_repo',
  defaultBranch: 'default_branch',
  isPrivate: 'visibility',
  isArchived: 'archived',
  description: 'description',
  pushedAt: 'last_activity_at',
})
const DeployToken = z.object({ username: z.string(), token: z.string(), expires_at: NullishText })
const KeptToken = z.object({ id: z.int(), name: NullishText, expires_at: NullishText })

const EVENTS = { push_events: true, tag_push_events: true, merge_requests_events: true }
const HOOKS: WebhookFormat = {
  schema: withFieldPaths(
    { id: 'id', url: 'url', isActive: 'alert_status' },
    ProviderWebhook.omit({ events: true }).extend({
      isActive: NullishText.transform((state) => (state ?? 'executable') === 'executable'),
    }),
  ).transform((hook) => ({ ...hook, events: Object.keys(EVENTS) })),
  body: ({ url, secret }) => ({ url, token: secret, enable_ssl_verification: true, ...EVENTS }),
  change: 'PUT',
}

/** Lifetime of deploy tokens: a day. */
const TOKEN_TTL_MS = DAY_MS
const TOKEN_NAME = 'freehold'

/** Expired tokens to delete per call, so that the caller does not wait long. */
const REMOVED_MAX = 20

/** GitLab, through version 4 of its REST API (docs.gitlab.com/api). Its token needs the scope `api`. */
export function gitlabProvider(fetch: OutgoingFetch, now: () => number): SourceProvider {
  const rest = createRestCalls(fetch, {
    base: (connection) => `${hostUrlOf(connection)}/api/v4`,
    headers: (connection) => ({ authorization: `Bearer ${tokenOf(connection)}` }),
    pageSize: 'per_page',
  })
  const project = (id: string) => `/projects/${safeId(id, NUMERIC_ID)}`
  const group = ({ organization }: Connection, below: string) =>
    organization === undefined ? undefined : `/groups/${encodeURIComponent(organization)}${below}`

  /** GitLab never deletes expired deploy tokens by itself. */
  async function removeExpired(connection: Connection, id: string, signal?: AbortSignal): Promise<void> {
    const { all, call } = rest(connection, signal)
    const isExpired = ({ name, expires_at: end }: z.output<typeof KeptToken>) =>
      name === TOKEN_NAME && Date.parse(end ?? '') <= now()
    const expired = await all(`${project(id)}/deploy_tokens`, KeptToken, isExpired)
    for (const token of expired.slice(0, REMOVED_MAX))
      await call(`${project(id)}/deploy_tokens/${token.id}`, z.unknown(), { method: 'DELETE' })
  }

  return {
    check: (connection, signal) => rest(connection, signal).check(User, group(connection, '?with_projects=false')),
    async repositories(connection, search = '', signal) {
      const place = group(connection, '/projects?include_subgroups=true') ?? '/projects?membership=true'
      const query = search === '' ? '' : `&search=${encodeURIComponent(search)}`
      return rest(connection, signal).all(`${place}&order_by=id${query}`, Project)
    },
    async token(connection, id, signal) {
      const { call } = rest(connection, signal)
      const { cloneUrl } = await call(project(id), Project)
      const expiresAt = new Date(now() + TOKEN_TTL_MS).toISOString()
      const body = { name: TOKEN_NAME, scopes: ['read_repository'], expires_at: expiresAt }
      const made = await call(`${project(id)}/deploy_tokens`, DeployToken, { method: 'POST', body })
      await removeExpired(connection, id, signal).catch(() => undefined)
      return {
        token: made.token,
        username: made.username,
        cloneUrl,
        expiresAt: made.expires_at ?? expiresAt,
        permissions: { contents: 'read', repositories: 'one' },
      }
    },
    ensureWebhook: async (connection, id, hook, signal) =>
      rest(connection, signal).ensureHook(`${project(id)}/hooks`, HOOKS, hook),
  }
}
