import { createExternalProvider } from '../adapters/identity/externalProvider.ts'
import { createLocalProvider } from '../adapters/identity/localProvider.ts'
import type { IdentityAdministration } from '../adapters/identity/provider.ts'
import { type Configuration, ConfigurationError } from '../config.ts'
import { systemClock, timestamp } from '../core/clock.ts'
import { currentFile } from '../core/currentFile.ts'
import type { KubeObject } from '../core/object.ts'
import { PlatformUser } from '../crds/identity.ts'
import { SsoConnection } from '../crds/sso.ts'
import { PASSWORD_POLICY } from '../iam/passwordPolicy.ts'
import { hashPassword, secretStateStore } from '../identity/index.ts'
import { secret } from '../kube/builtin.ts'
import type { WatchCache } from '../kube/cache.ts'
import type { KubeClient } from '../kube/client.ts'
import type { Connection } from './connection.ts'
import { issuerAuthorities } from './issuerTrust.ts'

/**
 * Opens the administration of the identity provider: users and single sign-on. For an external issuer, which the
 * platform does not administer, users are PlatformUser objects that somebody keeps in sync with it.
 *
 * @throws ConfigurationError if the configuration of Keycloak is incomplete
 */
export async function openAdministration(
  configuration: Configuration,
  { client, caches }: Connection,
): Promise<IdentityAdministration> {
  if (configuration.identityProvider === 'keycloak') return keycloak(configuration)
  const local = localAdministration(client, caches.get(PlatformUser.resource))
  return configuration.identityProvider === 'local' ? local : createExternalProvider(local)
}

/**
 * Opens the local provider.
 *
 * @param users a cache of PlatformUser objects; without it, the API server is asked each time
 */
export function localAdministration(client: KubeClient, users?: WatchCache<KubeObject>): IdentityAdministration {
  return createLocalProvider({
    client,
    ...(users === undefined ? {} : { users }),
    resources: {
      user: PlatformUser.resource,
      secret,
      connection: SsoConnection.resource,
    },
    rules: PASSWORD_POLICY,
    hash: async (password, keepSession) => {
      const changedAt = timestamp(systemClock.now())
      return JSON.stringify(await hashPassword(password, { changedAt, keepSession }))
    },
    endSessions: (userId, keepSession) => secretStateStore(client).removeOf(userId, keepSession),
  })
}

async function keycloak(configuration: Configuration): Promise<IdentityAdministration> {
  const { issuer, realm, keycloakUrl, keycloakAdminRealm: adminRealm } = configuration
  const { keycloakClientId: clientId, keycloakClientSecretFile: path } = configuration
  if (clientId === undefined || path === undefined) {
    throw new ConfigurationError(
      'The identity provider keycloak needs keycloakClientId and keycloakClientSecretFile: a service account that may administer the realm.',
    )
  }
  const clientSecret = currentFile(path)
  if (clientSecret() === '') throw new ConfigurationError(`${path}: expected the client secret, found nothing.`)
  const url = keycloakUrl ?? issuerHost(issuer, realm)
  const { createKeycloakProvider } = await import('../adapters/identity/keycloak.ts')
  const certificateAuthority = issuerAuthorities(configuration)
  const options = { url: url.replace(/\/+$/, ''), realm, clientId, clientSecret, certificateAuthority }
  return createKeycloakProvider(adminRealm === undefined ? options : { ...options, adminRealm })
}

/** Derives Keycloak's URL from the issuer. @throws ConfigurationError */
function issuerHost(issuer: string, realm: string): string {
  const suffix = `/realms/${realm}`
  if (issuer.endsWith(suffix)) return issuer.slice(0, -suffix.length)
  throw new ConfigurationError(`The issuer does not end in ${suffix}, so keycloakUrl must say where Keycloak listens.`)
}
