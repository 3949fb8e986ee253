import { randomUUID } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { z } from 'zod'
import { type AgentIdentity, agentRefusalOf, GREETING_PATH } from '../../contracts/clusters.ts'
import { type Clock, type Timer, timestamp } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { Log } from '../../core/log.ts'
import { plainLine } from '../../core/plainLine.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { getOverTunnel } from '../../kube/tunnel/getOverTunnel.ts'
import type { Tunnel, Tunnels } from '../../kube/tunnel/tunnels.ts'

export type PresenceOptions = {
  client: Pick<KubeClient, 'mergePatch'>
  caches: CacheSet
  tunnels: Tunnels
  /** Returns the address at which other replicas reach the tunnels that end here. */
  endpoint: () => string
  clock: Clock
  log: Log
}

const ANSWER_TIMEOUT_MS = 10_000
const RETRY_MS = { least: 1_000, most: 30_000 }
/** Longest delay of a Node timer. */
const TIMER_MAX_MS = 2 ** 31 - 1
const TEXT_MAX = 64

/** What an agent reports about itself; not trusted. */
const Greeting = z
  .object({ version: z.string(), kubernetesVersion: z.string(), time: z.string() })
  .transform(({ version, kubernetesVersion, time }) => ({
    version: plainLine(version, TEXT_MAX),
    kubernetesVersion: plainLine(kubernetesVersion, TEXT_MAX),
    time: Date.parse(time),
  }))

type StoredCluster = PlatformCluster & { [key: string]: unknown }
type ConnectedAgent = {
  identity: AgentIdentity
  /** Uid of the cluster's record, because another cluster may take the id. */
  uid: string | undefined
  expiresAt: number
  /** Id of the connection in the record; undefined until the agent has answered. */
  connection: string | undefined
  timer: Timer | undefined
}

/**
 * Tracks the agents whose tunnels end here. The record of a cluster holds the connection that was opened last and the
 * one that ended last, with one write each. Nothing is written in between, however many agents there are.
 */
export class AgentPresence {
  readonly #options: PresenceOptions
  readonly #present = new Map<Tunnel, ConnectedAgent>()
  readonly #pendingWrites = new Set<Promise<void>>()
  #unsubscribe = () => {}

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  start(): void {
    const clusters = this.#options.caches.get<StoredCluster>(PlatformCluster.resource)
    this.#unsubscribe = clusters.subscribe(({ object }) => this.#judge(object))
  }

  /** Call after all tunnels have ended. Resolves when that is written. */
  async stop(): Promise<void> {
    this.#unsubscribe()
    await Promise.all(this.#pendingWrites)
  }

  whyRefused(identity: AgentIdentity): string | undefined {
    const stored = this.#findCluster(identity)
    return agentRefusalOf(identity, stored && agentAdmissionFields(stored))
  }

  #findCluster({ clusterId }: AgentIdentity): StoredCluster | undefined {
    return this.#options.caches.get<StoredCluster>(PlatformCluster.resource).get(undefined, clusterId)
  }

  begin(identity: AgentIdentity, socket: TLSSocket, expiresAt: number): void {
    const tunnel = this.#options.tunnels.begin(identity.clusterId, socket, () => this.#onTunnelEnd(tunnel))
    const uid = this.#findCluster(identity)?.metadata.uid
    this.#present.set(tunnel, { identity, uid, expiresAt, connection: undefined, timer: undefined })
    this.#endAtExpiry(tunnel)
    void this.#greet(tunnel)
  }

  /** Handles a change of the record: a revocation, or a connection that was declared lost by mistake. */
  #judge({ metadata, status }: StoredCluster): void {
    for (const [tunnel, present] of this.#present) {
      if (present.identity.clusterId !== metadata.name) continue
      const reason = this.whyRefused(present.identity)
      if (reason !== undefined) {
        this.#options.log.info({ clusterId: metadata.name, reason }, 'The tunnel of an agent was ended.')
        tunnel.session.destroy()
      } else if (present.connection !== undefined && present.connection === status?.agent?.lostConnection) {
        present.connection = undefined
        void this.#greet(tunnel)
      }
    }
  }

  /** Closes the tunnel when the certificate expires. */
  #endAtExpiry(tunnel: Tunnel): void {
    const present = this.#present.get(tunnel)
    if (present === undefined) return
    const { clock } = this.#options
    const remaining = present.expiresAt - clock.now()
    if (remaining <= 0) tunnel.session.destroy()
    else present.timer = clock.setTimeout(() => this.#endAtExpiry(tunnel), Math.min(remaining, TIMER_MAX_MS))
  }

  /** Records the connection, once the agent answers. */
  async #greet(tunnel: Tunnel): Promise<void> {
    const { clock, endpoint, log } = this.#options
    const { clusterId, session } = tunnel
    try {
      const greeting = Greeting.parse(await getOverTunnel(tunnel, GREETING_PATH, ANSWER_TIMEOUT_MS))
      const present = this.#present.get(tunnel)
      if (present === undefined) return
      const now = clock.now()
      present.connection = randomUUID()
      await this.#writeStatus(tunnel, {
        connection: present.connection,
        connectedAt: timestamp(now),
        endpoint: endpoint(),
        version: greeting.version,
        kubernetesVersion: greeting.kubernetesVersion,
        certificateExpiresAt: timestamp(present.expiresAt),
        clockSkewMilliseconds: Math.round(greeting.time - now) || 0,
      })
      log.info({ clusterId }, 'The tunnel of an agent is open.')
    } catch (error) {
      log.warn({ clusterId, error: messageOf(error) }, 'An agent opened a tunnel but sent nothing.')
      session.destroy()
    }
  }

  /** Retries until it is written, or the tunnel has ended. */
  async #writeStatus(tunnel: Tunnel, agent: object): Promise<void> {
    const { clock, log } = this.#options
    for (let pause = RETRY_MS.least; ; pause = Math.min(2 * pause, RETRY_MS.most)) {
      const present = this.#present.get(tunnel)
      if (present === undefined) return
      try {
        return await this.#patch(present, agent)
      } catch (error) {
        if (isKubeError(error, 'NotFound', 'Conflict')) return tunnel.session.destroy()
        log.warn(
          { clusterId: tunnel.clusterId, error: messageOf(error) },
          'The arrival of an agent could not be stored.',
        )
        await new Promise<void>((resolve) => clock.setTimeout(resolve, pause))
      }
    }
  }

  #onTunnelEnd(tunnel: Tunnel): void {
    const { clock, log } = this.#options
    const present = this.#present.get(tunnel)
    this.#present.delete(tunnel)
    present?.timer?.cancel()
    const lostConnection = present?.connection
    if (present === undefined || lostConnection === undefined) return
    // If the write fails, the controllers notice that nothing gets through.
    const lastSeenAt = timestamp(clock.now())
    const departure = this.#patch(present, { lostConnection, lastSeenAt })
      .catch((error: unknown) => {
        if (isKubeError(error, 'NotFound', 'Conflict')) return
        log.warn(
          { clusterId: tunnel.clusterId, error: messageOf(error) },
          'The departure of an agent could not be stored.',
        )
      })
      .finally(() => this.#pendingWrites.delete(departure))
    this.#pendingWrites.add(departure)
  }

  #patch({ identity, uid }: ConnectedAgent, agent: object): Promise<void> {
    return patchAgent(this.#options.client, { name: identity.clusterId, uid }, agent)
  }
}

/**
 * Writes the agent's state into the status of its cluster.
 *
 * @throws KubeError NotFound if the record is gone, Conflict if another cluster has taken the id
 */
export async function patchAgent(
  client: Pick<KubeClient, 'mergePatch'>,
  { name, uid }: { name: string; uid?: string | undefined },
  agent: object,
): Promise<void> {
  const options = { subresource: 'status', uid } as const
  await client.mergePatch(PlatformCluster.resource, { name }, { status: { agent } }, options)
}

/** Returns the fields that decide whether the agent of a cluster is admitted. */
export const agentAdmissionFields = ({
  metadata,
  spec,
  status,
}: Pick<PlatformCluster, 'metadata' | 'spec' | 'status'>) => ({
  ...{ spec, status },
  incarnation: metadata.annotations?.[INCARNATION_ANNOTATION],
  isBeingDeleted: metadata.deletionTimestamp !== undefined,
})
