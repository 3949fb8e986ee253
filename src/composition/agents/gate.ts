import { X509Certificate } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Caller } from '../../api/callers/tokens.ts'
import { requestRate, TokenBucket, toRetryAfterSeconds } from '../../api/http/limits.ts'
import type { Records } from '../../api/records/records.ts'
import {
  type AgentIdentity,
  agentRefusalOf,
  CERTIFICATE_DAYS,
  consumeJoinToken,
  HUB_SERVER_NAME,
  JOIN_PATH,
  type JoinAnswer,
  RENEW_PATH,
  revokedAtOf,
} from '../../contracts/clusters.ts'
import { addressKey } from '../../core/addressKey.ts'
import { type Clock, timestamp } from '../../core/clock.ts'
import { disconnectSignalOf } from '../../core/disconnectSignal.ts'
import { messageOf, PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { LateRefusals } from '../../core/lateRefusals.ts'
import { readLinkToken } from '../../core/linkToken.ts'
import { listen } from '../../core/listen.ts'
import type { Log } from '../../core/log.ts'
import { runDaily } from '../../core/runDaily.ts'
import { withoutPipelining } from '../../core/withoutPipelining.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { limitSecrets } from '../../identity/guessLimiter.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { PortForward } from '../../kube/portForward.ts'
import { readTunnelPath } from '../../kube/tunnel/entry.ts'
import { relay, sendStatusError } from '../../kube/tunnel/relay.ts'
import { TUNNEL_PROTOCOL, type Tunnels } from '../../kube/tunnel/tunnels.ts'
import { OpenConnections, refuseUpgrade, relayUpgrade, type Upgrade } from '../../kube/tunnel/upgrades.ts'
import { type CertificatePair, issueCertificate, signRequest } from '../certificates.ts'
import { relayToCopy } from './copies.ts'
import { type JoinRequest, Refusal, readJoinRequest, sendJson } from './messages.ts'
import { ACTIVATOR_NAME, PEER_NAME } from './peers.ts'
import { AgentPresence, agentAdmissionFields, patchAgent } from './presence.ts'
import { UnidentifiedConnections } from './unidentifiedConnections.ts'

/** The actor of changes to a cluster's record when an agent joins. */
const GATE_CALLER: Caller = {
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
  /** Opens connections to pods of a cluster, whichever replica holds its tunnel. */
  portForwardOf: (clusterId: string) => PortForward
  /** Returns the address at which other replicas reach this gate. */
  endpoint: (port: number) => string
  clock: Clock
  log: Log
  /** For tests. */
  unidentified?: UnidentifiedConnections
}
/** Refused joins per minute and address. */
const REFUSED_JOINS_PER_MINUTE = 10
/** Requests per minute and address, because each certificate is signed. Many clusters may share an address. */
const REQUESTS_PER_MINUTE = 600
/** Tunnels of a cluster: each that opens and ends is written into its record. An agent waits longer after each failure. */
const TUNNELS_RATE = { perSecond: 0.5, burst: 30 }
/** Log lines about refused tunnels of a cluster, or of an address without a certificate; more are of the level debug. */
const REFUSALS_LOGGED = { perSecond: 1 / 60, burst: 5 }
/** Milliseconds that a connection without a peer certificate may last: enough for one request. */
const VISIT_TIMEOUT_MS = 60_000

export type Gate = { readonly port: number; stop(): Promise<void> }

/**
 * Opens the TLS port for agents, who join with a token, and renew and connect with their certificate. Each connection
 * is checked against the record of its cluster, both when it opens and when the record changes, so a revocation closes
 * open tunnels as soon as the watch delivers it.
 */
export async function openGate(options: GateOptions, address: { host: string; port: number }): Promise<Gate> {
  const gate = new AgentGate(options)
  const http = createHttpServer(withoutPipelining((incoming, response) => void gate.answer(incoming, response)))
  http.on('upgrade', (incoming, socket, head) => gate.upgrade({ request: incoming, socket, head }))
  http.requestTimeout = 0
  const connections = new OpenConnections()
  const unidentified = options.unidentified ?? new UnidentifiedConnections()
  const server = createTlsServer(
    {
      ...(await ownTls(options.authority)),
      requestCert: true,
      rejectUnauthorized: false,
      ALPNProtocols: [TUNNEL_PROTOCOL, 'http/1.1'],
      handshakeTimeout: 10_000,
    },
    (socket) => {
      socket.on('error', () => {})
      connections.add(socket)
      if (isExempt(socket)) unidentified.leave(socket)
      if (socket.alpnProtocol === TUNNEL_PROTOCOL) gate.admit(socket)
      else {
        limitLifetime(socket)
        http.emit('connection', socket)
      }
    },
  )
  server.on('connection', (socket) => unidentified.enter(socket))
  // Node reports failed and late handshakes, but leaves their sockets open.
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  const port = await listen(server, 'The gate of agents', address)
  gate.start(port)
  const failed = 'The certificate of the gate of agents could not be renewed.'
  const renewal = runDaily(async () => server.setSecureContext(await ownTls(options.authority)), { ...options, failed })
  return {
    port,
    async stop() {
      renewal.stop()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        options.tunnels.stop()
        connections.end()
      })
      await gate.stop()
    },
  }
}

/** Issues the gate's certificate, which is valid for a year. It is renewed in place, for processes that run longer. */
async function ownTls(authority: CertificatePair) {
  const request = { commonName: HUB_SERVER_NAME, purpose: 'server', names: [HUB_SERVER_NAME] } as const
  const { certPem, keyPem } = await issueCertificate(authority, request, new Date())
  // Includes the authority: an agent that joins only knows its fingerprint.
  return { cert: certPem + authority.certPem, key: keyPem, ca: authority.certPem, minVersion: 'TLSv1.3' } as const
}

class AgentGate {
  readonly #options: GateOptions
  readonly #presence: AgentPresence
  readonly #guesses = limitSecrets(REFUSED_JOINS_PER_MINUTE)
  readonly #requests = new TokenBucket(requestRate(REQUESTS_PER_MINUTE))
  readonly #tunnels = new TokenBucket(TUNNELS_RATE)
  readonly #logged = new TokenBucket(REFUSALS_LOGGED)
  readonly #refusals: LateRefusals
  #port = 0

  constructor(options: GateOptions) {
    this.#options = options
    this.#refusals = new LateRefusals(options.clock)
    this.#presence = new AgentPresence({ ...options, endpoint: () => options.endpoint(this.#port) })
  }

  start(port: number): void {
    this.#port = port
    this.#presence.start()
  }

  async stop(): Promise<void> {
    await this.#presence.stop()
  }

  /** Opens a tunnel, or ends the connection. */
  admit(socket: TLSSocket): void {
    const identity = identityOf(socket)
    const reason = identity === undefined ? whyUnidentified(socket) : this.#whyNoTunnel(identity)
    if (identity === undefined || reason !== undefined) {
      const { log, clock } = this.#options
      const who = identity?.clusterId ?? addressKey(socket.remoteAddress)
      const isRepeated = this.#logged.take(who, 1, clock.monotonic()) !== undefined
      log[isRepeated ? 'debug' : 'info']({ clusterId: identity?.clusterId, reason }, 'An agent was refused.')
      socket.destroy()
      return
    }
    this.#presence.begin(identity, socket, Date.parse(socket.getPeerCertificate().valid_to))
  }

  #whyNoTunnel(identity: AgentIdentity): string | undefined {
    const refusal = this.#presence.whyRefused(identity)
    if (refusal !== undefined) return refusal
    const wait = this.#tunnels.take(identity.clusterId, 1, this.#options.clock.monotonic())
    return wait === undefined ? undefined : 'It opens tunnels too often.'
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const path = request.url ?? ''
      const target = readTunnelPath(request.url)
      const isFromReplica = target !== undefined && isPeer(request.socket as TLSSocket)
      if (!isFromReplica) await this.#limitRequests(request, response)
      if (request.method === 'POST' && path === JOIN_PATH)
        return sendJson(response, 200, await this.#joinWithinLimit(request))
      if (request.method === 'POST' && path === RENEW_PATH) return sendJson(response, 200, await this.#renew(request))
      if (target === undefined) return sendJson(response, 404, { message: 'There is no such path.' })
      if (!isFromReplica) return sendStatusError(response, 'Not for you.', 403)
      const tunnel = this.#options.tunnels.find(target.clusterId)
      if (tunnel === undefined) return sendStatusError(response, 'The agent of the cluster is not connected here.')
      await relay(tunnel, target.path, request, response)
    } catch (error) {
      if (error instanceof Refusal) return sendJson(response, error.status, { message: error.message })
      this.#options.log.warn({ error: messageOf(error) }, 'A request of an agent could not be answered.')
      sendJson(response, 503, { message: 'The hub cannot answer now.' })
    }
  }

  /** Forwards a replica's request into a tunnel that ends here, or the activator's to a copy of a function. */
  upgrade(upgrade: Upgrade): void {
    const { request, socket } = upgrade
    socket.on('error', () => {})
    if (isActivator(request.socket as TLSSocket)) return void relayToCopy(this.#options, upgrade)
    const target = readTunnelPath(request.url)
    const isFromReplica = target !== undefined && isPeer(request.socket as TLSSocket)
    const tunnel = isFromReplica ? this.#options.tunnels.find(target.clusterId) : undefined
    if (isFromReplica && tunnel !== undefined) relayUpgrade(tunnel, target.path, upgrade)
    else refuseUpgrade(socket, isFromReplica ? 503 : 403)
  }

  /** @throws Refusal after a second, if the address has made too many requests */
  async #limitRequests({ socket }: IncomingMessage, response: ServerResponse): Promise<void> {
    const wait = this.#requests.take(addressKey(socket.remoteAddress), 1, this.#options.clock.monotonic())
    if (wait === undefined) return
    await this.#refusals.wait(disconnectSignalOf(response))
    throw new Refusal(429, `Too many requests from this address. Try again in ${toRetryAfterSeconds(wait)} s.`)
  }

  /** Joins within the limit on refused joins. The request is read first, so that slow senders hold no slot. */
  async #joinWithinLimit(request: IncomingMessage): Promise<JoinAnswer> {
    const address = request.socket.remoteAddress ?? ''
    const joinRequest = await readJoinRequest(request)
    let refusal: Refusal | undefined
    const judged = await this.#guesses.judge(address, JOIN_PATH, () =>
      this.#join(joinRequest).catch((error: unknown) => {
        if (!(error instanceof Refusal && error.status < 500)) throw error
        refusal = error
        return undefined
      }),
    )
    if ('blockedFor' in judged)
      throw new Refusal(429, `Too many joins were refused. Try again in ${judged.blockedFor} s.`)
    if (judged.value === undefined) throw refusal
    return judged.value
  }

  async #join({ token, request: certificateRequest }: JoinRequest): Promise<JoinAnswer> {
    const { records, clock } = this.#options
    const read = readLinkToken(token ?? '', 1)
    const [clusterId = ''] = read?.ids ?? []
    const cluster = await records.get(PlatformCluster, { name: clusterId }, { fresh: true })
    const at = clock.now()
    const refusal = new Refusal(401, 'The token is wrong, was used, or has expired. Ask for a new one.')
    if (read === undefined || cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) throw refusal
    const incarnation = cluster.metadata.annotations?.[INCARNATION_ANNOTATION]
    // The controllers add it to objects that were created with kubectl.
    if (incarnation === undefined) throw new Refusal(503, 'The record of the cluster is not ready yet.')
    // Signed before the token is consumed: an invalid request does not cost a token.
    const issuedAt = issueTime(at, revokedAtOf(cluster))
    const certificate = await this.#sign(certificateRequest, { clusterId, incarnation, issuedAt })
    await this.#useToken(clusterId, read.hash, at, refusal)
    await patchAgent(this.#options.client, cluster.metadata, { joinedAt: timestamp(issuedAt) }).catch(
      (error: unknown) => {
        // Another cluster has taken the id.
        throw isKubeError(error, 'NotFound', 'Conflict') ? refusal : error
      },
    )
    this.#options.log.info({ clusterId }, 'An agent has joined.')
    return { clusterId, certificate, authority: this.#options.authority.certPem }
  }

  /** Consumes the token before a certificate is issued: of two agents with the same token, only one joins. */
  async #useToken(clusterId: string, hash: string, at: number, refusal: Refusal): Promise<void> {
    try {
      await this.#options.records.update(
        PlatformCluster,
        { name: clusterId },
        {
          caller: GATE_CALLER,
          fresh: true,
          isOnce: true,
          change: ({ spec }) => {
            const joinTokens = consumeJoinToken(spec.joinTokens, hash, at)
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

  /** @throws Refusal also if the agent was revoked while it sent its request, however slowly */
  async #renew(request: IncomingMessage): Promise<JoinAnswer> {
    const { clock, authority, records } = this.#options
    const identity = identityOf(request.socket as TLSSocket)
    if (identity === undefined) throw new Refusal(403, 'Present the certificate to renew.')
    refuseFor(this.#presence.whyRefused(identity))
    const { request: certificateRequest } = await readJoinRequest(request)
    const { clusterId } = identity
    // Taken before the record is read: a later revocation is then later than the certificate.
    const at = clock.now()
    const cluster = await records.get(PlatformCluster, { name: clusterId }, { fresh: true })
    refuseFor(agentRefusalOf(identity, cluster && agentAdmissionFields(cluster)))
    const issuedAt = issueTime(at, cluster && revokedAtOf(cluster))
    const certificate = await this.#sign(certificateRequest, { ...identity, issuedAt })
    return { clusterId, certificate, authority: authority.certPem }
  }

  async #sign(request: string, { clusterId, incarnation, issuedAt }: AgentIdentity): Promise<string> {
    const subject = { commonName: clusterId, organization: incarnation, days: CERTIFICATE_DAYS }
    try {
      return await signRequest(this.#options.authority, request, subject, new Date(issuedAt))
    } catch {
      throw new Refusal(400, 'The certificate request cannot be read, or is not signed with its own key.')
    }
  }
}

function refuseFor(reason: string | undefined): void {
  if (reason !== undefined) throw new Refusal(403, reason)
}

/** Certificates have times in seconds. One issued in the second of a revocation would count as revoked. */
function issueTime(now: number, revokedAt: string | undefined): number {
  const second = Math.floor(now / 1000) * 1000
  return revokedAt === undefined ? second : Math.max(second, Math.floor(Date.parse(revokedAt) / 1000) * 1000 + 1000)
}

/** Returns the identity in a certificate of our authority; undefined without one. */
function identityOf(socket: TLSSocket): AgentIdentity | undefined {
  const subject = subjectOf(socket)
  if (subject === undefined || isProcess(subject.CN) || subject.O === undefined) return undefined
  return { clusterId: subject.CN, incarnation: subject.O, issuedAt: subject.issuedAt }
}

/** A certificate that has expired identifies nobody any more. */
const whyUnidentified = ({ authorizationError }: TLSSocket) =>
  `It presents no valid certificate of an agent (${authorizationError ?? 'wrong subject'}).`

/** Limits the lifetime of connections, except for the platform's own processes and tunnels. */
function limitLifetime(socket: TLSSocket): void {
  if (isExempt(socket)) return
  const timer = setTimeout(() => socket.destroy(), VISIT_TIMEOUT_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** Only exempts from limits. What the connection asks for is checked separately: revoked agents are refused. */
const isExempt = (socket: TLSSocket) =>
  isPeer(socket) || isActivator(socket) || (socket.alpnProtocol === TUNNEL_PROTOCOL && identityOf(socket) !== undefined)

const isProcess = (name: string) => name === PEER_NAME || name === ACTIVATOR_NAME
const isPeer = (socket: TLSSocket) => subjectOf(socket)?.CN === PEER_NAME
const isActivator = (socket: TLSSocket) => subjectOf(socket)?.CN === ACTIVATOR_NAME

function subjectOf(socket: TLSSocket): { CN: string; O: string | undefined; issuedAt: number } | undefined {
  if (!socket.authorized) return undefined
  const { raw } = socket.getPeerCertificate()
  if (raw === undefined) return undefined
  const certificate = new X509Certificate(raw)
  const field = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(certificate.subject)?.[1]
  return { CN: field('CN') ?? '', O: field('O'), issuedAt: Date.parse(certificate.validFrom) }
}
