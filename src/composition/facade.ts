import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { secretBlobs } from '../adapters/blobs/secrets.ts'
import { startWorkers } from '../adapters/workers/pool.ts'
import { kubeNamespaces } from '../api/boundaries/namespaces.ts'
import { createAccess } from '../api/callers/access.ts'
import { directoryPrincipals } from '../api/callers/directoryPrincipals.ts'
import { recordedPrincipals } from '../api/callers/principals.ts'
import { createStanding } from '../api/callers/standing.ts'
import { createTokenVerifier } from '../api/callers/tokens.ts'
import type { Services } from '../api/http/context.ts'
import type { ReadinessCheck } from '../api/http/management.ts'
import { createHttpMetrics } from '../api/http/metrics.ts'
import { createFacade } from '../api/http/server.ts'
import { openApiDocument, reservedNames, SERVED_ROUTES } from '../api/index.ts'
import { invitationPages } from '../api/invitations/pages.ts'
import { resetPages } from '../api/passwords/pages.ts'
import { linkPages } from '../api/people/forms.ts'
import { loadDocumentation } from '../api/platform/documentation.ts'
import { createRecords } from '../api/records/kubeRecords.ts'
import { kubeSecrets, kubeSecretWriter } from '../api/records/secrets.ts'
import { createCapacity } from '../api/resources/capacity.ts'
import { followConnections } from '../api/sso/follower.ts'
import { kubeValues } from '../api/vaults/values.ts'
import type { Configuration } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import { VERSION } from '../core/release.ts'
import { KINDS } from '../crds/index.ts'
import { PlatformTenant } from '../crds/rbac.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { SqlInstance } from '../crds/sql.ts'
import { SsoConnection } from '../crds/sso.ts'
import { node, pod } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { accountServices } from './accounts.ts'
import { openAdministration } from './administration.ts'
import { connect, untilServed } from './connection.ts'
import { backupTarget, objectStore, platformKeys, podLogs, sqlEngines, vectorEngine } from './engines.ts'
import { runIdentityProvider } from './identity.ts'
import type { Part, Surroundings } from './part.ts'
import { ssoServices } from './sso.ts'
import { runWebhooks } from './webhooks.ts'

const DOCUMENTATION = join(import.meta.dirname, '../../docs/areas')

/** Milliseconds of a call to the API server: its caller hears within ten seconds that it is not there. */
const CALL_TIMEOUT = 8_000

/** The REST facade, and beside it the local identity provider where that is configured. */
export async function runFacade(
  configuration: Configuration,
  surroundings: Surroundings,
  otherChecks: () => readonly ReadinessCheck[],
): Promise<Part> {
  const log = surroundings.log.child({ part: 'facade' })
  const connection = connect({
    kubeconfig: configuration.kubeconfig,
    context: configuration.facadeContext,
    fieldManager: 'freehold-facade',
    log,
    timeout: CALL_TIMEOUT,
  })
  const { client, caches } = connection
  for (const kind of KINDS) caches.add(kind.resource)
  for (const resource of [node, pod]) caches.add(resource)
  const access = createAccess({ caches, clock: systemClock, log })
  const isComplete = () => caches.unsynced().length === 0
  // Whom Keycloak knows is not ours to tell.
  const standing = configuration.identityProvider === 'local' ? createStanding({ client, caches }) : undefined
  await untilServed(client, log)
  caches.start()
  const tokens = createTokenVerifier(await tokenOptions(configuration, surroundings))
  const administration = await openAdministration(configuration, connection)
  const records = createRecords({ client, caches })
  const accounts = accountServices(configuration, administration, records, log, client)
  const sso = ssoServices(configuration, client, administration.federation)
  const identity =
    configuration.identityProvider === 'local'
      ? await runIdentityProvider(configuration, connection, sso.outgoing.fetch, surroundings, () => {
          void tokens.keysChanged()
        })
      : undefined
  const follower =
    configuration.identityProvider === 'keycloak'
      ? followConnections({
          connections: caches.get(SsoConnection.resource),
          tenants: caches.get(PlatformTenant.resource),
          sso,
          clock: systemClock,
          log,
        })
      : undefined
  const store = await objectStore(configuration)
  const staleness = { age: () => caches.age, bound: configuration.staleReadSeconds * 1000 }
  let isStopping = false
  const own: ReadinessCheck[] = [
    { name: 'caches', isReady: isComplete },
    { name: 'api-server', isReady: () => staleness.age() <= staleness.bound },
    { name: 'serving', isReady: () => !isStopping },
  ]
  const vaultKeys = await platformKeys(configuration, log)
  const engines = sqlEngines(configuration)
  const workers = startWorkers()
  // Ready before anybody can ask them, and no cost where there is no database.
  for (const { resource } of [SqlInstance, RelationalCluster])
    caches.get(resource).subscribe(() => workers.warm(), { replay: true })
  const services: Services = {
    records,
    principals:
      configuration.identityProvider === 'keycloak'
        ? directoryPrincipals(recordedPrincipals(records), administration.users, systemClock)
        : recordedPrincipals(records),
    access,
    clock: systemClock,
    log,
    reservedNames: new Set(reservedNames()),
    namespaces: kubeNamespaces(client),
    capacity: createCapacity(caches, systemClock),
    accounts,
    sso,
    vector: {
      engine: vectorEngine(configuration, client),
      secrets: kubeSecrets(client),
      allowOwnImages: configuration.allowOwnImages,
    },
    vaults: { keys: vaultKeys, values: kubeValues(client), baseUrl: accounts.linkBase },
    sql: {
      engines,
      secrets: kubeSecrets(client),
      secretWriter: kubeSecretWriter(client),
      blobs: secretBlobs(client),
    },
    relational: {
      engine: engines.PostgreSql,
      secrets: kubeSecrets(client),
      allowOwnImages: configuration.allowOwnImages,
      blobs: secretBlobs(client),
      hasBackupTarget: backupTarget(configuration) !== undefined,
    },
    objectStorage: { store, secrets: kubeSecrets(client) },
    jobs: { logs: podLogs(configuration, client), blobs: secretBlobs(client) },
    workers,
    managedIdentities: {
      secrets: kubeSecrets(client),
      signIn: {
        tokenUrl: `${configuration.issuer}/protocol/openid-connect/token`,
        audience: configuration.audience,
        realm: configuration.realm,
      },
    },
    documentation: loadDocumentation(DOCUMENTATION, VERSION, openApiDocument),
    platform: {
      version: VERSION,
      commit: configuration.commit,
      builtAt: configuration.builtAt,
      kubernetesVersion: await kubernetesVersion(client),
      simulated: configuration.simulated,
      readiness: [...own, ...otherChecks()],
    },
  }
  const webhooks = await runWebhooks(configuration, {
    services,
    caches,
    client,
    isReady: isComplete,
    standing,
    log,
  })
  const facade = createFacade({
    routes: SERVED_ROUTES,
    tokens,
    standing,
    log,
    metrics: createHttpMetrics(surroundings.registry),
    isReady: isComplete,
    staleness,
    limits: {
      requestsPerPrincipal: configuration.requestsPerMinute,
      anonymousRequestsPerAddress: configuration.anonymousRequestsPerMinute,
      trustedProxies: configuration.trustedProxies,
    },
    services,
    pages: linkPages(services, [invitationPages, resetPages]),
  })
  await facade.listen(configuration.facadePort, configuration.facadeHost)
  await caches.whenAllSynced()
  return {
    name: 'facade',
    checks: own,
    async stop() {
      isStopping = true
      await facade.stop()
      follower?.stop()
      await accounts.outbox.stop()
      await sso.outgoing.close()
      await webhooks?.stop()
      await identity?.stop()
      await store?.close()
      await workers.stop()
      await tokens.stop()
      vaultKeys.stop()
      await caches.stopAll()
      await client.close()
    },
  }
}

async function tokenOptions(configuration: Configuration, { log }: Surroundings) {
  const { issuer, audience, issuerCertificateAuthority: path } = configuration
  return {
    issuer,
    audience,
    jwksUrl: configuration.jwksUrl ?? `${issuer}/protocol/openid-connect/certs`,
    log,
    ...(path === undefined ? {} : { certificateAuthority: await readFile(path, 'utf8') }),
  }
}

async function kubernetesVersion(client: KubeClient): Promise<string> {
  const answer = await client.request({ path: '/version' })
  const { gitVersion } = JSON.parse(await answer.text()) as { gitVersion?: string }
  return gitVersion ?? 'unknown'
}
