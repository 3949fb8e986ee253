import { X509Certificate } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Configuration } from '../../config.ts'
import { ConfigurationError } from '../../config.ts'
import { type AgentGreeting, CERTIFICATE_DAYS, GREETING_PATH, HUB_SERVER_NAME } from '../../contracts/clusters.ts'
import { DAY_MS } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { VERSION } from '../../core/release.ts'
import { createKubeClient, type KubeClient } from '../../kube/client.ts'
import { dial, serveTunnel } from '../../kube/tunnel/agentEnd.ts'
import { loadKubeconfig } from '../../kubeconfig/kubeconfig.ts'
import { userAgent, waitForApiServer } from '../connection.ts'
import type { Part, PartDependencies } from '../part.ts'
import { HubRefusal, joinHub, renewMembership } from './joinHub.ts'
import { type Membership, readMembership, storeMembership } from './membership.ts'
import { ServedVersion } from './servedVersion.ts'

/** Milliseconds between connection attempts. */
const RETRY_MS = { least: 1_000, most: 30_000 }
/** Milliseconds after which the certificate is renewed: two thirds of its lifetime. */
const RENEW_AFTER_MS = (CERTIFICATE_DAYS * DAY_MS * 2) / 3
/** Milliseconds between checks of the certificate and of the cluster's version. */
const CHECK_INTERVAL_MS = 3_600_000

/**
 * Runs the agent in another cluster: connects to the hub, keeps a tunnel open, and serves requests from it with its own
 * rights at its API server. It listens on no port, and stores only its certificate, in a Secret.
 */
export async function runAgent(configuration: Configuration, { log: base, fail }: PartDependencies): Promise<Part> {
  const { kubeconfig, controllersContext, agentHub } = configuration
  if (agentHub === undefined)
    throw new ConfigurationError('The role agent needs PLATFORM_AGENT_HUB, the address of the hub.')
  const log = base.child({ part: 'agent' })
  const access = loadKubeconfig(kubeconfig, controllersContext)
  const client = createKubeClient(access, { fieldManager: 'freehold-agent', userAgent: userAgent('agent'), log })
  await waitForApiServer(client, log)
  const stopping = new AbortController()
  const agent = new ClusterAgent(configuration, agentHub, client, log, stopping.signal)
  const running = agent.run(access).catch((error: unknown) => {
    if (!stopping.signal.aborted) fail(`The agent cannot continue: ${messageOf(error)}`)
  })
  return {
    name: 'agent',
    checks: [{ name: 'tunnel', isReady: () => agent.isConnected }],
    async stop() {
      stopping.abort()
      await running
      await client.close()
    },
  }
}

class ClusterAgent {
  readonly #configuration: Configuration
  readonly #hub: string
  readonly #client: KubeClient
  readonly #log: Log
  readonly #stopped: AbortSignal
  readonly #version: ServedVersion
  /** Aborting it closes the open tunnel. */
  #reopen = new AbortController()
  /** Whether the hub has greeted the agent: it ends the tunnel of one that it refuses. */
  isConnected = false

  constructor(configuration: Configuration, hub: string, client: KubeClient, log: Log, stopped: AbortSignal) {
    this.#configuration = configuration
    this.#hub = hub
    this.#client = client
    this.#version = new ServedVersion(client)
    this.#log = log
    this.#stopped = stopped
  }

  async run(access: ReturnType<typeof loadKubeconfig>): Promise<void> {
    const looking = setInterval(() => {
      void this.#renewIfDue()
      void this.#reopenIfUpgraded()
    }, CHECK_INTERVAL_MS)
    let failures = 0
    while (!this.#stopped.aborted) {
      try {
        this.#reopen = new AbortController()
        await this.#version.refresh()
        const { certificate, key, authority } = await this.#membership()
        const { hostname, port } = new URL(this.#hub)
        const credentials = { cert: certificate, key, ca: authority, servername: HUB_SERVER_NAME }
        const socket = await dial({ host: hostname, port: Number(port || 443) }, credentials)
        const began = performance.now()
        const signal = AbortSignal.any([this.#stopped, this.#reopen.signal])
        await serveTunnel(socket, access, (path) => this.#answerGreeting(path), { signal })
        // A hub that refuses the agent closes the connection after the handshake.
        if (!this.isConnected && !signal.aborted) throw new Error(whyRefused(certificate))
        // A short tunnel counts as a failure.
        failures = performance.now() - began > RETRY_MS.most ? 0 : failures + 1
      } catch (error) {
        failures += 1
        this.#log.warn(
          { hub: this.#hub, reason: messageOf(error) },
          'The hub cannot be reached, or refuses this agent.',
        )
      }
      this.isConnected = false
      const pause = Math.min(RETRY_MS.least * 2 ** Math.min(failures - 1, 5), RETRY_MS.most)
      if (!this.#stopped.aborted)
        await sleep(pause * (0.5 + Math.random() / 2), undefined, { signal: this.#stopped }).catch(() => {})
    }
    clearInterval(looking)
  }

  async #answerGreeting(path: string): Promise<AgentGreeting | undefined> {
    if (path !== GREETING_PATH) return undefined
    if (!this.isConnected) this.#log.info({ hub: this.#hub }, 'The tunnel to the hub is open.')
    this.isConnected = true
    return { version: VERSION, kubernetesVersion: this.#version.known, time: new Date().toISOString() }
  }

  /** Returns the stored certificate, or joins if there is none or the configured token is new. */
  async #membership(): Promise<Membership> {
    const stored = await readMembership(this.#client)
    const { agentToken: token, agentFingerprint: fingerprint } = this.#configuration
    if (token === undefined || stored?.isOf(token) === true) {
      if (stored === undefined) throw new ConfigurationError('There is no certificate yet: set PLATFORM_AGENT_TOKEN.')
      return stored.membership
    }
    try {
      const membership = await joinHub(this.#hub, token, fingerprint)
      await storeMembership(this.#client, membership, token)
      this.#log.info({ clusterId: membership.clusterId }, 'Joined.')
      return membership
    } catch (error) {
      // A token stays in the configuration long after it was used.
      if (stored !== undefined && error instanceof HubRefusal) return stored.membership
      throw error
    }
  }

  /** The version is only sent when a tunnel opens. */
  async #reopenIfUpgraded(): Promise<void> {
    if (!(await this.#version.refresh())) return
    this.#log.info({ version: this.#version.known }, 'The cluster was upgraded; the next tunnel tells the hub.')
    this.#reopen.abort()
  }

  async #renewIfDue(): Promise<void> {
    try {
      const stored = await readMembership(this.#client)
      if (stored === undefined || Date.now() - stored.issuedAt < RENEW_AFTER_MS) return
      const renewed = await renewMembership(this.#hub, stored.membership)
      await storeMembership(this.#client, renewed)
      this.#log.info({}, 'The certificate was renewed; the next connection uses it.')
    } catch (error) {
      this.#log.warn({ reason: messageOf(error) }, 'The certificate could not be renewed; trying again in an hour.')
    }
  }
}

/** Says why the hub may have ended a connection that it accepted in TLS, which tells the agent nothing. */
function whyRefused(certificate: string): string {
  const { validToDate } = new X509Certificate(certificate)
  return validToDate.getTime() < Date.now()
    ? `The hub refuses this agent: its certificate expired at ${validToDate.toISOString()}. It needs a new join token.`
    : 'The hub ended the connection: it may have revoked this agent.'
}
