import { X509Certificate } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Caller } from '../../api/callers/tokens.ts'
import type { Records } from '../../api/records/records.ts'
import {
  type AgentGreeting,
  type AgentIdentity,
  CERTIFICATE_DAYS,
  GREETING_PATH,
  HEARTBEAT,
  HUB_SERVER_NAME,
  JOIN_PATH,
  type JoinAnswer,
  RENEW_PATH,
  whyRefused,
  withoutUsed,
} from '../../contracts/clusters.ts'
import { timestamp } from '../../core/clock.ts'
import { messageOf, PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { readLinkToken } from '../../core/linkToken.ts'
import type { Log } from '../../core/log.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { askTunnel } from '../../kube/tunnel/ask.ts'
import { readTunnelPath } from '../../kube/tunnel/entry.ts'
import { refuse, relay } from '../../kube/tunnel/relay.ts'
import { TUNNEL_PROTOCOL, type Tunnel, type Tunnels } from '../../kube/tunnel/tunnels.ts'
import { type CertificatePair, issueCertificate, signRequest } from '../certificates.ts'
import { Refusal, readJoinRequest, sendJson } from './messages.ts'
import { PEER_NAME } from './peers.ts'

/** In whose name the record of a cluster is changed when an agent joins. */
const AGENTS: Caller = {
  principalId: '00000000-0000-0000-0000-000000000000',
  principalType: 'ServicePrincipal',
  displayName: 'Agent gate',
  expiresAt: Number.POSITIVE_INFINITY,
}

export type GateOptions = {
  authority: CertificatePair
  client: KubeClient
  caches: CacheSet
  records: Records
  tunnels: Tunnels
  /** Where other replicas of the platform reach this gate. */
  endpoint: (port: number) => string
  now: () => number
  log: Log
}
export type Gate = { readonly port: number; stop(): Promise<void> }

type Stored = PlatformCluster & { [key: string]: unknown }

/**
 * Where agents call, over TLS on a port of its own: with a token to join, with their certificate to renew it and to open the
 * tunnel. Each connection is judged by the record of its cluster, at its beginning and at each change of the record, so a
 * revocation ends what is open within the time that a watch takes.
 */
export async function openGate(options: GateOptions, address: { host: string; port: number }): Promise<Gate> {
  const gate = new AgentGate(options)
  const { authority } = options
  const request = { commonName: HUB_SERVER_NAME, purpose: 'server', names: [HUB_SERVER_NAME] } as const
  const { certPem, keyPem } = await issueCertificate(authority, request, new Date())
  const http = createHttpServer((incoming, response) => void gate.answer(incoming, response))
  http.requestTimeout = 0
  const server = createTlsServer(
    {
      // With its authority: an agent that joins knows no more than the fingerprint of that.
      cert: certPem + authority.certPem,
      key: keyPem,
      ca: authority.certPem,
      requestCert: true,
      rejectUnauthorized: false,
      ALPNProtocols: [TUNNEL_PROTOCOL, 'http/1.1'],
      minVersion: 'TLSv1.3',
      handshakeTimeout: 10_000,
    },
    (socket) => {
      socket.on('error', () => {})
      if (socket.alpnProtocol === TUNNEL_PROTOCOL) gate.admit(socket)
      else http.emit('connection', socket)
    },
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new Error(`The gate of agents cannot listen on ${address.host}:${address.port}.`, { cause })),
    )
    server.listen(address.port, address.host, resolve)
  })
  const { port } = server.address() as { port: number }
  gate.start(port)
  return {
    port,
    async stop() {
      gate.stop()
      http.closeAllConnections()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        options.tunnels.stop()
      })
    },
  }
}

class AgentGate {
  readonly #options: GateOptions
  /** Who is behind each open tunnel. */
  readonly #identities = new Map<Tunnel, AgentIdentity>()
  #port = 0
  #unsubscribe = () => {}

  constructor(options: GateOptions) {
    this.#options = options
  }

  start(port: number): void {
    this.#port = port
    const clusters = this.#options.caches.get<Stored>(PlatformCluster.resource)
    this.#unsubscribe = clusters.subscribe(() => this.#endRefused())
  }

  stop(): void {
    this.#unsubscribe()
  }

  /** Opens a tunnel, or ends the connection. */
  admit(socket: TLSSocket): void {
    const { tunnels, log } = this.#options
    const identity = identityOf(socket)
    const why = identity === undefined ? 'It shows no certificate of an agent.' : this.#whyRefused(identity)
    if (identity === undefined || why !== undefined) {
      log.info({ clusterId: identity?.clusterId, reason: why }, 'An agent was turned away.')
      socket.destroy()
      return
    }
    const expiresAt = timestamp(Date.parse(socket.getPeerCertificate().valid_to))
    const tunnel = tunnels.begin(identity.clusterId, socket, () => {
      this.#identities.delete(tunnel)
      clearInterval(beat)
    })
    this.#identities.set(tunnel, identity)
    const beat = setInterval(() => {
      if (this.#options.now() >= Date.parse(expiresAt)) tunnel.session.destroy()
      else void this.#tell(tunnel, {})
    }, HEARTBEAT)
    beat.unref()
    void this.#greet(tunnel, expiresAt)
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const path = request.url ?? ''
      if (request.method === 'POST' && path === JOIN_PATH) return sendJson(response, 200, await this.#join(request))
      if (request.method === 'POST' && path === RENEW_PATH) return sendJson(response, 200, await this.#renew(request))
      const asked = readTunnelPath(request.url)
      if (asked === undefined) return sendJson(response, 404, { message: 'There is no such path.' })
      if (!isPeer(request.socket as TLSSocket)) return refuse(response, 'Not for you.', 403)
      const session = this.#options.tunnels.find(asked.clusterId)
      if (session === undefined) return refuse(response, 'The agent of the cluster is not connected here.')
      await relay(session, asked.path, request, response)
    } catch (error) {
      if (error instanceof Refusal) return sendJson(response, error.status, { message: error.message })
      this.#options.log.warn({ error: messageOf(error) }, 'A request of an agent could not be answered.')
      sendJson(response, 503, { message: 'The hub cannot answer now.' })
    }
  }

  #endRefused(): void {
    for (const [{ clusterId, session }, identity] of this.#identities) {
      const why = this.#whyRefused(identity)
      if (why === undefined) continue
      this.#options.log.info({ clusterId, reason: why }, 'The tunnel of an agent was ended.')
      session.destroy()
    }
  }

  #whyRefused(identity: AgentIdentity): string | undefined {
    const stored = this.#options.caches.get<Stored>(PlatformCluster.resource).get(undefined, identity.clusterId)
    return whyRefused(identity, stored && judged(stored))
  }

  async #join(request: IncomingMessage): Promise<JoinAnswer> {
    const { records, now } = this.#options
    const { token, request: certificateRequest } = await readJoinRequest(request)
    const read = readLinkToken(token ?? '', 1)
    const [clusterId = ''] = read?.ids ?? []
    const cluster = await records.get(PlatformCluster, { name: clusterId }, { fresh: true })
    const at = now()
    const refusal = new Refusal(401, 'The token is wrong, was used, or has expired. Ask for a new one.')
    if (read === undefined || cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) throw refusal
    const incarnation = cluster.metadata.annotations?.[INCARNATION_ANNOTATION]
    // The controllers give it to what kubectl made.
    if (incarnation === undefined) throw new Refusal(503, 'The record of the cluster is not ready yet.')
    // Signed before the token is used up: a request that cannot be signed costs none.
    const issuedAt = issueTime(at, cluster.spec.revokedAt)
    const certificate = await this.#sign(certificateRequest, { clusterId, incarnation, issuedAt })
    await this.#useToken(clusterId, read.hash, at, refusal)
    await this.#patch(clusterId, { joinedAt: timestamp(issuedAt) })
    this.#options.log.info({ clusterId }, 'An agent has joined.')
    return { clusterId, certificate, authority: this.#options.authority.certPem }
  }

  /** The record says that it is used before anybody gets a certificate for it: of two who send it at once, one joins. */
  async #useToken(clusterId: string, hash: string, at: number, refusal: Refusal): Promise<void> {
    try {
      await this.#options.records.update(
        PlatformCluster,
        { name: clusterId },
        {
          caller: AGENTS,
          fresh: true,
          isOnce: true,
          change: ({ spec }) => {
            const joinTokens = withoutUsed(spec.joinTokens, hash, at)
            if (joinTokens === undefined) throw refusal
            return { ...spec, joinTokens }
          },
        },
      )
    } catch (error) {
      if (error instanceof PlatformError && error.status < 500) throw refusal
      throw error
    }
  }

  async #renew(request: IncomingMessage): Promise<JoinAnswer> {
    const { now, authority } = this.#options
    const identity = identityOf(request.socket as TLSSocket)
    const why = identity === undefined ? 'Show the certificate that is to be renewed.' : this.#whyRefused(identity)
    if (identity === undefined || why !== undefined) throw new Refusal(403, why ?? '')
    const { request: certificateRequest } = await readJoinRequest(request)
    const certificate = await this.#sign(certificateRequest, { ...identity, issuedAt: now() })
    return { clusterId: identity.clusterId, certificate, authority: authority.certPem }
  }

  async #sign(request: string, { clusterId, incarnation, issuedAt }: AgentIdentity): Promise<string> {
    const subject = { commonName: clusterId, organization: incarnation, days: CERTIFICATE_DAYS }
    try {
      return await signRequest(this.#options.authority, request, subject, new Date(issuedAt))
    } catch {
      throw new Refusal(400, 'The certificate request cannot be read, or is not signed with its own key.')
    }
  }

  /** What the agent says of itself, and that it is here. */
  async #greet(tunnel: Tunnel, certificateExpiresAt: string): Promise<void> {
    const { now, endpoint, log } = this.#options
    const { clusterId, session } = tunnel
    try {
      const greeting = (await askTunnel(session, GREETING_PATH, 10_000)) as AgentGreeting
      const at = now()
      await this.#tell(tunnel, {
        connectedAt: timestamp(at),
        endpoint: endpoint(this.#port),
        version: greeting.version.slice(0, 64),
        kubernetesVersion: greeting.kubernetesVersion.slice(0, 64),
        certificateExpiresAt,
        clockSkewMilliseconds: Math.round(Date.parse(greeting.time) - at) || 0,
      })
      log.info({ clusterId }, 'The tunnel of an agent is open.')
    } catch (error) {
      log.warn({ clusterId, error: messageOf(error) }, 'An agent opened a tunnel and said nothing in it.')
      session.destroy()
    }
  }

  async #tell(tunnel: Tunnel, agent: object): Promise<void> {
    if (!this.#identities.has(tunnel)) return
    try {
      await this.#patch(tunnel.clusterId, { ...agent, lastSeenAt: timestamp(this.#options.now()) })
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return tunnel.session.destroy()
      this.#options.log.warn({ clusterId: tunnel.clusterId, error: messageOf(error) }, 'A sign of life was not kept.')
    }
  }

  async #patch(clusterId: string, agent: object): Promise<void> {
    const { client } = this.#options
    await client.mergePatch(
      PlatformCluster.resource,
      { name: clusterId },
      { status: { agent } },
      { subresource: 'status' },
    )
  }
}

const judged = ({ metadata, spec }: Stored) => ({
  spec,
  incarnation: metadata.annotations?.[INCARNATION_ANNOTATION],
  isBeingDeleted: metadata.deletionTimestamp !== undefined,
})

/** Certificates know whole seconds: one of the second of a revocation would count as older. */
function issueTime(now: number, revokedAt: string | undefined): number {
  const second = Math.floor(now / 1000) * 1000
  return revokedAt === undefined ? second : Math.max(second, Math.floor(Date.parse(revokedAt) / 1000) * 1000 + 1000)
}

/** Whom a certificate of our authority names; undefined without one. */
function identityOf(socket: TLSSocket): AgentIdentity | undefined {
  const subject = subjectOf(socket)
  if (subject === undefined || subject.CN === PEER_NAME || subject.O === undefined) return undefined
  return { clusterId: subject.CN, incarnation: subject.O, issuedAt: subject.issuedAt }
}

const isPeer = (socket: TLSSocket) => subjectOf(socket)?.CN === PEER_NAME

function subjectOf(socket: TLSSocket): { CN: string; O: string | undefined; issuedAt: number } | undefined {
  if (!socket.authorized) return undefined
  const { raw } = socket.getPeerCertificate()
  if (raw === undefined) return undefined
  const certificate = new X509Certificate(raw)
  const field = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(certificate.subject)?.[1]
  return { CN: field('CN') ?? '', O: field('O'), issuedAt: Date.parse(certificate.validFrom) }
}
