import { z } from 'zod'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { NUMBER, safeId } from './calls.ts'
import type { SourceProvider } from './port.ts'
import { repositoryOf, Text } from './repositories.ts'
import { accountOf, type HookForm, hostOf, Rest, tokenOf } from './rest.ts'

const User = z.object({ username: z.string(), avatar_url: Text, created_at: Text })
const Project = z
  .object({
    id: z.int(),
    path_with_namespace: z.string(),
    web_url: z.string(),
    http_url_to_repo: z.string(),
    default_branch: Text,
    visibility: z.string(),
    archived: z.boolean().nullish(),
    description: Text,
    last_activity_at: Text,
  })
  .transform((project) =>
    repositoryOf({
      id: String(project.id),
      fullName: project.path_with_namespace,
      url: project.web_url,
      cloneUrl: project.http_url_to_repo,
      defaultBranch: project.default_branch ?? '',
      isPrivate: project.visibility !== 'public',
      isArchived: project.archived ?? false,
      description: project.description || null,
      pushedAt: project.last_activity_at ?? null,
    }),
  )
const DeployToken = z.object({ username: z.string(), token: z.string(), expires_at: Text })

const EVENTS = { push_events: true, tag_push_events: true, merge_requests_events: true }
const HOOKS: HookForm = {
  schema: z
    .object({ id: z.int(), url: z.string(), alert_status: Text })
    .transform(({ id, url, alert_status: state }) => {
      return { id: String(id), url, isActive: (state ?? 'executable') === 'executable', events: Object.keys(EVENTS) }
    }),
  body: ({ url, secret }) => ({ url, token: secret, enable_ssl_verification: true, ...EVENTS }),
  change: 'PUT',
}

/** A deploy token is good for a day. */
const TOKEN_MILLISECONDS = 86_400_000

/** GitLab, by version 4 of its REST interface (docs.gitlab.com/api). Its token needs the scope `api`. */
export function gitlabProvider(fetch: OutgoingFetch, now: () => number): SourceProvider {
  const rest = new Rest(fetch, {
    base: (connection) => `${hostOf(connection)}/api/v4`,
    headers: (connection) => ({ authorization: `Bearer ${tokenOf(connection)}` }),
    pageSize: 'per_page',
  })
  const project = (id: string) => `/projects/${safeId(id, NUMBER)}`
  const group = (organization: string) => `/groups/${encodeURIComponent(organization)}`

  return {
    async check(connection, signal) {
      const { organization } = connection
      const user = await rest.call(connection, '/user', User, { signal })
      if (organization !== undefined)
        await rest.call(connection, `${group(organization)}?with_projects=false`, z.object({}), { signal })
      return accountOf(user.username, organization, { avatarUrl: user.avatar_url, createdAt: user.created_at })
    },
    async repositories(connection, search = '', signal) {
      const { organization } = connection
      const place =
        organization === undefined
          ? '/projects?membership=true'
          : `${group(organization)}/projects?include_subgroups=true`
      const words = search === '' ? '' : `&search=${encodeURIComponent(search)}`
      return rest.all(connection, `${place}&order_by=id${words}`, Project, signal)
    },
    async token(connection, id, signal) {
      const { cloneUrl } = await rest.call(connection, project(id), Project, { signal })
      const expiresAt = new Date(now() + TOKEN_MILLISECONDS).toISOString()
      const body = { name: 'freehold', scopes: ['read_repository'], expires_at: expiresAt }
      const path = `${project(id)}/deploy_tokens`
      const made = await rest.call(connection, path, DeployToken, { method: 'POST', body, signal })
      return {
        token: made.token,
        username: made.username,
        cloneUrl,
        expiresAt: made.expires_at ?? expiresAt,
        permissions: { contents: 'read', repositories: 'one' },
      }
    },
    ensureWebhook: async (connection, id, hook, signal) =>
      rest.ensureHook(connection, `${project(id)}/hooks`, HOOKS, hook, signal),
  }
}
