import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { kubeNamespaces } from '../api/boundaries/namespaces.ts'
import { createAccess } from '../api/callers/access.ts'
import { assumedPrincipals } from '../api/callers/assumedPrincipals.ts'
import { directoryPrincipals } from '../api/callers/directoryPrincipals.ts'
import { createGrantRefresher } from '../api/callers/grantRefresher.ts'
import { recordedPrincipals } from '../api/callers/principals.ts'
import { createTokenVerifier, type TokenVerifier } from '../api/callers/tokens.ts'
import type { Services } from '../api/http/context.ts'
import type { ReadinessCheck } from '../api/http/management.ts'
import { createHttpMetrics } from '../api/http/metrics.ts'
import { createFacade } from '../api/http/server.ts'
import { openApiDocument, reservedNames, SERVED_ROUTES } from '../api/index.ts'
import { invitationsOnAccountPage } from '../api/invitations/account.ts'
import { invitationPages, signedInPages } from '../api/invitations/pages.ts'
import { endSessionsOfEnded } from '../api/objectstorage/endedCallers.ts'
import { accountPagePasswordChange } from '../api/passwords/index.ts'
import { resetPages } from '../api/passwords/pages.ts'
import { linkPages } from '../api/people/forms.ts'
import { loadDocumentation } from '../api/platform/documentation.ts'
import { platformPages } from '../api/platform/pages.ts'
import { wholeDocument } from '../api/platform/reference.ts'
import { createRecords } from '../api/records/kubeRecords.ts'
import { declareBackupCaches } from '../api/resources/backups.ts'
import { createCapacity } from '../api/resources/capacity.ts'
import { followRemovals } from '../api/resources/recordTexts.ts'
import { withTenantLock } from '../api/rules/tenants.ts'
import { installPages } from '../api/sources/install.ts'
import { followConnections } from '../api/sso/follower.ts'
import type { Configuration } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { VERSION } from '../core/release.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { KINDS } from '../crds/index.ts'
import { ObjectAccessKey } from '../crds/objectstorage.ts'
import { PlatformTenant } from '../crds/rbac.ts'
import { SsoConnection } from '../crds/sso.ts'
import {
  createLastSeen,
  type GuessLimiter,
  type LastSeen,
  limitPasswords,
  limitSecrets,
  noteMissingSecrets,
  watchSecretMetadata,
} from '../identity/index.ts'
import { node, pod, storageClass } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { accountServices } from './accounts.ts'
import { openAdministration } from './administration.ts'
import type { AgentHub, runGate } from './agents/hub.ts'
import { servedVersion } from './agents/servedVersion.ts'
import { activityRecorder } from './areas/activity.ts'
import { areaServices } from './areas/index.ts'
import { type LocalActivatorRef, ShutdownHooks } from './areas/setup.ts'
import { browserSignIn } from './browserSignIn.ts'
import { type Connection, connect, waitForApiServer } from './connection.ts'
import { runIdentityProvider } from './identity.ts'
import { issuerAuthorities } from './issuerTrust.ts'
import { readOpenApi } from './openApi.ts'
import type { Part, PartDependencies } from './part.ts'
import { principalStatusOf } from './principalStatus.ts'
import { ssoServices } from './sso.ts'
import { openTracing } from './tracing.ts'
import { runWebhooks } from './webhooks.ts'

const DOCS_FOLDER = join(import.meta.dirname, '../../docs/areas')

const LINK_PAGES = [signedInPages, invitationPages, resetPages, installPages]

/** Runs the REST facade, and the local identity provider if configured. */
export async function runFacade(
  configuration: Configuration,
  dependencies: PartDependencies,
  { client, caches, exec }: Connection,
  otherChecks: () => readonly ReadinessCheck[],
  agents: AgentHub,
  activatorHere: LocalActivatorRef,
): Promise<Part> {
  const log = dependencies.log.child({ part: 'facade' })
  const shutdown = new ShutdownHooks()
  let isStopping = false
  const isReady = () => caches.unsynced().length === 0
  const staleness = { age: () => caches.age, bound: configuration.staleReadSeconds * 1000 }
  const checks = readinessChecks(isReady, staleness, () => !isStopping)
  const access = buildAccess(client, caches, log)
  await waitForApiServer(client, log)
  caches.start()
  const tokens = await openTokens(configuration, dependencies, shutdown)
  let served: Services | undefined
  const guards = buildSecretGuards(client, caches, log)
  const accountSetup: AccountDependencies = { dependencies, log, shutdown, tokens, ...guards, services: () => served }
  const people = await openAccounts(configuration, { client, caches, exec }, accountSetup)
  const principalStatus = principalStatusOf(configuration, { client, caches, users: people.accounts.users })
  const { linkBase } = people.accounts
  const setup = { configuration, client, agents, caches, exec, log, onStop: shutdown.onStop, linkBase, activatorHere }
  const gate = await openGate(configuration, agents, { client, caches, records: people.records, log })
  shutdown.onStop(() => gate?.stop())
  const services: Services = {
    ...people,
    access,
    clock: systemClock,
    log,
    reservedNames: new Set(reservedNames()),
    namespaces: kubeNamespaces(client),
    capacity: createCapacity(caches, systemClock),
    clusters: { gate: gate && { serverUrl: gate.serverUrl, caPem: gate.caPem, caFingerprint: gate.caFingerprint } },
    ...(await areaServices({ ...setup, tokens, principalStatus, ...guards })),
    documentation: loadDocumentation(DOCS_FOLDER, VERSION, openApiDocument),
    wholeDocument: wholeDocument(readOpenApi),
    ...(await platformFacts(configuration, client, { address: linkBase, readiness: [...checks, ...otherChecks()] })),
  }
  served = services
  const { recorder, observer } = activityRecorder(setup, services)
  const hooks = await runWebhooks(configuration, { ...setup, services, isReady, staleness, principalStatus, recorder })
  shutdown.onStop(() => hooks?.stop())
  const facade = createFacade({
    routes: SERVED_ROUTES,
    tokens,
    standing: principalStatus,
    log,
    metrics: createHttpMetrics(dependencies.registry),
    isReady,
    staleness,
    observer,
    tracer: await openTracer(configuration, shutdown),
    limits: limitsOf(configuration),
    services,
    pages: [platformPages(services.platform), linkPages(services, LINK_PAGES, SERVED_ROUTES)],
  })
  shutdown.onStop(() => facade.stop())
  await facade.listen(configuration.facadePort, configuration.facadeHost)
  await caches.whenAllSynced()
  return {
    name: 'facade',
    checks,
    async stop() {
      isStopping = true
      facade.drain()
      await delay(configuration.drainSeconds * 1000)
      await shutdown.stop()
    },
  }
}

function buildAccess(client: KubeClient, caches: Connection['caches'], log: Log) {
  const refresher = createGrantRefresher({ client, caches, clock: systemClock })
  return createAccess({ caches, clock: systemClock, log, refresher })
}

/** Shared by all endpoints where service accounts present their secret, so that they count guesses together. */
function buildSecretGuards(client: KubeClient, caches: Connection['caches'], log: Log) {
  const lastSeen = createLastSeen({
    client,
    find: (kind, id) => caches.get(kind.resource).get(SYSTEM_NAMESPACE, id),
    clock: systemClock,
    log,
  })
  return { secretGuesses: limitSecrets(), lastSeen }
}

function readinessChecks(
  isReady: () => boolean,
  { age, bound }: { age: () => number; bound: number },
  isServing: () => boolean,
): ReadinessCheck[] {
  return [
    { name: 'caches', isReady },
    { name: 'api-server', isReady: () => age() <= bound },
    { name: 'serving', isReady: isServing },
  ]
}

/** Waits for the records of clusters, without which every agent would be refused. */
async function openGate(configuration: Configuration, agents: AgentHub, parts: Parameters<typeof runGate>[2]) {
  if (configuration.agentPort === undefined) return undefined
  agents.reads(parts)
  await parts.caches.get(PlatformCluster.resource).whenSynced()
  const { runGate } = await import('./agents/hub.ts')
  return runGate(configuration, agents, parts)
}

async function openTracer(configuration: Configuration, shutdown: ShutdownHooks) {
  const tracing = await openTracing(configuration)
  shutdown.onStop(() => tracing?.stop())
  return tracing
}

function limitsOf(configuration: Configuration) {
  const { requestsPerMinute, anonymousRequestsPerMinute, ...others } = configuration
  const { answerBytesPerSecond, uploadBytesPerSecond, trustedProxies } = others
  return {
    requestsPerMinute,
    anonymousRequestsPerMinute,
    answerBytesPerSecond,
    uploadBytesPerSecond,
    trustedProxies,
  }
}

/** Opens client and caches of the facade. A part of its own, because in role all the controllers share the caches. */
export function openFacadeConnection(
  { kubeconfig, facadeContext, apiServerTimeoutSeconds, role }: Configuration,
  { log }: PartDependencies,
): Connection & Part {
  const { client, caches, exec } = connect({
    kubeconfig,
    context: facadeContext,
    fieldManager: 'freehold-facade',
    log: log.child({ part: 'facade' }),
    timeout: apiServerTimeoutSeconds * 1000,
    // The controllers of this process use these caches.
    counts: role === 'all',
  })
  for (const kind of KINDS) caches.add(kind.resource)
  for (const resource of [node, pod, storageClass]) caches.add(resource)
  declareBackupCaches(caches)
  followRemovals(caches)
  return {
    name: 'connection of the facade',
    checks: [],
    client,
    caches,
    exec,
    async stop() {
      await caches.stopAll()
      await client.close()
    },
  }
}

type AccountDependencies = {
  /** The services, once they are complete. */
  services: () => Services | undefined
  dependencies: PartDependencies
  log: Log
  shutdown: ShutdownHooks
  tokens: TokenVerifier
  secretGuesses: GuessLimiter
  lastSeen: LastSeen
}

/** Opens sign-in: users, mails, single sign-on, and the identity provider if it is our own. */
async function openAccounts(
  configuration: Configuration,
  connection: Connection,
  { dependencies, log, shutdown, tokens, secretGuesses, lastSeen, services }: AccountDependencies,
): Promise<Pick<Services, 'records' | 'principals' | 'accounts' | 'sso'>> {
  const { client, caches } = connection
  const administration = await openAdministration(configuration, connection)
  const records = createRecords({ client, caches })
  // Shared by all endpoints where passwords are entered.
  const guesses = limitPasswords()
  const accounts = await accountServices(configuration, administration, records, log, { client, guesses })
  shutdown.onStop(() => accounts.outbox.stop())
  const sso = ssoServices(configuration, client, administration.federation)
  shutdown.onStop(() => sso.outgoing.close())
  const secrets = watchSecretMetadata({ client, log })
  secrets.start()
  shutdown.onStop(() => secrets.stop())
  const notes = noteMissingSecrets({ client, objects: (kind) => caches.get(kind.resource), secrets, log })
  shutdown.onStop(() => notes.stop())
  const recorded = recordedPrincipals(records)
  if (configuration.identityProvider === 'local') {
    const onKeysChange = () => void tokens.keysChanged()
    const changePassword = accountPagePasswordChange({ accounts, records })
    const { fetch } = sso.outgoing
    const identity = await runIdentityProvider(configuration, connection, fetch, dependencies, {
      onKeysChange,
      guesses,
      secretGuesses,
      lastSeen,
      changePassword,
      invitations: invitationsOnAccountPage(services),
      inTenant: (tenantId, work) => withTenantLock({ records }, tenantId, work),
    })
    shutdown.onStop(() => identity.stop())
    return { records, principals: recorded, accounts, sso }
  }
  const { browserClientId: clientId } = configuration
  const { linkBase } = accounts
  const signIn =
    clientId === undefined ? undefined : await browserSignIn({ ...configuration, clientId, linkBase, tokens })
  shutdown.onStop(() => signIn?.close())
  const follower = followConnections({
    connections: caches.get(SsoConnection.resource),
    tenants: caches.get(PlatformTenant.resource),
    secrets,
    sso,
    clock: systemClock,
    log,
  })
  shutdown.onStop(() => follower.stop())
  const isAdministered = configuration.identityProvider === 'keycloak'
  const principals = isAdministered
    ? directoryPrincipals(recorded, administration.users, systemClock)
    : assumedPrincipals(recorded)
  if (isAdministered) {
    const keys = caches.get<ObjectAccessKey & KubeObject>(ObjectAccessKey.resource)
    const sessions = endSessionsOfEnded({ keys, principals, client, clock: systemClock, log })
    shutdown.onStop(() => sessions.stop())
  }
  return {
    records,
    principals,
    accounts: signIn === undefined ? accounts : { ...accounts, browserSignIn: signIn },
    sso,
  }
}

async function platformFacts(
  { commit, builtAt, simulated, issuer }: Configuration,
  client: KubeClient,
  { address, readiness }: { address: string; readiness: readonly ReadinessCheck[] },
): Promise<Pick<Services, 'platform' | 'protectedResource'>> {
  const kubernetes = (await servedVersion(client)) ?? 'unknown'
  const platform = { version: VERSION, commit, builtAt, kubernetesVersion: kubernetes, simulated, readiness }
  return { platform, protectedResource: { address, issuer } }
}

async function openTokens(configuration: Configuration, dependencies: PartDependencies, shutdown: ShutdownHooks) {
  const tokens = createTokenVerifier(await tokenOptions(configuration, dependencies))
  shutdown.onStop(() => tokens.stop())
  return tokens
}

async function tokenOptions(configuration: Configuration, { log }: PartDependencies) {
  const { issuer, audience } = configuration
  return {
    issuer,
    audience,
    jwksUrl: configuration.jwksUrl ?? `${issuer}/protocol/openid-connect/certs`,
    log,
    certificateAuthority: issuerAuthorities(configuration),
  }
}
