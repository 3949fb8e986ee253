import { hkdfSync } from 'node:crypto'
import { type Configuration, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'
import { accountFinder, personClaims, SCOPE_CLAIMS } from './accounts.ts'
import { PRINCIPAL_UID } from './claims.ts'
import { SIGNING_ALGORITHM, type SigningKey } from './keyRing.ts'
import type { PasswordVerifier } from './passwords.ts'
import { deviceSettings, logoutSettings, renderError } from './shownPages.ts'
import type { SigningKeys } from './signingKeys.ts'
import { sessionIdOf } from './state.ts'
import type { UserStore } from './users.ts'

/** The resource (RFC 8707) that every token is for. Callers need not name it. */
export const RESOURCE = 'urn:freehold:platform'

export type SettingsOptions = {
  audience: string
  tokenLifetimeSeconds: number
  /** How long a person stays signed in, and how long what was signed in to may renew its tokens. */
  sessionLifetimeSeconds: number
  keys: SigningKeys
  users: UserStore
  passwords: PasswordVerifier
  /** Path of the page that a person signs in on. */
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
 * What oidc-provider is told beside its adapter: service accounts by client_credentials, people by authorization code
 * with PKCE and by device code, one audience, JWT access tokens (RFC 9068) with the claims that Keycloak would write, at
 * the paths of Keycloak.
 */
export function settings(options: SettingsOptions): Configuration {
  const { keys, users, passwords, signInPath } = options
  return {
    jwks: { keys: keys.ring().map(({ kid, jwk }) => ({ ...jwk, kid, alg: SIGNING_ALGORITHM, use: 'sig' })) },
    routes: ROUTES,
    // Clients that may have refresh tokens get them without asking; those written for other providers ask for offline_access.
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    claims: SCOPE_CLAIMS,
    extraClientMetadata: { properties: [PRINCIPAL_UID] },
    // Programs read who signed in from the ID token; they need no second call.
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    pkce: { required: () => true },
    cookies: {
      keys: cookieKeys(keys),
      names: { session: 'freehold_session', interaction: 'freehold_signin', resume: 'freehold_resume' },
      long: { httpOnly: true, sameSite: 'lax', secure: true },
      short: { httpOnly: true, sameSite: 'lax', secure: true },
    },
    ttl: lifetimes(options),
    findAccount: accountFinder(users, passwords),
    // With the session of the browser ends what was signed in to through it.
    expiresWithSession: () => true,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // RFC 7009: a program's own login ends, and not that of another machine that came of the same browser.
    revokeGrantPolicy: ({ oidc }) => oidc.route !== 'revocation',
    interactions: {
      policy: signInPolicy(),
      url: (_context, interaction) => signInPath(interaction.uid),
    },
    renderError,
    // No browser speaks to the token endpoint with a service account's secret.
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
    // Longer: all programs that sign in through one browser share a grant, and the last may come late.
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
    // A public client shows nothing but the token: it must be its own.
    revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
    rpInitiatedLogout: logoutSettings,
    // For discovery; the answer is ours, because oidc-provider answers only to tokens without an audience.
    userinfo: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo(_context, resource) {
        if (resource !== RESOURCE) throw new errors.InvalidTarget()
        return {
          scope: '',
          audience,
          accessTokenTTL: tokenLifetimeSeconds,
          accessTokenFormat: 'jwt',
          // By name: a key that is published ahead of its time must not sign yet.
          jwt: { sign: { alg: SIGNING_ALGORITHM, kid: keys.signing().kid } },
        }
      },
    },
  }
}

/** A session outlives what happens to its user: who was disabled or deleted is asked to sign in, like anybody. */
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

/** All replicas sign cookies alike, with what follows from the keys that they share. */
function cookieKeys(keys: SigningKeys): string[] {
  return keys
    .ring()
    .map((key) => derived(key, 'freehold identity cookies'))
    .reverse()
}

/** Ties the forms of sign-in pages to this installation. Changes with the keys: a page shown before is shown again. */
export function formKey(keys: SigningKeys): string {
  return derived(keys.signing(), 'freehold identity forms')
}

function derived({ jwk }: SigningKey, purpose: string): string {
  return Buffer.from(hkdfSync('sha256', jwk.d ?? '', '', purpose, 32)).toString('base64')
}

/** `typ` tells access tokens from ID tokens, which say `ID`; the rest is what Keycloak writes for a service account. */
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
    // A person is told from a service account by having one.
    sid: sessionIdOf(token.grantId ?? ''),
    ...(source?.authTime === undefined ? {} : { auth_time: source.authTime }),
  }
}
