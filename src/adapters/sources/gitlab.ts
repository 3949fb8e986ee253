import { z } from 'zod'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { allPages, ask, type Call, NUMBER, safeId } from './calls.ts'
import type { Connection, Repository, SourceProvider, Webhook } from './port.ts'

const Text = z.string().nullish()
const User = z.object({ username: z.string(), avatar_url: Text, created_at: Text })
const Project = z.object({
  id: z.int(),
  path: z.string(),
  path_with_namespace: z.string(),
  namespace: z.object({ full_path: z.string() }),
  web_url: z.string(),
  http_url_to_repo: z.string(),
  default_branch: Text,
  visibility: z.string(),
  archived: z.boolean().nullish(),
  description: Text,
  last_activity_at: Text,
})
const Hook = z.object({ id: z.int(), url: z.string(), alert_status: Text })
const DeployToken = z.object({ username: z.string(), token: z.string(), expires_at: Text })

const EVENTS = { push_events: true, tag_push_events: true, merge_requests_events: true }
/** A deploy token is good for a day. */
const TOKEN_MILLISECONDS = 86_400_000

type Api = ReturnType<typeof apiOf>

const apiOf =
  (fetch: OutgoingFetch) =>
  <Schema extends z.ZodType>({ baseUrl, credentials }: Connection, path: string, schema: Schema, call: Call = {}) =>
    ask(fetch, `${baseUrl.replace(/\/+$/, '')}/api/v4${path}`, schema, {
      ...call,
      headers: { authorization: `Bearer ${credentials[CREDENTIAL_KEYS.token] ?? ''}` },
    })

/** GitLab, by version 4 of its REST interface (docs.gitlab.com/api). Its token needs the scope `api`. */
export function gitlabProvider(fetch: OutgoingFetch, now: () => number): SourceProvider {
  const api = apiOf(fetch)
  const project = (id: string) => `/projects/${safeId(id, NUMBER)}`

  return {
    async check(connection, signal) {
      const { organization } = connection
      const user = await api(connection, '/user', User, { signal })
      const installation = {
        avatarUrl: user.avatar_url ?? undefined,
        repositorySelection: 'All' as const,
        permissions: { repositories: 'all' },
        createdAt: user.created_at ?? undefined,
      }
      if (organization === undefined) return { accountName: user.username, accountType: 'User', installation }
      await api(connection, `/groups/${encodeURIComponent(organization)}?with_projects=false`, z.object({}), { signal })
      return { accountName: organization, accountType: 'Organization', installation }
    },
    async repositories(connection, search = '', signal) {
      const { organization } = connection
      const place =
        organization === undefined
          ? '/projects?membership=true&'
          : `/groups/${encodeURIComponent(organization)}/projects?include_subgroups=true&`
      const words = search === '' ? '' : `&search=${encodeURIComponent(search)}`
      const found = await allPages((page, size) =>
        api(connection, `${place}page=${page}&per_page=${size}&order_by=id${words}`, z.array(Project), { signal }),
      )
      return found.map(repositoryOf)
    },
    async token(connection, id, signal) {
      const found = await api(connection, project(id), Project, { signal })
      const expiresAt = new Date(now() + TOKEN_MILLISECONDS).toISOString()
      const body = { name: 'freehold', scopes: ['read_repository'], expires_at: expiresAt }
      const path = `${project(id)}/deploy_tokens`
      const made = await api(connection, path, DeployToken, { method: 'POST', body, signal })
      return {
        token: made.token,
        username: made.username,
        cloneUrl: found.http_url_to_repo,
        expiresAt: made.expires_at ?? expiresAt,
        permissions: { contents: 'read', repositories: 'one' },
      }
    },
    ensureWebhook: async (connection, id, hook, signal) =>
      ensureHook(api, connection, `${project(id)}/hooks`, hook, signal),
  }
}

async function ensureHook(
  api: Api,
  connection: Connection,
  path: string,
  { url, secret }: { url: string; secret: string },
  signal?: AbortSignal,
): Promise<Webhook> {
  const hooks = await allPages((page, size) =>
    api(connection, `${path}?page=${page}&per_page=${size}`, z.array(Hook), { signal }),
  )
  const present = hooks.find((one) => one.url === url)
  const body = { url, token: secret, enable_ssl_verification: true, ...EVENTS }
  const made =
    present === undefined
      ? await api(connection, path, Hook, { method: 'POST', body, signal })
      : await api(connection, `${path}/${present.id}`, Hook, { method: 'PUT', body, signal })
  return {
    url,
    isActive: (made.alert_status ?? 'executable') === 'executable',
    events: Object.keys(EVENTS),
    lastDeliveryAt: null,
    lastDeliveryStatus: null,
    created: present === undefined,
  }
}

function repositoryOf(project: z.output<typeof Project>): Repository {
  return {
    id: String(project.id),
    name: project.path,
    fullName: project.path_with_namespace,
    owner: project.namespace.full_path,
    url: project.web_url,
    cloneUrl: project.http_url_to_repo,
    defaultBranch: project.default_branch ?? '',
    isPrivate: project.visibility !== 'public',
    isArchived: project.archived ?? false,
    description: project.description || null,
    language: null,
    pushedAt: project.last_activity_at ?? null,
  }
}
