import { setTimeout as delay } from 'node:timers/promises'
import { CallAuthorizer } from '../activator/callAuthorizer.ts'
import { CallFront, type LeadingHandlers } from '../activator/callFront.ts'
import { CallStatistics, dropDeletedFunctions } from '../activator/callStatistics.ts'
import { limitClusterConnections } from '../activator/copyConnection.ts'
import { stripPort } from '../activator/routing.ts'
import { type CallHandlerOptions, createCallHandler, createCallServer } from '../activator/server.ts'
import { createStatisticsListener, createStatisticsServer } from '../activator/statisticsServer.ts'
import { type CachedFunction, type CachedNamespace, Switchboard, tenantOf } from '../activator/switchboard.ts'
import { createTestCaller } from '../activator/testCalls.ts'
import { createTimerHooks } from '../activator/timerRuns.ts'
import { Timers } from '../activator/timers.ts'
import type { Configuration } from '../config.ts'
import {
  ACTIVATOR_LEASE,
  type ActivatorStatus,
  addressOfActivator,
  KEY_DIGEST_SECRET,
  KEY_DIGEST_SECRET_ENTRY,
} from '../contracts/functions.ts'
import { systemClock } from '../core/clock.ts'
import { closeServer } from '../core/closeServer.ts'
import { messageOf } from '../core/errors.ts'
import { hostInUrl } from '../core/hostInUrl.ts'
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
import { isLeaseLost, LeaderLease, type LeaderLeaseOptions, readLease } from '../kube/lease.ts'
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts'
import { reachThroughGate, reachThroughTunnel } from './agents/copies.ts'
import type { AgentHub } from './agents/hub.ts'
import { type LocalActivatorRef, ShutdownHooks } from './areas/setup.ts'
import { type Connection, connect, instanceName, userAgent, waitForApiServer } from './connection.ts'
import type { Part, PartDependencies } from './part.ts'

/** Milliseconds for calls in flight at shutdown. */
const DRAIN_TIMEOUT_MS = 5_000
/** The same after the lease was lost: others respect it for two seconds longer than this process may write. */
const LOST_DRAIN_TIMEOUT_MS = 1_500
/** Milliseconds between reads of the lease while this process stops, to hand on what it still gets. */
const SUCCESSOR_INTERVAL_MS = 250

/**
 * Runs the activator of functions, which holds calls until a copy has room, and decides how many copies they need. Only
 * the holder of the lease works: it alone counts calls. If others can reach it, they are ready too, and forward what
 * they get. Its rights are those of `activatorRoles` (scripts/generate/rights.ts); for anything else it asks the facade
 * with the caller's token.
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
  let state: 'starting' | 'ready' | 'stopping' = 'starting'
  let isLost = false
  const onLost = (reason: string) => {
    isLost = true
    fail(`The lease ${ACTIVATOR_LEASE} was lost: ${reason}`)
  }
  const onAcquired = () =>
    void lead().catch((error: unknown) => fail(`The activator could not start: ${messageOf(error)}`))
  const peerAddress = peerAddressOf(configuration)
  const seen = (holder: string) => front.sawHolder(addressOfActivator(holder))
  const turn = configuration.leaderElection
    ? openLease(configuration, log, peerAddress, { onAcquired, onLost, onRead: seen })
    : undefined
  const connection = openConnection(configuration, facade, log, shutdown, turn?.lease.fence)
  await waitForApiServer(connection.client, log)
  connection.caches.start()
  await connection.caches.whenAllSynced()
  const namespaces = connection.caches.get<CachedNamespace>(FunctionNamespace.resource)
  const holdsLease = () => turn?.lease.isLeader ?? true
  const front = new CallFront({
    clock: systemClock,
    log,
    isLeader: holdsLease,
    tenantOf: (host) => tenantAtHost(namespaces.list(), host),
  })
  const servers = createServers(front, configuration)
  let working: Working | undefined

  async function lead(): Promise<void> {
    const { isLeading } = front
    working = startWork(configuration, connection, log, { activatorHere, agents, isLeading, holdsLease })
    front.lead(working)
    await (peerAddress === undefined ? servers.listen() : servers.listenToPeers())
    if (state === 'starting') state = 'ready'
  }

  async function stop(): Promise<void> {
    state = 'stopping'
    const milliseconds = isLost ? LOST_DRAIN_TIMEOUT_MS : DRAIN_TIMEOUT_MS
    const noticed = delay(configuration.drainSeconds * 1000)
    // Calls in flight still count: a successor starts only when the lease is released.
    const drained = peerAddress === undefined ? servers.close(milliseconds) : front.drain(milliseconds)
    if (peerAddress === undefined) await drained
    working?.stop()
    await drained
    await turn?.lease.stop()
    if (turn !== undefined && peerAddress !== undefined) await handOn(turn, seen, servers, noticed)
    await turn?.close()
    await shutdown.stop()
  }

  if (peerAddress !== undefined) {
    await servers.listen()
    state = 'ready'
  }
  if (turn === undefined) onAcquired()
  else turn.lease.start()
  return {
    name: 'activator',
    checks: [{ name: 'activator', isReady: () => state === 'ready' }],
    stop,
  }
}

/** Forwards what still comes to the successor, until nobody sends anything here. */
async function handOn(turn: Turn, seen: (holder: string) => void, servers: Servers, noticed: Promise<void>) {
  let isClosed = false
  const closing = noticed.then(() => servers.close(DRAIN_TIMEOUT_MS))
  void closing.finally(() => {
    isClosed = true
  })
  while (!isClosed) {
    seen(await turn.readHolder())
    await delay(SUCCESSOR_INTERVAL_MS)
  }
}

/** Where other activators reach this one; undefined if they cannot. */
function peerAddressOf({ role, leaderElection, ...peer }: Configuration): string | undefined {
  if (role !== 'activator' || !leaderElection || peer.activatorPeerHost === undefined) return undefined
  return `${hostInUrl(peer.activatorPeerHost)}:${peer.activatorPeerPort}`
}

/** Uses its own service account even in role all, so that its rights are equally small everywhere. */
function openConnection(
  { kubeconfig, activatorContext: context }: Configuration,
  beside: CacheSet | undefined,
  log: Log,
  { onStop }: ShutdownHooks,
  fence: (() => void) | undefined,
): Connection {
  const fenced = fence === undefined ? {} : { fence }
  const connection = connect({ kubeconfig, context, fieldManager: 'freehold-activator', log, beside, ...fenced })
  for (const { resource } of [FunctionNamespace, ServerlessFunction]) connection.caches.add(resource)
  onStop(() => connection.client.close())
  onStop(() => connection.caches.stopAll())
  return connection
}

type LeaseListeners = Required<Pick<LeaderLeaseOptions, 'onAcquired' | 'onLost' | 'onRead'>>

function openLease(
  { kubeconfig, activatorContext }: Configuration,
  log: Log,
  address: string | undefined,
  listeners: LeaseListeners,
) {
  const access = loadKubeconfig(kubeconfig, activatorContext)
  const client = createKubeClient(access, { fieldManager: ACTIVATOR_LEASE, userAgent: userAgent('lease'), log })
  const ref = { namespace: SYSTEM_NAMESPACE, name: ACTIVATOR_LEASE }
  const identity = address === undefined ? instanceName() : `${instanceName()}@${address}`
  return {
    lease: new LeaderLease({ client, ...ref, identity, log, ...listeners }),
    /** Who holds the lease after this process has released it. */
    async readHolder(): Promise<string> {
      const found = await readLease(client, ref, { timeout: 2_000 }).catch(() => undefined)
      const holder = found?.spec?.holderIdentity ?? ''
      return holder === identity ? '' : holder
    },
    close: () => client.close(),
  }
}

type Turn = ReturnType<typeof openLease>
type Servers = ReturnType<typeof createServers>

/** The ports: those for calls and for facades, and that for other activators, which is open only while this one leads. */
function createServers(
  front: CallFront,
  { role, activatorHost, activatorPort, managementHost, figuresPort, activatorPeerPort }: Configuration,
) {
  const calls = createCallServer(front.listener('calls'))
  const facades = role === 'activator' ? createStatisticsServer(front.listener('facades')) : undefined
  const peers = front.peerServer()
  return {
    async listen(): Promise<void> {
      await listen(calls, 'The activator', { port: activatorPort, host: activatorHost })
      // Separate from the ports for calls and for metrics.
      if (facades !== undefined) await listen(facades, 'The activator', { port: figuresPort, host: managementHost })
    },
    listenToPeers: () => listen(peers, 'The activator', { port: activatorPeerPort, host: managementHost }),
    async close(milliseconds: number): Promise<void> {
      const open = [calls, facades, peers].filter((server) => server?.listening === true)
      await Promise.all(open.map((server) => server && closeServer(server, milliseconds)))
    },
  }
}

function tenantAtHost(namespaces: readonly CachedNamespace[], host: string | undefined): string {
  const name = stripPort(host)
  const object = namespaces.find(({ status }) => status?.hosts?.includes(name))
  return object === undefined ? '' : tenantOf(`${object.metadata.namespace}/`, { object })
}

type Working = LeadingHandlers & { stop(): void }

function startWork(
  configuration: Configuration,
  { client, caches }: Connection,
  log: Log,
  context: Pick<CallHandlerOptions, 'isLeading' | 'holdsLease'> & {
    activatorHere: LocalActivatorRef
    agents: AgentHub
  },
): Working {
  const { activatorHere, agents, ...lease } = context
  const { facadeUrl, facadePort, engines } = configuration
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
  const common = { switchboard, statistics, reach, clock: systemClock, log, isSimulated }
  const calls = createCallHandler({ ...common, authorizer, ...lease })
  const runs = createTimerHooks({ ...common, client })
  const call = createTestCaller(common)
  activatorHere.calls = { of: (key) => statistics.of(key), call }
  const timers = new Timers({ clock: systemClock, log, ...runs })
  const check = () => timers.check()
  const dropping = dropDeletedFunctions(statistics, functions)
  const subscriptions = [functions.subscribe(check), namespaces.subscribe(check), dropping]
  check()
  return {
    calls,
    facades: createStatisticsListener(statistics, call),
    stop() {
      for (const unsubscribe of subscriptions) unsubscribe()
      timers.stop()
      switchboard.stop()
    },
  }
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
        if (isKubeError(error, 'NotFound', 'Conflict') || isLeaseLost(error)) continue
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
