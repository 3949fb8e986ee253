import { createPrivateKey } from 'node:crypto'
import { SignJWT } from 'jose'
import { z } from 'zod'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { NUMERIC_ID, safeId } from './calls.ts'
import {
  type CheckedAccount,
  type Connection,
  SourceError,
  type SourcePort,
  type SourceProvider,
  type WebhookTarget,
} from './port.ts'
import { GITHUB_REPOSITORY_FIELDS, NullishText, nameFilter, repositorySchema } from './repositories.ts'
import { createRestCalls, hostUrlOf } from './rest.ts'

const Permissions = z.record(z.string(), z.string())
const Installation = z
  .object({
    account: z.object({ login: z.string(), type: z.string(), avatar_url: NullishText }),
    repository_selection: z.enum(['all', 'selected']),
    permissions: Permissions,
    suspended_at: NullishText,
    created_at: NullishText,
  })
  .transform(
    ({ account, ...found }): CheckedAccount => ({
      accountName: account.login,
      accountType: account.type === 'Organization' ? 'Organization' : 'User',
      installation: {
        avatarUrl: account.avatar_url ?? undefined,
        repositorySelection: found.repository_selection === 'all' ? 'All' : 'Selected',
        permissions: found.permissions,
        suspendedAt: found.suspended_at ?? undefined,
        createdAt: found.created_at ?? undefined,
      },
    }),
  )
const Token = z.object({ token: z.string().min(1), expires_at: z.string(), permissions: Permissions.optional() })
const Repo = repositorySchema({ ...GITHUB_REPOSITORY_FIELDS, pushedAt: 'pushed_at' })
const App = z.object({ id: z.int(), slug: z.string(), html_url: z.string(), pem: z.string() })
const Hook = z.object({ url: NullishText })
const Delivery = z.object({ delivered_at: z.string(), status_code: z.int() })
const Events = z.object({ events: z.array(z.string()) })

const PUBLIC = 'https://github.com'
const API_VERSION = '2022-11-28'
const HOOK = '/app/hook/config'
/** Seconds: GitHub takes ten minutes at most, and its clock may be a minute behind ours. */
const [LIFE, BACKDATED] = [540, 60]

/** A GitHub App, through GitHub's REST API (docs.github.com/rest); on GitHub Enterprise Server below `/api/v3`. */
export function githubProvider(fetch: OutgoingFetch, now: () => number): SourceProvider & Pick<SourcePort, 'makeApp'> {
  const rest = restAs(fetch, (connection) => appToken(connection, now()))
  const restWith = (token: string) => restAs(fetch, () => `Bearer ${token}`)
  /** GitHub answers 422 for a repository outside the installation, so `conflict` means NotFound. */
  const issue = (connection: Connection, body: object, signal?: AbortSignal) => {
    const call = { method: 'POST', body, conflict: 'NotFound' } as const
    return rest(connection, signal).call(`${installationPath(connection)}/access_tokens`, Token, call)
  }
  /** An App has one webhook for all its repositories. */
  const writeHook = (connection: Connection, { url, secret }: WebhookTarget, signal?: AbortSignal) => {
    const body = { url, content_type: 'json', secret, insecure_ssl: '0' }
    return rest(connection, signal).call(HOOK, Hook, { method: 'PATCH', body })
  }

  return {
    check: async (connection, signal) => rest(connection, signal).call(installationPath(connection), Installation),
    async repositories(connection, search, signal) {
      const { token } = await issue(connection, { permissions: { metadata: 'read' } }, signal)
      const { all } = restWith(token)(connection, signal)
      return all('/installation/repositories', Repo, nameFilter(search))
    },
    async token(connection, id, signal) {
      const permissions = { contents: 'read' }
      const body = { repository_ids: [Number(safeId(id, NUMERIC_ID))], permissions }
      const { token, expires_at: expiresAt, permissions: given } = await issue(connection, body, signal)
      const { cloneUrl } = await restWith(token)(connection, signal).call(`/repositories/${id}`, Repo)
      const all = { ...(given ?? permissions), repositories: 'one' }
      return { token, username: 'x-access-token', cloneUrl, expiresAt, permissions: all }
    },
    async ensureWebhook(connection, id, hook, signal) {
      // Fails with NotFound for a repository outside the installation.
      await issue(connection, { repository_ids: [Number(safeId(id, NUMERIC_ID))] }, signal)
      const { call } = rest(connection, signal)
      const before = await call(HOOK, Hook)
      await writeHook(connection, hook, signal)
      const { events } = await call('/app', Events)
      const [last] = await call('/app/hook/deliveries?per_page=1', z.array(Delivery))
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
      const path = `/app-manifests/${safeId(code, /^[A-Za-z0-9_-]{1,128}$/)}/conversions`
      const connection: Connection = { provider: 'GitHub', baseUrl, credentials: {} }
      const asNobody = restAs(fetch, () => undefined)(connection, signal)
      const { id, slug, html_url: htmlUrl, pem } = await asNobody.call(path, App, { method: 'POST' })
      const { appId, appSlug, privateKey, webhookSecret } = CREDENTIAL_KEYS
      const credentials = { [appId]: String(id), [appSlug]: slug, [privateKey]: pem, [webhookSecret]: hook.secret }
      await writeHook({ ...connection, credentials }, hook, signal)
      return { credentials, slug, htmlUrl }
    },
  }
}

type Authorization = string | undefined | Promise<string>

const restAs = (fetch: OutgoingFetch, authorizationOf: (connection: Connection) => Authorization) =>
  createRestCalls(fetch, {
    base: (connection) =>
      connection.baseUrl === PUBLIC ? 'https://api.github.com' : `${hostUrlOf(connection)}/api/v3`,
    headers: async (connection) => {
      const authorization = await authorizationOf(connection)
      const accept = 'application/vnd.github+json'
      return { accept, 'x-github-api-version': API_VERSION, ...(authorization !== undefined && { authorization }) }
    },
    pageSize: 'per_page',
    pageIn: 'repositories',
  })

/** @throws SourceError NotFound */
function installationPath({ installationId }: Connection): string {
  if (installationId !== undefined) return `/app/installations/${safeId(installationId, NUMERIC_ID)}`
  throw new SourceError('NotFound', 'The GitHub App is not installed yet.')
}

/** Returns a JWT of the App, signed with its private key. */
async function appToken({ credentials }: Connection, now: number): Promise<string> {
  const seconds = Math.floor(now / 1000)
  try {
    const signed = await new SignJWT()
      .setProtectedHeader({ alg: 'RS256' })
      .setIssuer(credentials[CREDENTIAL_KEYS.appId] ?? '')
      .setIssuedAt(seconds - BACKDATED)
      .setExpirationTime(seconds + LIFE)
      .sign(createPrivateKey(credentials[CREDENTIAL_KEYS.privateKey] ?? ''))
    return `Bearer ${signed}`
  } catch (error) {
    const message = 'The private key of the GitHub App cannot be read: it must be RSA, as PEM.'
    throw new SourceError('CredentialRejected', message, error)
  }
}
