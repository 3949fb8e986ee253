import { type Configuration, errors } from 'oidc-provider'
import { SIGNING_ALGORITHM } from './keyRing.ts'
import type { SigningKeys } from './signingKeys.ts'

/** The resource (RFC 8707) that every token is for. Callers need not name it. */
const RESOURCE = 'urn:freehold:platform'

export type SettingsOptions = {
  audience: string
  tokenLifetimeSeconds: number
  keys: SigningKeys
}

/**
 * What oidc-provider is told beside its adapter: one grant, one audience, JWT access tokens (RFC 9068) with the claims
 * that Keycloak would write, at the paths of Keycloak.
 */
export function settings({ audience, tokenLifetimeSeconds, keys }: SettingsOptions): Configuration {
  return {
    jwks: { keys: keys.ring().map(({ kid, jwk }) => ({ ...jwk, kid, alg: SIGNING_ALGORITHM, use: 'sig' })) },
    routes: {
      authorization: '/protocol/openid-connect/auth',
      end_session: '/protocol/openid-connect/logout',
      jwks: '/protocol/openid-connect/certs',
      token: '/protocol/openid-connect/token',
      userinfo: '/protocol/openid-connect/userinfo',
    },
    scopes: ['openid', 'profile', 'email'],
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    ttl: { ClientCredentials: tokenLifetimeSeconds, AccessToken: tokenLifetimeSeconds },
    // No browser speaks to the token endpoint with a service account's secret.
    clientBasedCORS: () => false,
    features: {
      clientCredentials: { enabled: true },
      claimsParameter: { enabled: false },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
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
    },
    formats: {
      customizers: {
        jwt(_context, token, parts) {
          parts.payload = { ...parts.payload, ...claimsOf(token.clientId ?? '', token.client?.clientName) }
        },
      },
    },
  }
}

/** `typ` tells access tokens from ID tokens, which say `ID`; the rest is what Keycloak writes for a service account. */
function claimsOf(clientId: string, displayName: string | undefined) {
  return {
    typ: 'Bearer',
    azp: clientId,
    preferred_username: `service-account-${clientId}`,
    ...(displayName === undefined ? {} : { name: displayName }),
  }
}
