import * as oidc from 'openid-client'
import { NetworkError } from '../client/index.ts'
import { isLoopback } from '../core/isLoopback.ts'
import { notSignedIn } from './failure.ts'
import { startLoopback } from './loopback.ts'
import { type Provider, printableCode } from './settings.ts'
import type { StoredLogin } from './storedLogin.ts'

/** `offline_access` requests a refresh token (OpenID Connect Core section 11). */
const SCOPES = ['openid', 'profile', 'email', 'offline_access']
const SIGN_IN_SECONDS = 300
const REQUEST_SECONDS = 30

type Person = {
  /** Prints a line for the user. */
  inform: (text: string) => void
  openBrowser: (url: string) => void
  signal: AbortSignal
}

async function discover({ settings, fetch }: Provider): Promise<oidc.Configuration> {
  const issuer = new URL(settings.issuer)
  const execute = issuer.protocol === 'http:' && isLoopback(issuer) ? [oidc.allowInsecureRequests] : []
  return attempt(
    `The identity provider ${settings.issuer} does not describe itself as OpenID Connect requires`,
    issuer,
    () =>
      oidc.discovery(issuer, settings.clientId, undefined, oidc.None(), {
        execute,
        timeout: REQUEST_SECONDS,
        [oidc.customFetch]: (url, init) => fetch(url, init as RequestInit),
      }),
  )
}

/** Turns a failed step into a network error or a refusal. Passes on the provider's error code, but not its text. */
async function attempt<Result>(purpose: string, issuer: URL, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof oidc.ResponseBodyError) throw notSignedIn(`${purpose}: ${printableCode(error.error)}.`)
    if (error instanceof oidc.AuthorizationResponseError)
      throw notSignedIn(`${purpose}: ${printableCode(error.error)}.`)
    if (error instanceof oidc.WWWAuthenticateChallengeError) throw notSignedIn(`${purpose}: ${error.status}.`)
    if (error instanceof oidc.ClientError) {
      throw notSignedIn(`${purpose}: ${error.code ?? error.message}.`)
    }
    if (error instanceof TypeError || (error as Error | undefined)?.name === 'TimeoutError') {
      throw new NetworkError(issuer.href, error)
    }
    throw error
  }
}

function scopeFor(config: oidc.Configuration): string {
  const { scopes_supported: supported } = config.serverMetadata()
  return SCOPES.filter((scope) => supported === undefined || supported.includes(scope)).join(' ')
}

function loginOf(
  { settings, now }: Provider,
  tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
): StoredLogin {
  const obtainedAt = now()
  // `expires_in` is only recommended (RFC 6749); tokens usually live longer than five minutes.
  const expiresAt = obtainedAt + (tokens.expiresIn() ?? 300) * 1000
  const { issuer, clientId } = settings
  const login = { issuer, clientId, accessToken: tokens.access_token, obtainedAt, expiresAt }
  return tokens.refresh_token === undefined ? login : { ...login, refreshToken: tokens.refresh_token }
}

/** Creates verifier and challenge for PKCE (RFC 7636). */
async function proofKey() {
  const verifier = oidc.randomPKCECodeVerifier()
  const challenge = {
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  return { verifier, challenge }
}

/**
 * Signs in with a browser on this machine: authorization code with PKCE (RFC 7636) and a loopback redirect (RFC 8252
 * section 7.3).
 *
 * @throws CommandFailure (notSignedIn) if the provider or the user refuses, or after five minutes
 */
export async function signInWithBrowser(provider: Provider, person: Person): Promise<StoredLogin> {
  const config = await discover(provider)
  const loopback = await startLoopback()
  try {
    const [state, nonce] = [oidc.randomState(), oidc.randomNonce()]
    const { verifier, challenge } = await proofKey()
    const scope = scopeFor(config)
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: loopback.redirectUri,
      scope,
      ...challenge,
      // Without it, the provider must ignore offline_access (OpenID Connect Core section 11).
      ...(scope.includes('offline_access') && { prompt: 'consent' }),
      state,
      nonce,
    })
    const callbackPromise = loopback.answer(state, SIGN_IN_SECONDS * 1000, person.signal)
    person.inform(`Sign in in your browser. If none opens, go to\n\n  ${url.href}\n`)
    person.openBrowser(url.href)
    const callback = await callbackPromise
    const tokens = await attempt('The sign-in did not succeed', new URL(provider.settings.issuer), () =>
      oidc.authorizationCodeGrant(config, callback.url, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      }),
    ).then(
      (granted) => {
        callback.respond(true)
        return granted
      },
      (error) => {
        callback.respond(false)
        throw error
      },
    )
    return loginOf(provider, tokens)
  } finally {
    await loopback.close()
  }
}

/** Signs in with a browser on another machine (RFC 8628). */
export async function signInWithDevice(provider: Provider, person: Person): Promise<StoredLogin> {
  const config = await discover(provider)
  const issuer = new URL(provider.settings.issuer)
  if (config.serverMetadata().device_authorization_endpoint === undefined) {
    throw notSignedIn(`${provider.settings.issuer} does not offer the device flow: sign in with a browser.`)
  }
  // RFC 8628 does not need PKCE, but Keycloak does if the client requires it. Other providers ignore it.
  const { verifier, challenge } = await proofKey()
  const device = await attempt('The device flow could not begin', issuer, () =>
    oidc.initiateDeviceAuthorization(config, { scope: scopeFor(config), ...challenge }),
  )
  const [page, code] = [printableCode(device.verification_uri), printableCode(device.user_code)]
  person.inform(`On any device, go to\n\n  ${page}\n\nand enter the code ${code}\n`)
  const tokens = await attempt('The sign-in did not succeed', issuer, () =>
    oidc.pollDeviceAuthorizationGrant(config, device, { code_verifier: verifier }, { signal: person.signal }),
  )
  return loginOf(provider, tokens)
}

/** Revokes the login at the provider (RFC 7009). @returns false if the provider does not support it */
export async function revoke(provider: Provider, login: StoredLogin): Promise<boolean> {
  const config = await discover(provider)
  if (config.serverMetadata().revocation_endpoint === undefined) return false
  await attempt('The login could not be revoked', new URL(provider.settings.issuer), () =>
    oidc.tokenRevocation(config, login.refreshToken ?? login.accessToken),
  )
  return true
}

/** @throws CommandFailure (notSignedIn) if the provider rejects the refresh token */
export async function renew(provider: Provider, issuer: string, refreshToken: string): Promise<StoredLogin> {
  const config = await discover(provider)
  const tokens = await attempt(
    'The login has ended and could not be renewed; run `freehold login`',
    new URL(issuer),
    () => oidc.refreshTokenGrant(config, refreshToken),
  )
  // A provider that does not rotate refresh tokens keeps the old one valid.
  return { refreshToken, ...loginOf(provider, tokens) }
}
