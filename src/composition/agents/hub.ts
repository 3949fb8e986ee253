import { X509Certificate } from 'node:crypto'
import { Agent, type RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'
import type { Records } from '../../api/records/records.ts'
import type { Configuration } from '../../config.ts'
import { AGENT_AUTHORITY_SECRET, HUB_SERVER_NAME } from '../../contracts/clusters.ts'
import { systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { runDaily } from '../../core/runDaily.ts'
import { TimeShare } from '../../core/timeShare.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { CacheSet, withCaches } from '../../kube/caches.ts'
import { createKubeClient, type KubeClient, type WriteObserver } from '../../kube/client.ts'
import { createExec, type Exec } from '../../kube/exec.ts'
import { createPortForward, type PortForward } from '../../kube/portForward.ts'
import { TunnelEntry } from '../../kube/tunnel/entry.ts'
import { type ForwardedPod, ForwardedPorts } from '../../kube/tunnel/forwardedPorts.ts'
import { Tunnels } from '../../kube/tunnel/tunnels.ts'
import type { WatchObserver } from '../../kube/watch.ts'
import { userAgent } from '../connection.ts'
import { openOwnAuthority } from '../ownAuthority.ts'
import { openGate } from './gate.ts'
import { currentPeerCertificate, ensurePeerCertificates } from './peers.ts'

const AUTHORITY = { name: AGENT_AUTHORITY_SECRET, commonName: 'freehold agents' }
/** Milliseconds for a call through a tunnel, since a spoke may be far away. */
const CALL_TIMEOUT_MS = 15_000
/** Maximum bytes of an answer, because an attacker may control the cluster. */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024
/** Maximum characters of all cached objects of a cluster. */
const OBJECTS_MAX_BYTES = 64 * 1024 * 1024

/** Share of the main thread's time for events of a cluster, which could send them without end. */
const EVENTS_SHARE = 0.2

type StoredCluster = PlatformCluster & { [key: string]: unknown }
export type OtherClusterConnection = { client: KubeClient; caches: CacheSet; close(): Promise<void> }

/** The tunnels of this process, and clients that use them. Shared by facade and controllers. */
export class AgentHub {
  readonly tunnels = new Tunnels()
  readonly #entry: TunnelEntry
  readonly #clients = new Map<string, KubeClient>()
  readonly #ports = new ForwardedPorts((clusterId) => this.portForwardOf(clusterId))
  readonly #log: Log
  #caches: CacheSet | undefined
  #client: KubeClient | undefined
  readonly #peer = currentPeerCertificate(() => this.#client)
  /** Connections to other replicas. The agent never reuses one for another client certificate. */
  readonly #peerAgent = new Agent({ keepAlive: true, maxSockets: 1000 })

  constructor(log: Log) {
    this.#log = log
    this.#entry = new TunnelEntry(this.tunnels, (clusterId) => this.#findPeer(clusterId))
  }

  async open(): Promise<void> {
    await this.#entry.listen()
  }

  /** Provides the records of clusters, which name the replica that holds each tunnel. */
  reads({ client, caches }: { client: KubeClient; caches: CacheSet }): void {
    this.#client ??= client
    this.#caches ??= caches
  }

  /** Drops clients of clusters that no longer exist, whenever one is created. Requests in flight still complete. */
  #dropRemovedClients(): void {
    const known = this.#caches?.find<StoredCluster>(PlatformCluster.resource)
    if (known?.synced !== true) return
    for (const [clusterId, client] of this.#clients) {
      if (known.get(undefined, clusterId) !== undefined) continue
      this.#clients.delete(clusterId)
      void client.close().catch((error) => this.#log.debug({ clusterId, error: messageOf(error) }, 'It stays open.'))
    }
  }

  /** Returns a client for a cluster's API server, without caches. */
  clientOf(clusterId: string): KubeClient {
    const known = this.#clients.get(clusterId)
    if (known !== undefined) return known
    this.#dropRemovedClients()
    const client = createKubeClient(this.#entry.accessOf(clusterId), {
      fieldManager: 'freehold-facade',
      userAgent: userAgent('facade'),
      log: this.#log,
      cluster: clusterId,
      timeout: CALL_TIMEOUT_MS / 2,
      answerMax: ANSWER_MAX_BYTES,
    })
    this.#clients.set(clusterId, client)
    return client
  }

  /** Returns a local address that forwards to a port of a pod in a cluster. */
  forward(pod: ForwardedPod, port: number): Promise<{ host: string; port: number }> {
    return this.#ports.open(pod, port)
  }

  /** Opens connections to ports of pods of a cluster. */
  portForwardOf(clusterId: string): PortForward {
    return createPortForward(this.#entry.accessOf(clusterId), userAgent('facade'))
  }

  /** Runs commands in containers of a cluster. */
  execOf(clusterId: string): Exec {
    return createExec(this.#entry.accessOf(clusterId), userAgent('facade'))
  }

  /** Opens the connection for controllers to work on a cluster. */
  connect(
    clusterId: string,
    { fence, log, observer: watched }: { fence: (() => void) | undefined; log: Log; observer: WatchObserver },
  ): OtherClusterConnection {
    const named = log.child({ clusterId })
    const clientOf = (observer: WriteObserver) =>
      createKubeClient(this.#entry.accessOf(clusterId), {
        fieldManager: 'freehold-controllers',
        userAgent: userAgent('freehold-controllers'),
        log: named,
        cluster: clusterId,
        observer,
        timeout: CALL_TIMEOUT_MS,
        answerMax: ANSWER_MAX_BYTES,
        share: new TimeShare(systemClock, EVENTS_SHARE),
        ...(fence === undefined ? {} : { fence }),
      })
    const budget = { limit: OBJECTS_MAX_BYTES, used: 0 }
    const connection = withCaches(clientOf, (client) => new CacheSet({ client, log: named, observer: watched, budget }))
    return { ...connection, close: () => connection.client.close() }
  }

  async stop(): Promise<void> {
    this.tunnels.stop()
    this.#ports.stop()
    await Promise.all([...this.#clients.values()].map((client) => client.close()))
    await this.#entry.stop()
  }

  async #findPeer(clusterId: string): Promise<RequestOptions | undefined> {
    const cluster = this.#caches?.find<StoredCluster>(PlatformCluster.resource)?.get(undefined, clusterId)
    const endpoint = cluster?.status?.agent?.endpoint
    if (endpoint === undefined) return undefined
    const { hostname: host, port } = new URL(endpoint)
    const { certificate: cert, key, authority: ca } = await this.#peer()
    const tlsOptions = { cert, key, ca, servername: HUB_SERVER_NAME, agent: this.#peerAgent }
    return { ...tlsOptions, host: host.replace(/^\[|\]$/g, ''), port }
  }
}

export type OpenGate = {
  serverUrl: string
  caPem: string
  caFingerprint: string
  stop(): Promise<void>
}

/** Opens the port for agents. */
export async function runGate(
  configuration: Configuration,
  hub: AgentHub,
  { client, caches, records, log }: { client: KubeClient; caches: CacheSet; records: Records; log: Log },
): Promise<OpenGate> {
  const { agentPort = 0, agentHost, agentPeerHost, agentUrl } = configuration
  const now = () => new Date(systemClock.now())
  const authority = await openOwnAuthority(client, now(), AUTHORITY)
  const keep = () => ensurePeerCertificates(client, authority, now())
  await keep()
  const gate = await openGate(
    {
      authority,
      client,
      caches,
      records,
      tunnels: hub.tunnels,
      portForwardOf: (clusterId) => hub.portForwardOf(clusterId),
      endpoint: (port) => `https://${isIPv6(agentPeerHost) ? `[${agentPeerHost}]` : agentPeerHost}:${port}`,
      clock: systemClock,
      log: log.child({ part: 'agents' }),
    },
    { host: agentHost, port: agentPort },
  )
  const failed = 'The certificates of processes of the platform could not be renewed.'
  const renewal = runDaily(keep, { clock: systemClock, log, failed })
  return {
    serverUrl: (agentUrl ?? `https://127.0.0.1:${gate.port}`).replace(/\/+$/, ''),
    caPem: authority.certPem,
    caFingerprint: new X509Certificate(authority.certPem).fingerprint256,
    async stop() {
      renewal.stop()
      await gate.stop()
    },
  }
}
