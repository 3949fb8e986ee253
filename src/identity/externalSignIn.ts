import { randomBytes } from 'node:crypto'
import * as oidc from 'openid-client'
import { brokerAlias, brokerCallback } from '../contracts/sso.ts'
import type { Connections, ExternalFetch, ExternalProvider } from './connections.ts'
import { type StateStore, stateName } from './state.ts'
import { ProvisioningRefused, type UserProvisioner } from './userProvisioner.ts'

export type ExternalSignInOptions = {
  connections: Connections
  provisioner: UserProvisioner
  fetch: ExternalFetch
}

/** The state of a sign-in at another provider, kept until the browser returns. */
type PendingSignIn = { state: string; nonce: string; verifier: string; tenantId: string; alias: string }

/** Signs people in at a tenant's provider: authorization code with PKCE (RFC 7636, OpenID Connect Core 3.1). */
export interface ExternalSignIn {
  /** Returns where to redirect the browser for an address; undefined if no provider is configured for it. */
  begin(uid: string, address: string): Promise<{ url: string; displayName: string } | undefined>
  /** Returns the account of the person who returned. Each sign-in can finish only once. @throws ProvisioningRefused */
  finish(uid: string, query: URLSearchParams): Promise<string>
}

const MODEL = 'Broker'
const LIFETIME_SECONDS = 15 * 60
/** How far the clock of an issuer may be ahead of ours. */
const CLOCK_SKEW_SECONDS = 60
const STATE = /^([A-Za-z0-9_-]{1,64})\.[A-Za-z0-9_-]{43}$/
/** The parameters of a response that are passed on; all others are dropped. */
const CALLBACK_PARAMETERS = ['code', 'state', 'iss', 'error'] as const

export function createExternalSignIn(
  { connections, provisioner, fetch }: ExternalSignInOptions,
  { issuer, state: store }: { issuer: string; state: StateStore },
): ExternalSignIn {
  return {
    async begin(uid, address) {
      const found = await connections.forAddress(address)
      const provider = found && (await connections.open(found.tenantId, found.alias))
      if (provider === undefined) return undefined
      const { tenantId, alias } = provider
      const pending: PendingSignIn = {
        state: `${uid}.${randomBytes(32).toString('base64url')}`,
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
        tenantId,
        alias,
      }
      const expiresAt = Math.floor(Date.now() / 1000) + LIFETIME_SECONDS
      await store.write({ name: stateName(MODEL, uid), entries: { journey: pending }, expiresAt })
      const url = oidc.buildAuthorizationUrl(clientOf(provider, fetch), {
        redirect_uri: brokerCallback(issuer, tenantId, alias),
        scope: 'openid email profile',
        code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
        state: pending.state,
        nonce: pending.nonce,
        login_hint: address,
      })
      return { url: url.href, displayName: provider.displayName }
    },
    async finish(uid, query) {
      const name = stateName(MODEL, uid)
      const pending = (await store.take(name))?.entries.journey as PendingSignIn | undefined
      const isExpectedBroker =
        pending !== undefined && query.get('broker') === brokerAlias(pending.tenantId, pending.alias)
      if (!isExpectedBroker || query.get('state') !== pending.state) {
        throw new ProvisioningRefused('This answer does not belong to a sign-in in this browser.')
      }
      if (query.get('error') !== null) throw new ProvisioningRefused('Your organization did not sign you in.')
      const { tenantId, alias } = pending
      const provider = await connections.open(tenantId, alias)
      if (provider === undefined) throw new ProvisioningRefused('Your organization is no longer connected.')
      return provisioner.provision(
        provider,
        await claimsOf(provider, fetch, pending, callbackUrl(issuer, pending, query)),
      )
    },
  }
}

/** Returns the sign-in that a response belongs to and its filtered query; undefined for a foreign response. */
export function returningSignIn(query: URLSearchParams, broker: string): { uid: string; query: string } | undefined {
  const uid = STATE.exec(query.get('state') ?? '')?.[1]
  if (uid === undefined) return undefined
  const callbackQuery = new URLSearchParams({ broker })
  for (const name of CALLBACK_PARAMETERS) {
    const value = query.get(name)
    if (value !== null) callbackQuery.set(name, value)
  }
  return { uid, query: callbackQuery.toString() }
}

function callbackUrl(issuer: string, { tenantId, alias }: PendingSignIn, query: URLSearchParams): URL {
  const url = new URL(brokerCallback(issuer, tenantId, alias))
  for (const name of CALLBACK_PARAMETERS) {
    const value = query.get(name)
    if (value !== null) url.searchParams.set(name, value)
  }
  return url
}

async function claimsOf(provider: ExternalProvider, fetch: ExternalFetch, pending: PendingSignIn, url: URL) {
  const tokens = await oidc.authorizationCodeGrant(clientOf(provider, fetch), url, {
    pkceCodeVerifier: pending.verifier,
    expectedState: pending.state,
    expectedNonce: pending.nonce,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined || claims.iat > Date.now() / 1000 + CLOCK_SKEW_SECONDS)
    throw new ProvisioningRefused('Your organization answered with a token from the future.')
  return claims
}

function clientOf(provider: ExternalProvider, fetch: ExternalFetch): oidc.Configuration {
  const { issuer, authorizationUrl, tokenUrl, jwksUrl, clientId, clientSecret } = provider
  const { tokenAuthMethods = ['client_secret_basic'], signingAlgorithms = ['RS256'] } = provider
  const isBasic = tokenAuthMethods.includes('client_secret_basic')
  const server: oidc.ServerMetadata = {
    issuer,
    authorization_endpoint: authorizationUrl,
    token_endpoint: tokenUrl,
    jwks_uri: jwksUrl,
    // Never `none` or a shared-secret algorithm, whatever the provider's metadata lists.
    id_token_signing_alg_values_supported: signingAlgorithms.filter((name) => /^(RS|PS|ES|Ed)/.test(name)),
  }
  const authentication = isBasic ? oidc.ClientSecretBasic(clientSecret) : oidc.ClientSecretPost(clientSecret)
  const configuration = new oidc.Configuration(server, clientId, {}, authentication)
  configuration[oidc.customFetch] = async (url, options) =>
    fetch(url, {
      method: options.method,
      headers: headersOf(options.headers),
      ...(options.body === undefined || options.body === null ? {} : { body: String(options.body) }),
      signal: options.signal,
    })
  // Verify the signature of the ID token too, instead of relying on TLS alone.
  oidc.enableNonRepudiationChecks(configuration)
  return configuration
}

function headersOf(headers: unknown): Record<string, string> {
  return Object.fromEntries(new Headers(headers as Record<string, string>))
}
