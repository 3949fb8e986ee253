import { hkdfSync } from 'node:crypto'
import { type Configuration, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'
import { accountFinder, personClaims, SCOPE_CLAIMS } from './accounts.ts'
import { PRINCIPAL_UID } from './claims.ts'
import { SIGNING_ALGORITHM, type SigningKey } from './keyRing.ts'
import { bindToBrowser } from './ownBrowser.ts'
import type { PasswordVerifier } from './passwords.ts'
import { deviceSettings, logoutSettings, renderError } from './shownPages.ts'
import type { SigningKeys } from './signingKeys.ts'
import { sessionIdOf } from './state.ts'
import type { UserStore } from './users.ts'

/** The resource (RFC 8707) of every token. Callers need not name it. */
export const TOKEN_RESOURCE = 'urn:freehold:platform'

export type SettingsOptions = {
  audience: string
  tokenLifetimeSeconds: number
  /** How long a person stays signed in and may renew tokens. */
  sessionLifetimeSeconds: number
  keys: SigningKeys
  users: UserStore
  passwords: PasswordVerifier
  signInPath: (uid: string) => string
}

const MINUTE = 60

/** The paths of Keycloak. */
const ROUTES = {
  authorization: '/protocol/openid-connect/auth',
  code_verification: '/device',
  device_authorization: '/protocol/openid-connect/auth/device',
  end_session: '/protocol/openid-connect/logout',
  jwks: '/protocol/openid-connect/certs',
  revocation: '/protocol/openid-connect/revoke',
  token: '/protocol/openid-connect/token',
  userinfo: '/protocol/openid-connect/userinfo',
} satisfies Configuration['routes']

/**
 * The configuration of oidc-provider except its adapter: client_credentials for service accounts, authorization code
 * with PKCE and device code for people, one audience, and JWT access tokens (RFC 9068) with the claims and paths of
 * Keycloak.
 */
export function settings(options: SettingsOptions): Configuration {
  const { keys, users, passwords, signInPath } = options
  return {
    jwks: { keys: keys.ring().map(({ kid, jwk }) => ({ ...jwk, kid, alg: SIGNING_ALGORITHM, use: 'sig' })) },
    routes: ROUTES,
    // Clients get refresh tokens without asking, but those written for other providers request offline_access.
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    claims: SCOPE_CLAIMS,
    extraClientMetadata: { properties: [PRINCIPAL_UID] },
    // Programs read the person from the ID token and need no second request.
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    pkce: { required: () => true },
    cookies: {
      keys: cookieKeys(keys),
      names: { session: '__Host-freehold_session', interaction: 'freehold_signin', resume: 'freehold_resume' },
      long: { httpOnly: true, sameSite: 'lax', secure: true },
      short: { httpOnly: true, sameSite: 'lax', secure: true },
    },
    ttl: lifetimes(options),
    findAccount: accountFinder(users, passwords),
    // Tokens end with the browser session through which they were issued.
    expiresWithSession: () => true,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // RFC 7009: revocation ends only this login, not that of another machine that shares the grant.
    revokeGrantPolicy: ({ oidc }) => oidc.route !== 'revocation',
    interactions: {
      policy: signInPolicy(),
      url(context, { uid, returnTo }) {
        bindToBrowser(context, uid, [signInPath(uid), new URL(returnTo).pathname])
        return signInPath(uid)
      },
    },
    renderError,
    // Browsers do not call the token endpoint with a service account's secret.
    clientBasedCORS: () => false,
    features: features(options),
    formats: {
      customizers: {
        async jwt(context, token, parts) {
          const person = token.kind === 'AccessToken' ? await personOf(context, token, users) : undefined
          const claims = person ?? serviceAccountClaims(token.clientId ?? '', token.client)
          parts.payload = { ...parts.payload, azp: token.clientId ?? '', typ: 'Bearer', ...claims }
        },
      },
    },
  }
}

function lifetimes({
  tokenLifetimeSeconds,
  sessionLifetimeSeconds,
}: SettingsOptions): NonNullable<Configuration['ttl']> {
  return {
    ClientCredentials: tokenLifetimeSeconds,
    AccessToken: tokenLifetimeSeconds,
    IdToken: tokenLifetimeSeconds,
    AuthorizationCode: MINUTE,
    DeviceCode: 10 * MINUTE,
    Interaction: 15 * MINUTE,
    Session: sessionLifetimeSeconds,
    // Longer than a session: all sign-ins through one browser share a grant, and a late one must not outlive it.
    Grant: 2 * sessionLifetimeSeconds,
    RefreshToken: sessionLifetimeSeconds,
  }
}

function features({ audience, tokenLifetimeSeconds, keys }: SettingsOptions): NonNullable<Configuration['features']> {
  return {
    clientCredentials: { enabled: true },
    claimsParameter: { enabled: false },
    deviceFlow: deviceSettings,
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    // A public client authenticates by the token alone, so it may only revoke its own.
    revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
    rpInitiatedLogout: logoutSettings,
    // Only for discovery. We answer userinfo ourselves, because oidc-provider refuses tokens with an audience.
    userinfo: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => TOKEN_RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo(_context, resource) {
        if (resource !== TOKEN_RESOURCE) throw new errors.InvalidTarget()
        return {
          scope: '',
          audience,
          accessTokenTTL: tokenLifetimeSeconds,
          accessTokenFormat: 'jwt',
          // Selects the key explicitly, because a key that is published ahead must not sign yet.
          jwt: { sign: { alg: SIGNING_ALGORITHM, kid: keys.signing().kid } },
        }
      },
    },
  }
}

/** Sessions outlive their user: a browser whose user was disabled or deleted must sign in again. */
function signInPolicy() {
  const policy = interactionPolicy.base()
  const { Check } = interactionPolicy
  const isGone = ({ oidc }: KoaContextWithOIDC) => oidc.session?.accountId !== undefined && oidc.account === undefined
  policy
    .get('login')
    ?.checks.add(
      new Check('account_gone', 'the user of this session cannot sign in', (context) =>
        isGone(context) ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
      ),
    )
  return policy
}

/** Derived from the shared signing keys, so that all replicas sign cookies alike. */
function cookieKeys(keys: SigningKeys): string[] {
  return keys
    .ring()
    .map((key) => derived(key, 'freehold identity cookies'))
    .reverse()
}

/** Returns the key of form tokens. It changes with the signing keys; a form from before is then shown again. */
export function formKey(keys: SigningKeys): string {
  return derived(keys.signing(), 'freehold identity forms')
}

function derived({ jwk }: SigningKey, purpose: string): string {
  return Buffer.from(hkdfSync('sha256', jwk.d ?? '', '', purpose, 32)).toString('base64')
}

/** `typ` distinguishes access tokens from ID tokens (`ID`); the rest is what Keycloak writes for a service account. */
function serviceAccountClaims(clientId: string, client: { clientName?: string | undefined } | undefined) {
  const displayName = client?.clientName
  const uid = (client as Record<string, unknown> | undefined)?.[PRINCIPAL_UID]
  return {
    preferred_username: `service-account-${clientId}`,
    ...(displayName === undefined ? {} : { name: displayName }),
    ...(typeof uid === 'string' ? { [PRINCIPAL_UID]: uid } : {}),
  }
}

async function personOf(
  { oidc: { entities } }: KoaContextWithOIDC,
  token: { accountId?: string; grantId?: string | undefined },
  users: UserStore,
) {
  const user = token.accountId === undefined ? undefined : await users.find(token.accountId)
  if (user === undefined) throw new errors.InvalidGrant('the user no longer exists')
  const source = entities.AuthorizationCode ?? entities.DeviceCode ?? entities.RefreshToken
  return {
    ...personClaims(user),
    ...(user.uid === undefined ? {} : { [PRINCIPAL_UID]: user.uid }),
    // Only tokens of people have a `sid`, which distinguishes them from service accounts.
    sid: sessionIdOf(token.grantId ?? ''),
    ...(source?.authTime === undefined ? {} : { auth_time: source.authTime }),
  }
}
