import { createPrivateKey } from 'node:crypto'
import { SignJWT } from 'jose'
import { z } from 'zod'
import { CREDENTIAL_KEYS, type Credentials } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { allPages, ask, type Call, NUMBER, safeId } from './calls.ts'
import { type Connection, SourceError, type SourceProvider, type Webhook } from './port.ts'
import { GitHubRepository, repositoryOf } from './repositories.ts'

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
const Repo = GitHubRepository.extend({ pushed_at: Text })
const App = z.object({ id: z.int(), slug: z.string(), html_url: z.string(), pem: z.string() })
const Hook = z.object({ url: z.string().nullish() })
const Delivery = z.object({ delivered_at: z.string(), status_code: z.int() })
const Events = z.object({ events: z.array(z.string()) })

const PUBLIC = 'https://github.com'
const API_VERSION = '2022-11-28'
/** Seconds: GitHub takes ten minutes at most, and its clock may be behind ours. */
const [LIFE, BACKDATED] = [540, 30]

/** A GitHub App, by GitHub's REST interface (docs.github.com/rest); on a server of one's own, below `/api/v3`. */
export function githubProvider(fetch: OutgoingFetch, now: () => number): SourceProvider {
  const app = new AppCalls(fetch, now)
  return {
    async check(connection, signal) {
      const { credentials, baseUrl } = connection
      const found = await app.asApp(credentials, baseUrl, placeOf(connection), Installation, { signal })
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
      const { token } = await app.issue(connection, { permissions: { metadata: 'read' } }, signal)
      const found = await allPages(async (page, size) => {
        const path = `/installation/repositories?page=${page}&per_page=${size}`
        const answer = z.object({ repositories: z.array(Repo) })
        return (await app.call(`Bearer ${token}`, connection.baseUrl, path, answer, { signal })).repositories
      })
      const words = search.toLowerCase()
      return found
        .filter(({ full_name: name }) => name.toLowerCase().includes(words))
        .map((repo) => repositoryOf(repo, repo.pushed_at))
    },
    async token(connection, id, signal) {
      const permissions = { contents: 'read' }
      const body = { repository_ids: [Number(safeId(id, NUMBER))], permissions }
      const { token, expires_at: expiresAt, permissions: given } = await app.issue(connection, body, signal)
      const found = await app.call(`Bearer ${token}`, connection.baseUrl, `/repositories/${id}`, Repo, { signal })
      const all = { ...(given ?? permissions), repositories: 'one' }
      return { token, username: 'x-access-token', cloneUrl: found.clone_url, expiresAt, permissions: all }
    },
    ensureWebhook: (connection, id, hook, signal) => ensureHook(app, connection, id, hook, signal),
    async makeApp(baseUrl, code, { url, secret }, signal) {
      const path = `/app-manifests/${safeId(code, /^[A-Za-z0-9_-]{1,128}$/)}/conversions`
      const call = { method: 'POST' as const, signal }
      const { id, slug, html_url: htmlUrl, pem } = await app.call(undefined, baseUrl, path, App, call)
      const { appId, appSlug, privateKey, webhookSecret } = CREDENTIAL_KEYS
      const credentials = { [appId]: String(id), [appSlug]: slug, [privateKey]: pem, [webhookSecret]: secret }
      const body = { url, content_type: 'json', secret, insecure_ssl: '0' }
      await app.asApp(credentials, baseUrl, '/app/hook/config', Hook, { method: 'PATCH', body, signal })
      return { credentials, slug, htmlUrl }
    },
  }
}

/** Calls as the App itself, and with tokens of its installations. */
class AppCalls {
  readonly #fetch: OutgoingFetch
  readonly #now: () => number

  constructor(fetch: OutgoingFetch, now: () => number) {
    this.#fetch = fetch
    this.#now = now
  }

  call<Schema extends z.ZodType>(
    authorization: string | undefined,
    baseUrl: string,
    path: string,
    schema: Schema,
    call: Call = {},
  ): Promise<z.output<Schema>> {
    const base = baseUrl === PUBLIC ? 'https://api.github.com' : `${baseUrl.replace(/\/+$/, '')}/api/v3`
    const headers = {
      accept: 'application/vnd.github+json',
      'x-github-api-version': API_VERSION,
      ...(authorization !== undefined && { authorization }),
    }
    return ask(this.#fetch, `${base}${path}`, schema, { ...call, headers })
  }

  async asApp<Schema extends z.ZodType>(
    credentials: Credentials,
    baseUrl: string,
    path: string,
    schema: Schema,
    call: Call = {},
  ): Promise<z.output<Schema>> {
    return this.call(`Bearer ${await appToken(credentials, this.#now())}`, baseUrl, path, schema, call)
  }

  async issue(connection: Connection, body: object, signal?: AbortSignal): Promise<z.output<typeof Token>> {
    const { credentials, baseUrl } = connection
    const path = `${placeOf(connection)}/access_tokens`
    return this.asApp(credentials, baseUrl, path, Token, { method: 'POST', body, signal })
  }
}

/** @throws SourceError NotFound */
function placeOf({ installationId }: Connection): string {
  if (installationId !== undefined) return `/app/installations/${safeId(installationId, NUMBER)}`
  throw new SourceError('NotFound', 'The GitHub App is not installed yet.')
}

/** An App has one webhook for all its repositories. */
async function ensureHook(
  app: AppCalls,
  connection: Connection,
  id: string,
  { url, secret }: { url: string; secret: string },
  signal?: AbortSignal,
): Promise<Webhook> {
  const { baseUrl, credentials } = connection
  // Answers NotFound for a repository that the installation does not reach.
  await app.issue(connection, { repository_ids: [Number(safeId(id, NUMBER))] }, signal)
  const before = await app.asApp(credentials, baseUrl, '/app/hook/config', Hook, { signal })
  const body = { url, content_type: 'json', secret, insecure_ssl: '0' }
  await app.asApp(credentials, baseUrl, '/app/hook/config', Hook, { method: 'PATCH', body, signal })
  const { events } = await app.asApp(credentials, baseUrl, '/app', Events, { signal })
  const path = '/app/hook/deliveries?per_page=1'
  const [last] = await app.asApp(credentials, baseUrl, path, z.array(Delivery), { signal })
  return {
    url,
    isActive: true,
    events,
    lastDeliveryAt: last?.delivered_at ?? null,
    lastDeliveryStatus: last?.status_code ?? null,
    created: (before.url ?? '') === '',
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
