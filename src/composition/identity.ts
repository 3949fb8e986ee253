import { readFile } from 'node:fs/promises'
import type { OutgoingFetch } from '../adapters/outgoing/port.ts'
import { type Configuration, ConfigurationError } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import { PlatformUser } from '../crds/identity.ts'
import { IdpBinding, SsoConnection } from '../crds/sso.ts'
import {
  type ChangePassword,
  createIdentityProvider,
  createSweeper,
  type GuessLimiter,
  type Invitations,
  kubeClientStore,
  kubeConnections,
  kubeUserProvisioner,
  kubeUserStore,
  type LastSeen,
  openSigningKeys,
  secretKeyStore,
  secretPasswords,
  secretStateStore,
  startIdentityServers,
  type UserProvisionerOptions,
  watchKeys,
} from '../identity/index.ts'
import type { WatchCache } from '../kube/cache.ts'
import type { CacheSet } from '../kube/caches.ts'
import type { KubeClient } from '../kube/client.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Part, PartDependencies } from './part.ts'

type IdentityGuards = {
  onKeysChange: () => void
  guesses: GuessLimiter
  secretGuesses: GuessLimiter
  lastSeen: LastSeen
  changePassword: ChangePassword
  invitations: Invitations
  inTenant: UserProvisionerOptions['inTenant']
}

/** Runs the local identity provider: TLS for the API server, plain http on loopback for tools. */
export async function runIdentityProvider(
  configuration: Configuration,
  { client, caches }: { client: KubeClient; caches: CacheSet },
  fetch: OutgoingFetch,
  dependencies: PartDependencies,
  { onKeysChange, inTenant, ...account }: IdentityGuards,
): Promise<Part> {
  const log = dependencies.log.child({ part: 'identity' })
  const { identityCertificate, identityKey, identityHost, accessTokenSeconds } = configuration
  if (identityCertificate === undefined || identityKey === undefined) {
    throw new ConfigurationError(
      'The local identity provider needs identityCertificate and identityKey: the API server takes https issuers only.',
    )
  }
  const readCertificate = async () => ({
    cert: await readFile(identityCertificate, 'utf8'),
    key: await readFile(identityKey, 'utf8'),
  })
  const watch = watchKeys(client, log)
  watch.start()
  await watch.whenSynced()
  const keys = await openSigningKeys({
    store: secretKeyStore(client, watch),
    tokenLifetimeSeconds: accessTokenSeconds,
    log,
  })
  keys.onChange(onKeysChange)
  const users = caches.get<PlatformUser & KubeObject>(PlatformUser.resource)
  const connections = caches.get<SsoConnection & KubeObject>(SsoConnection.resource)
  const bindings = caches.get<IdpBinding & KubeObject>(IdpBinding.resource)
  const state = secretStateStore(client, (expiresAt) => sweeper.expects(expiresAt))
  const sweeper = createSweeper({ log, store: () => state })
  const provider = createIdentityProvider({
    issuer: configuration.issuer,
    realm: configuration.realm,
    audience: configuration.audience,
    clients: kubeClientStore(client),
    users: kubeUserStore(client, () => listSynced(users)),
    passwords: secretPasswords(client),
    ...account,
    external: {
      fetch,
      connections: kubeConnections(client, () => listSynced(connections), fetch),
      provisioner: kubeUserProvisioner({ client, bindings: () => listSynced(bindings), inTenant }),
    },
    state,
    keys,
    tokenLifetimeSeconds: accessTokenSeconds,
    trustedProxies: configuration.trustedProxies,
    log,
  })
  const servers = await startIdentityServers({
    handler: provider.handler,
    isProxy: provider.isProxy,
    tls: { port: configuration.identityHttpsPort, host: identityHost, readCertificate },
    http: { port: configuration.identityHttpPort, host: identityHost },
    clock: systemClock,
    log,
  })
  return {
    name: 'identity',
    checks: [],
    async stop() {
      await servers.stop()
      provider.stop()
      sweeper.stop()
      keys.stop()
      await watch.stop()
    },
  }
}

/** Lists a cache after it has synced. */
async function listSynced<T extends KubeObject>(
  cache: Pick<WatchCache<T>, 'whenSynced' | 'list'>,
): Promise<readonly T[]> {
  await cache.whenSynced()
  return cache.list()
}
