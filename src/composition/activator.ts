import type { Server } from 'node:http'
import { CallAuthorizer } from '../activator/callAuthorizer.ts'
import { CallStatistics, dropDeletedFunctions } from '../activator/callStatistics.ts'
import { limitClusterConnections } from '../activator/copyConnection.ts'
import { createActivatorServer } from '../activator/server.ts'
import { createStatisticsServer } from '../activator/statisticsServer.ts'
import { type CachedFunction, type CachedNamespace, Switchboard } from '../activator/switchboard.ts'
import { createTestCaller, type MakeTestCall } from '../activator/testCalls.ts'
import { createTimerHooks } from '../activator/timerRuns.ts'
import { Timers } from '../activator/timers.ts'
import type { Configuration } from '../config.ts'
import {
  ACTIVATOR_LEASE,
  type ActivatorStatus,
  KEY_DIGEST_SECRET,
  KEY_DIGEST_SECRET_ENTRY,
} from '../contracts/functions.ts'
import { systemClock } from '../core/clock.ts'
import { closeServer } from '../core/closeServer.ts'
import { messageOf } from '../core/errors.ts'
import { listen } from '../core/listen.ts'
import type { Log } from '../core/log.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { refOf } from '../core/object.ts'
import type { SecretObject } from '../core/secretData.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { secret } from '../kube/builtin.ts'
import type { CacheSet } from '../kube/caches.ts'
import { createKubeClient, type KubeClient } from '../kube/client.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import { LeaderLease } from '../kube/lease.ts'
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts'
import { reachThroughGate, reachThroughTunnel } from './agents/copies.ts'
import type { AgentHub } from './agents/hub.ts'
import { type LocalActivatorRef, ShutdownHooks } from './areas/setup.ts'
import { type Connection, connect, instanceName, userAgent, waitForApiServer } from './connection.ts'
import type { Part, PartDependencies } from './part.ts'

/** Milliseconds for calls in flight at shutdown. Others wait as long, because the next activator starts only then. */
const DRAIN_TIMEOUT_MS = 5_000

/**
 * Runs the activator of functions, which holds calls until a copy has room, and decides how many copies they need. Only
 * the holder of the lease works: it alone counts calls, and only its process is ready. Its rights are those of
 * `activatorRoles` (scripts/generate/rights.ts); for anything else it asks the facade with the caller's token.
 */
export async function runActivator(
  configuration: Configuration,
  { log: root, fail }: PartDependencies,
  facade: CacheSet | undefined,
  agents: AgentHub,
  activatorHere: LocalActivatorRef,
): Promise<Part> {
  const log = root.child({ part: 'activator' })
  const shutdown = new ShutdownHooks()
  const connection = openConnection(configuration, facade, log, shutdown)
  await waitForApiServer(connection.client, log)
  connection.caches.start()
  await connection.caches.whenAllSynced()
  let isWorking = false
  const work = async () => {
    isWorking = true
    const running = await start(configuration, connection, log, { activatorHere, agents })
    shutdown.onStop(() => running.stop())
  }
  const begin = () => void work().catch((error: unknown) => fail(`The activator could not start: ${messageOf(error)}`))
  if (configuration.leaderElection) holdLease(configuration, log, shutdown, begin, fail)
  else begin()
  return {
    name: 'activator',
    checks: [{ name: 'activator', isReady: () => isWorking }],
    stop: () => shutdown.stop(),
  }
}

/** Uses its own service account even in role all, so that its rights are equally small everywhere. */
function openConnection(
  { kubeconfig, activatorContext: context }: Configuration,
  beside: CacheSet | undefined,
  log: Log,
  { onStop }: ShutdownHooks,
): Connection {
  const connection = connect({ kubeconfig, context, fieldManager: 'freehold-activator', log, beside })
  for (const { resource } of [FunctionNamespace, ServerlessFunction]) connection.caches.add(resource)
  onStop(() => connection.client.close())
  onStop(() => connection.caches.stopAll())
  return connection
}

function holdLease(
  { kubeconfig, activatorContext }: Configuration,
  log: Log,
  { onStop }: ShutdownHooks,
  onAcquired: () => void,
  fail: (reason: string) => void,
): void {
  const access = loadKubeconfig(kubeconfig, activatorContext)
  const client = createKubeClient(access, { fieldManager: ACTIVATOR_LEASE, userAgent: userAgent('lease'), log })
  const onLost = (reason: string) => fail(`The lease ${ACTIVATOR_LEASE} was lost: ${reason}`)
  const names = { namespace: SYSTEM_NAMESPACE, name: ACTIVATOR_LEASE, identity: instanceName() }
  const lease = new LeaderLease({ client, ...names, log, onAcquired, onLost })
  onStop(() => client.close())
  onStop(() => lease.stop())
  lease.start()
}

async function start(
  configuration: Configuration,
  { client, caches }: Connection,
  log: Log,
  { activatorHere, agents }: { activatorHere: LocalActivatorRef; agents: AgentHub },
) {
  const { activatorHost, activatorPort, facadeUrl, facadePort, engines } = configuration
  const isSimulated = engines === 'simulated'
  const scaler = new Scaler(client, log)
  const statistics = new CallStatistics(systemClock)
  const functions = caches.get<CachedFunction>(ServerlessFunction.resource)
  const namespaces = caches.get<CachedNamespace>(FunctionNamespace.resource)
  const switchboard = new Switchboard({
    functions,
    namespaces,
    clock: systemClock,
    scale: (object, desired) => scaler.scale(object, desired),
  })
  const base = facadeUrl ?? `http://127.0.0.1:${facadePort}`
  const authorizer = new CallAuthorizer({
    digestKey: () => digestKey(client),
    mayRead: (token, path) => mayRead(base, token, path),
  })
  const hasHub = configuration.role !== 'activator'
  const portForwardOf = (clusterId: string) => agents.portForwardOf(clusterId)
  const reach = limitClusterConnections(
    hasHub ? reachThroughTunnel({ portForwardOf }) : reachThroughGate(client, configuration.tunnelUrl),
    ({ namespace, name }) => switchboard.tenantOf(`${namespace}/${name}`),
  )
  const server = createActivatorServer({
    switchboard,
    authorizer,
    statistics,
    reach,
    clock: systemClock,
    log,
    isSimulated,
  })
  const runs = createTimerHooks({
    switchboard,
    client,
    statistics,
    reach,
    clock: systemClock,
    log,
    isSimulated,
  })
  const call = createTestCaller({
    switchboard,
    statistics,
    reach,
    clock: systemClock,
    log,
    isSimulated,
  })
  activatorHere.calls = { of: (key) => statistics.of(key), call }
  const timers = new Timers({ clock: systemClock, log, ...runs })
  const check = () => timers.check()
  const dropping = dropDeletedFunctions(statistics, functions)
  const subscriptions = [functions.subscribe(check), namespaces.subscribe(check), dropping]
  check()
  const servers = [server]
  await listen(server, 'The activator', { port: activatorPort, host: activatorHost })
  if (configuration.role === 'activator') servers.push(await serveFacades(statistics, call, configuration))
  return {
    async stop() {
      for (const unsubscribe of subscriptions) unsubscribe()
      timers.stop()
      // Held calls still count: a successor starts only when the lease is released.
      await Promise.all(servers.map((each) => closeServer(each, DRAIN_TIMEOUT_MS)))
      switchboard.stop()
    },
  }
}

/** On a port of its own, separate from the ports for calls and for metrics. */
async function serveFacades(
  statistics: CallStatistics,
  call: MakeTestCall,
  { managementHost, figuresPort }: Configuration,
): Promise<Server> {
  const server = createStatisticsServer(statistics, call)
  await listen(server, 'The activator', { port: figuresPort, host: managementHost })
  return server
}

/** Writes the wanted number of copies: only the latest value of each function, and one write at a time. */
class Scaler {
  readonly #client: Pick<KubeClient, 'mergePatch'>
  readonly #log: Log
  readonly #wanted = new Map<string, { object: CachedFunction; desired: number }>()
  readonly #busy = new Set<string>()

  constructor(client: Pick<KubeClient, 'mergePatch'>, log: Log) {
    this.#client = client
    this.#log = log
  }

  scale(object: CachedFunction, desired: number): void {
    const key = object.metadata.uid ?? ''
    this.#wanted.set(key, { object, desired })
    if (!this.#busy.has(key)) void this.#write(key)
  }

  async #write(key: string): Promise<void> {
    this.#busy.add(key)
    for (let wanted = this.#wanted.get(key); wanted !== undefined; wanted = this.#wanted.get(key)) {
      this.#wanted.delete(key)
      const { object, desired } = wanted
      try {
        const options = { subresource: 'status', uid: object.metadata.uid }
        const status: ActivatorStatus = { desiredReplicas: desired }
        await this.#client.mergePatch(ServerlessFunction.resource, refOf(object), { status }, options)
      } catch (error) {
        if (isKubeError(error, 'NotFound', 'Conflict')) continue
        this.#log.warn(
          { function: object.metadata.name, error: messageOf(error) },
          'The copies of a function could not be requested.',
        )
        await new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), 500))
        // A newer value takes precedence; otherwise this one is retried.
        if (!this.#wanted.has(key)) this.#wanted.set(key, wanted)
      }
    }
    this.#busy.delete(key)
  }
}

async function digestKey(client: Pick<KubeClient, 'get'>): Promise<string | undefined> {
  const ref = { namespace: SYSTEM_NAMESPACE, name: KEY_DIGEST_SECRET }
  return (await client.get<SecretObject>(secret, ref).catch(absent))?.data?.[KEY_DIGEST_SECRET_ENTRY]
}

/** Asks the facade, which applies all rules, including denies. */
async function mayRead(base: string, token: string, path: string): Promise<boolean> {
  const answer = await fetch(`${base}${path}`, {
    headers: { authorization: `Bearer ${token}` },
    redirect: 'error',
    signal: AbortSignal.timeout(5_000),
  })
  await answer.body?.cancel()
  return answer.status === 200
}
