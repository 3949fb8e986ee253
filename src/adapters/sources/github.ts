import { createPrivateKey } from 'node:crypto'
import { SignJWT } from 'jose'
import { z } from 'zod'
import { CREDENTIAL_KEYS, type Credentials } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { allPages, ask, type Call, NUMBER, safeId } from './calls.ts'
import type { Provider } from './client.ts'
import { type Connection, type Repository, SourceError } from './port.ts'

const Text = z.string().nullish()
const Permissions = z.record(z.string(), z.string())
const Installation = z.object({
  id: z.int(),
  account: z.object({ login: z.string(), type: z.string(), avatar_url: Text }),
  repository_selection: z.enum(['all', 'selected']),
  permissions: Permissions,
  suspended_at: Text,
  created_at: Text,
})
const Token = z.object({ token: z.string().min(1), expires_at: z.string(), permissions: Permissions.optional() })
const Repo = z.object({
  id: z.int(),
  name: z.string(),
  full_name: z.string(),
  owner: z.object({ login: z.string() }),
  html_url: z.string(),
  clone_url: z.string(),
  default_branch: Text,
  private: z.boolean(),
  archived: z.boolean().nullish(),
  description: Text,
  language: Text,
  pushed_at: Text,
})
const App = z.object({ id: z.int(), slug: z.string(), html_url: z.string(), pem: z.string() })
const Hook = z.object({ url: z.string().nullish() })
const Delivery = z.object({ delivered_at: z.string(), status_code: z.int() })
const Events = z.object({ events: z.array(z.string()) })

const PUBLIC = 'https://github.com'
const API_VERSION = '2022-11-28'
/** Seconds: GitHub takes ten minutes at most, and its clock may be behind ours. */
const [LIFE, BACKDATED] = [540, 30]

/** A GitHub App, by GitHub's REST interface (docs.github.com/rest); on a server of one's own, below `/api/v3`. */
export function githubProvider(fetch: OutgoingFetch, now: () => number): Provider {
  const apiOf = (baseUrl: string) =>
    baseUrl === PUBLIC ? 'https://api.github.com' : `${baseUrl.replace(/\/+$/, '')}/api/v3`
  const api = <Schema extends z.ZodType>(
    baseUrl: string,
    path: string,
    schema: Schema,
    { authorization, ...call }: Call & { authorization?: string } = {},
  ) =>
    ask(fetch, `${apiOf(baseUrl)}${path}`, schema, {
      ...call,
      headers: {
        accept: 'application/vnd.github+json',
        'x-github-api-version': API_VERSION,
        ...(authorization !== undefined && { authorization }),
      },
    })
  const asApp = async (credentials: Credentials) => `Bearer ${await appToken(credentials, now())}`
  const place = ({ installationId }: Connection) => {
    if (installationId !== undefined) return `/app/installations/${safeId(installationId, NUMBER)}`
    throw new SourceError('NotFound', 'The GitHub App is not installed yet.')
  }
  async function issue(connection: Connection, body: object, signal?: AbortSignal) {
    const authorization = await asApp(connection.credentials)
    const path = `${place(connection)}/access_tokens`
    return api(connection.baseUrl, path, Token, { method: 'POST', body, authorization, signal })
  }

  return {
    async check(connection, signal) {
      const authorization = await asApp(connection.credentials)
      const found = await api(connection.baseUrl, place(connection), Installation, { authorization, signal })
      return {
        accountName: found.account.login,
        accountType: found.account.type === 'Organization' ? 'Organization' : 'User',
        installation: {
          avatarUrl: found.account.avatar_url ?? undefined,
          repositorySelection: found.repository_selection === 'all' ? 'All' : 'Selected',
          permissions: found.permissions,
          suspendedAt: found.suspended_at ?? undefined,
          createdAt: found.created_at ?? undefined,
        },
      }
    },
    async repositories(connection, search = '', signal) {
      const { token } = await issue(connection, { permissions: { metadata: 'read' } }, signal)
      const authorization = `Bearer ${token}`
      const found = await allPages(async (page, size) => {
        const path = `/installation/repositories?page=${page}&per_page=${size}`
        const answer = z.object({ repositories: z.array(Repo) })
        return (await api(connection.baseUrl, path, answer, { authorization, signal })).repositories
      })
      const words = search.toLowerCase()
      return found.filter(({ full_name }) => full_name.toLowerCase().includes(words)).map(repositoryOf)
    },
    async token(connection, id, signal) {
      const permissions = { contents: 'read' }
      const body = { repository_ids: [Number(safeId(id, NUMBER))], permissions }
      const made = await issue(connection, body, signal)
      const authorization = `Bearer ${made.token}`
      const found = await api(connection.baseUrl, `/repositories/${id}`, Repo, { authorization, signal })
      return {
        token: made.token,
        username: 'x-access-token',
        cloneUrl: found.clone_url,
        expiresAt: made.expires_at,
        permissions: { ...(made.permissions ?? permissions), repositories: 'one' },
      }
    },
    /** An App has one webhook for all its repositories. */
    async ensureWebhook(connection, id, hook, signal) {
      const { baseUrl, credentials } = connection
      // Answers NotFound for a repository that the installation does not reach.
      await issue(connection, { repository_ids: [Number(safeId(id, NUMBER))] }, signal)
      const authorization = await asApp(credentials)
      const before = await api(baseUrl, '/app/hook/config', Hook, { authorization, signal })
      const body = { url: hook.url, content_type: 'json', secret: hook.secret, insecure_ssl: '0' }
      await api(baseUrl, '/app/hook/config', Hook, { method: 'PATCH', body, authorization, signal })
      const { events } = await api(baseUrl, '/app', Events, { authorization, signal })
      const path = '/app/hook/deliveries?per_page=1'
      const [last] = await api(baseUrl, path, z.array(Delivery), { authorization, signal })
      return {
        url: hook.url,
        isActive: true,
        events,
        lastDeliveryAt: last?.delivered_at ?? null,
        lastDeliveryStatus: last?.status_code ?? null,
        created: (before.url ?? '') === '',
      }
    },
    async makeApp(baseUrl, code, hook, signal) {
      const path = `/app-manifests/${encodeURIComponent(safeId(code, /^[A-Za-z0-9_-]{1,128}$/))}/conversions`
      const { id, slug, html_url: htmlUrl, pem } = await api(baseUrl, path, App, { method: 'POST', signal })
      const { appId, appSlug, privateKey, webhookSecret } = CREDENTIAL_KEYS
      const credentials = { [appId]: String(id), [appSlug]: slug, [privateKey]: pem, [webhookSecret]: hook.secret }
      const body = { url: hook.url, content_type: 'json', secret: hook.secret, insecure_ssl: '0' }
      const authorization = await asApp(credentials)
      await api(baseUrl, '/app/hook/config', Hook, { method: 'PATCH', body, authorization, signal })
      return { credentials, slug, htmlUrl }
    },
  }
}

async function appToken(credentials: Credentials, now: number): Promise<string> {
  const seconds = Math.floor(now / 1000)
  try {
    const key = createPrivateKey(credentials[CREDENTIAL_KEYS.privateKey] ?? '')
    return await new SignJWT()
      .setProtectedHeader({ alg: 'RS256' })
      .setIssuer(credentials[CREDENTIAL_KEYS.appId] ?? '')
      .setIssuedAt(seconds - BACKDATED)
      .setExpirationTime(seconds + LIFE)
      .sign(key)
  } catch (error) {
    const message = 'The private key of the GitHub App cannot be read: it is RSA, as PEM.'
    throw new SourceError('CredentialRejected', message, { cause: error })
  }
}

function repositoryOf(repo: z.output<typeof Repo>): Repository {
  return {
    id: String(repo.id),
    name: repo.name,
    fullName: repo.full_name,
    owner: repo.owner.login,
    url: repo.html_url,
    cloneUrl: repo.clone_url,
    defaultBranch: repo.default_branch ?? '',
    isPrivate: repo.private,
    isArchived: repo.archived ?? false,
    description: repo.description || null,
    language: repo.language || null,
    pushedAt: repo.pushed_at ?? null,
  }
}
