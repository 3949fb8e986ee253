import type { Registry } from 'prom-client'
import type { Configuration } from '../config.ts'
import type { ConnectOtherCluster } from '../controllers/engine/otherClusters.ts'
import { type RunningControllers, startControllers } from '../controllers/index.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { CacheSet } from '../kube/caches.ts'
import { CautiousClock } from '../kube/cautiousClock.ts'
import { createKubeClient } from '../kube/client.ts'
import { EventRecorder } from '../kube/events.ts'
import { LeaderLease } from '../kube/lease.ts'
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts'
import type { AgentHub } from './agents/hub.ts'
import { areaPorts } from './areas/index.ts'
import { ShutdownHooks } from './areas/setup.ts'
import {
  connect,
  countClockSkew,
  instanceName,
  type RequestCounter,
  requestMetrics,
  userAgent,
  waitForApiServer,
} from './connection.ts'
import type { Part, PartDependencies } from './part.ts'
import { platformHosts } from './platformHosts.ts'

const FIELD_MANAGER = 'freehold-controllers'
const LEASE = 'freehold-controllers'

/**
 * Runs the controllers while the lease is held; every write checks the fence. A replica without the lease is on
 * standby, which counts as ready.
 *
 * @param facade caches of the facade in this process to share
 */
export async function runControllers(
  configuration: Configuration,
  dependencies: PartDependencies,
  facade: CacheSet | undefined,
  agents: AgentHub,
): Promise<Part> {
  const { registry, fail } = dependencies
  const log = dependencies.log.child({ part: 'controllers' })
  const shutdown = new ShutdownHooks()
  let running: RunningControllers | undefined
  let state: 'standing by' | 'starting' | 'running' | 'stopping' = 'standing by'
  const { clock, compare, count } = observedRequests(registry, log)
  const lease = openLease(configuration, log, shutdown, {
    onRequest: compare,
    onAcquired: () => void lead(),
    onLost: (why) => fail(`The lease ${LEASE} was lost: ${why}`),
  })
  const connection = connect({
    kubeconfig: configuration.kubeconfig,
    context: configuration.controllersContext,
    fieldManager: FIELD_MANAGER,
    log,
    onRequest: count,
    beside: facade,
    counts: true,
    ...(configuration.leaderElection ? { fence: lease.fence } : {}),
  })
  const { client } = connection
  shutdown.onStop(() => client.close())
  if (configuration.leaderElection) shutdown.onStop(() => lease.stop())
  await waitForApiServer(client, log)
  const events = new EventRecorder({ client, controller: 'freehold.dev/controllers', instance: instanceName(), log })
  shutdown.onStop(() => events.stop())
  shutdown.onStop(() => connection.caches.stopAll())
  agents.reads(connection)
  const ports = await areaPorts({ configuration, client, agents, log, onStop: shutdown.onStop })
  shutdown.onStop(() => running?.stop())

  async function lead(): Promise<void> {
    state = 'starting'
    const { clusterDomain: domain, region, workersPerController: workers, objectsPerBoundary } = configuration
    const fence = configuration.leaderElection ? lease.fence : undefined
    const connectOther: ConnectOtherCluster = (clusterId, observer) =>
      agents.connect(clusterId, { fence, log, observer })
    try {
      running = await startControllers({
        ...{ records: connection, workloads: connection, connectOther },
        events,
        registry,
        log,
        clock,
        ports,
        objectsPerBoundary,
        platform: { domain, region, hosts: platformHosts(configuration) },
        workers,
      })
      if (state === 'starting') state = 'running'
    } catch (error) {
      // During shutdown, caches stop before they are synced.
      if (state === 'starting') fail(`The controllers could not start: ${messageOf(error)}`)
    }
  }

  if (configuration.leaderElection) lease.start()
  else void lead()
  return {
    name: 'controllers',
    checks: [
      { name: 'controllers', isReady: () => state === 'running' || state === 'standing by' },
      { name: 'api-server', isReady: () => connection.caches.age <= configuration.staleReadSeconds * 1000 },
    ],
    async stop() {
      state = 'stopping'
      await shutdown.stop()
    },
  }
}

/** The clock of the controllers, and what counts requests and compares it with the dates of their answers. */
function observedRequests(registry: Registry, log: Log) {
  const clock = new CautiousClock({ log })
  countClockSkew(registry, clock)
  const compare: RequestCounter = (request) => clock.compare(request)
  const counted = requestMetrics(registry)
  const count: RequestCounter = (request) => {
    counted(request)
    compare(request)
  }
  return { clock, compare, count }
}

/** Uses a client of its own: renewing the lease must neither queue behind writes nor be fenced. */
function openLease(
  { kubeconfig, controllersContext }: Configuration,
  log: Log,
  { onStop }: ShutdownHooks,
  { onRequest, ...handlers }: { onRequest: RequestCounter; onAcquired: () => void; onLost: (why: string) => void },
): LeaderLease {
  const access = loadKubeconfig(kubeconfig, controllersContext)
  const client = createKubeClient(access, {
    fieldManager: FIELD_MANAGER,
    userAgent: userAgent('lease'),
    log,
    onRequest,
  })
  onStop(() => client.close())
  return new LeaderLease({
    client,
    namespace: SYSTEM_NAMESPACE,
    name: LEASE,
    identity: instanceName(),
    log,
    ...handlers,
  })
}
