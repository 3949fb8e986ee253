import { Agent, type Dispatcher, request } from 'undici'
import type { z } from 'zod'
import { connectorTrusting, withDefaultAuthorities } from '../../core/authorities.ts'
import { connectionFailure } from '../../core/connectionFailure.ts'
import { tryParseJson } from '../../core/tryParseJson.ts'
import { IdentityProviderError } from './port.ts'

export type KeycloakOptions = {
  /** Base URL of Keycloak, without the path of a realm. */
  url: string
  realm: string
  /** A service account that may administer the realm. It belongs to `adminRealm`, by default the realm itself. */
  clientId: string
  clientSecret: () => string
  adminRealm?: string
  /** Returns PEM, in addition to the authorities that Node trusts. */
  certificateAuthority?: (() => string) | undefined
}

export type AdminAnswer = { status: number; location: string | undefined; body: unknown }

/** Calls Keycloak's admin API for one realm. */
export interface KeycloakAdmin {
  /**
   * @param path below `/admin/realms/<realm>`, with escaped segments
   * @param accepted further statuses that the caller handles, if Keycloak gives its reason: a page of a load balancer before
   *   it means nothing
   * @throws IdentityProviderError Unavailable for any other status, or no answer
   */
  call(method: Method, path: string, options?: CallOptions): Promise<AdminAnswer>
}

/** @throws IdentityProviderError Unavailable if the body does not match the schema */
export function parseAdminAnswer<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw unreadable()
  return parsed.data
}

export const unreadable = () => unavailable('its answer does not have the form of its admin API')

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
type CallOptions = {
  body?: unknown
  /** Replaces the JSON body. */
  raw?: { type: string; text: string }
  accepted?: readonly number[]
}

const UNTRUSTED = 'its certificate is not valid for its address, or not signed by an authority that the platform trusts'
const REQUEST_TIMEOUT_MS = 10_000
/** Seconds that a token must still be valid; admin tokens live a minute by default. */
const MIN_VALIDITY_SECONDS = 10

export function keycloakAdmin(options: KeycloakOptions): KeycloakAdmin {
  const { url, realm, adminRealm = realm, certificateAuthority: authority } = options
  const dispatcher = new Agent({ connect: connectorTrusting(authority, {}, withDefaultAuthorities) })
  let token: { text: Promise<string>; until: number } | undefined

  async function newToken(): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: options.clientId,
      client_secret: options.clientSecret(),
    })
    const { status, body } = await send(
      'POST',
      `${url}/realms/${encodeURIComponent(adminRealm)}/protocol/openid-connect/token`,
      {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
        dispatcher,
      },
    )
    const { access_token: text, expires_in: seconds } = (body ?? {}) as { access_token?: string; expires_in?: number }
    if (status !== 200 || text === undefined) throw unavailable(`it gave its administrator no token (HTTP ${status})`)
    if (token !== undefined) token.until = performance.now() + ((seconds ?? 0) - MIN_VALIDITY_SECONDS) * 1000
    return text
  }
  function currentToken(): Promise<string> {
    if (token !== undefined && token.until > performance.now()) return token.text
    const fresh = { text: newToken(), until: performance.now() + REQUEST_TIMEOUT_MS }
    token = fresh
    fresh.text.catch(() => {
      if (token === fresh) token = undefined
    })
    return fresh.text
  }
  return {
    async call(method, path, { body, raw, accepted = [] } = {}) {
      const sent = raw ?? (body === undefined ? undefined : { type: 'application/json', text: JSON.stringify(body) })
      const ask = async () =>
        send(method, `${url}/admin/realms/${encodeURIComponent(realm)}${path}`, {
          headers: {
            authorization: `Bearer ${await currentToken()}`,
            ...(sent === undefined ? {} : { 'content-type': sent.type }),
          },
          ...(sent === undefined ? {} : { body: sent.text }),
          dispatcher,
        })
      let answer = await ask()
      if (answer.status === 401) {
        // The token may have been revoked, or the keys rotated.
        token = undefined
        answer = await ask()
      }
      const isRefusal = accepted.includes(answer.status) && answer.body !== undefined
      if ((answer.status >= 200 && answer.status < 300) || isRefusal) return answer
      throw unavailable(`it refused ${method} of ${path.split('/')[1] ?? ''} (HTTP ${answer.status})`)
    },
  }
}

type Sent = {
  headers: Record<string, string>
  body?: string
  dispatcher: Dispatcher
}

async function send(method: Method, url: string, { headers, body, dispatcher }: Sent): Promise<AdminAnswer> {
  try {
    const answer = await request(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      dispatcher,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    const text = await answer.body.text()
    const { location } = answer.headers
    return {
      status: answer.statusCode,
      location: typeof location === 'string' ? location : undefined,
      body: tryParseJson(text),
    }
  } catch (error) {
    throw unavailable(connectionFailure(error) === 'Untrusted' ? UNTRUSTED : 'it does not answer', error)
  }
}

function unavailable(why: string, cause?: unknown): IdentityProviderError {
  return new IdentityProviderError('Unavailable', `Keycloak cannot be used: ${why}.`, cause)
}
