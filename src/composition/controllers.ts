import { secretBlobs } from '../adapters/blobs/secrets.ts'
import { createDns } from '../adapters/dns/client.ts'
import { createOutgoing } from '../adapters/outgoing/client.ts'
import type { Configuration } from '../config.ts'
import { startControllers } from '../controllers/index.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { createKubeClient } from '../kube/client.ts'
import { EventRecorder } from '../kube/events.ts'
import { loadKubeconfig } from '../kube/kubeconfig.ts'
import { LeaderLease } from '../kube/lease.ts'
import { connect, instanceName, requestMetrics, untilServed, userAgent } from './connection.ts'
import { backupTarget, objectStore, platformKeys, podLogs, seaweedPlace, sqlEngines, vectorEngine } from './engines.ts'
import type { Part, Surroundings } from './part.ts'

const FIELD_MANAGER = 'freehold-controllers'
const LEASE = 'freehold-controllers'

/**
 * The controllers of this process. They run while the lease is held; every write asks its fence. A replica without the
 * lease is ready too: it stands by.
 */
export async function runControllers(configuration: Configuration, surroundings: Surroundings): Promise<Part> {
  const { registry, fail } = surroundings
  const log = surroundings.log.child({ part: 'controllers' })
  const access = loadKubeconfig(configuration.kubeconfig, configuration.controllersContext)
  // A pool of its own: the renewal of the lease must not wait behind writes, nor be fenced by itself.
  const leaseClient = createKubeClient(access, { fieldManager: FIELD_MANAGER, userAgent: userAgent('lease'), log })
  const lease = new LeaderLease({
    client: leaseClient,
    namespace: SYSTEM_NAMESPACE,
    name: LEASE,
    identity: instanceName(),
    log,
    onAcquired: () => void lead(),
    onLost: (why) => fail(`The lease ${LEASE} was lost: ${why}`),
  })
  const connection = connect({
    kubeconfig: configuration.kubeconfig,
    context: configuration.controllersContext,
    fieldManager: FIELD_MANAGER,
    log,
    onRequest: requestMetrics(registry),
    ...(configuration.leaderElection ? { fence: lease.fence } : {}),
  })
  await untilServed(connection.client, log)
  const events = new EventRecorder({
    client: connection.client,
    controller: 'freehold.dev/controllers',
    instance: instanceName(),
    log,
  })
  const vaultKeys = await platformKeys(configuration, log)
  const store = await objectStore(configuration)
  const outgoing = createOutgoing({ allowedHosts: configuration.outgoingHosts })
  let running: Awaited<ReturnType<typeof startControllers>> | undefined
  let state: 'standing by' | 'starting' | 'running' | 'stopping' = 'standing by'

  async function lead(): Promise<void> {
    state = 'starting'
    try {
      const { clusterDomain: domain, region } = configuration
      const ports = {
        vectorEngine: vectorEngine(configuration, connection.client),
        sqlEngines: sqlEngines(configuration),
        allowOwnImages: configuration.allowOwnImages,
        backupTarget: backupTarget(configuration),
        projectRbac: configuration.projectRbac,
        vaultKeys,
        objectStorage: {
          store,
          usageInterval: configuration.objectStoreUsageSeconds * 1000,
          seaweed: seaweedPlace(configuration),
        },
        jobs: { logs: podLogs(configuration, connection.client), blobs: secretBlobs(connection.client) },
        sso: { dns: createDns(), outgoing },
      }
      const started = await startControllers({
        records: connection,
        workloads: connection,
        events,
        registry,
        log,
        ports,
        platform: { domain, region },
      })
      running = started
      if (state === 'starting') state = 'running'
    } catch (error) {
      // While stopping, caches end before they are full.
      if (state === 'starting')
        fail(`The controllers could not start: ${error instanceof Error ? error.message : String(error)}`)
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
      await running?.stop()
      vaultKeys.stop()
      await outgoing.close()
      await connection.caches.stopAll()
      await store?.close()
      await events.stop()
      if (configuration.leaderElection) await lease.stop()
      await Promise.all([connection.client.close(), leaseClient.close()])
    },
  }
}
