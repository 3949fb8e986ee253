import { readFile } from 'node:fs/promises'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import { WorkRefused } from '../adapters/workers/port.ts'
import type { PrincipalStatus } from '../api/callers/principalStatus.ts'
import type { Services } from '../api/http/context.ts'
import type { Staleness } from '../api/http/staleness.ts'
import type { ActivityRecorder } from '../api/records/activity/recorder.ts'
import { resourceExists } from '../api/records/activity/subjects.ts'
import { grantRefusalMessage } from '../api/rules/assignments.ts'
import { type Configuration, ConfigurationError } from '../config.ts'
import { MAX_AUDIT_LOG_BYTES } from '../contracts/auditLog.ts'
import type { Clock } from '../core/clock.ts'
import { closeServer } from '../core/closeServer.ts'
import { closeWhenIdle } from '../core/closeWhenIdle.ts'
import { boundConnections, TLS_CONNECTION_TIMEOUTS } from '../core/connectionLimits.ts'
import { messageOf } from '../core/errors.ts'
import { FairShare } from '../core/fairShare.ts'
import { followCertificate } from '../core/followCertificate.ts'
import { KeyedMutex } from '../core/keyedMutex.ts'
import { listen } from '../core/listen.ts'
import type { Log } from '../core/log.ts'
import { readWithin } from '../core/readWithin.ts'
import { runDaily } from '../core/runDaily.ts'
import { isSameText } from '../core/sameText.ts'
import { WEBHOOK_SERVER_NAME } from '../core/webhook.ts'
import { withoutPipelining } from '../core/withoutPipelining.ts'
import type { CacheSet } from '../kube/caches.ts'
import type { KubeClient } from '../kube/client.ts'
import { createAdmission } from '../webhooks/admission/index.ts'
import { createAuditor } from '../webhooks/audit/index.ts'
import {
  createReviewer,
  followNamespaceScopes,
  givenToPods,
  limitReviewRate,
  partOwners,
  podOwners,
} from '../webhooks/authorizer/index.ts'
import { keepAuthorityPublished, type OwnAuthority, openOwnAuthority } from './ownAuthority.ts'

/** Common name of the API server's client certificate. No other client may ask for decisions. */
export const CALLER_NAME = 'freehold:authorization-webhook-caller'
const AUTHORIZE = '/authorize'
const ADMIT = '/admit'
const AUDIT = '/audit'
/** Bytes: an AdmissionReview holds the object twice, each with the annotations of kubectl. */
const BODY_MAX_BYTES = 2 * 1024 * 1024
/** Longer than the API server keeps idle connections (90 s): closing one first could lose a request in flight. */
const KEEP_ALIVE_MS = 120_000

export type WebhookOptions = {
  services: Services
  caches: CacheSet
  client: KubeClient
  isReady: () => boolean
  staleness: Staleness
  principalStatus?: PrincipalStatus | undefined
  recorder: ActivityRecorder
  log: Log
}
export type Webhooks = { readonly port: number; stop(): Promise<void> }

type Review = {
  /** Answers a review; undefined if the body is not a review. */
  readonly answer: (body: unknown) => unknown
  /** Maximum size of a body in bytes. */
  readonly maxBytes: number
  /** Returns undefined if it is not JSON. */
  readonly parse: (bytes: Buffer) => unknown
}
/** Reviews by path. */
type Reviews = ReadonlyMap<string, Review>

const reviewOf = (answer: Review['answer']): Review => ({ answer, maxBytes: BODY_MAX_BYTES, parse: json })

function json(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Bytes of the list around the events. */
const LIST_BYTES_MAX = 64 * 1024

/** Parses large batches on a worker thread. If the workers are busy, the API server retries. */
function auditOf(answer: Review['answer'], { workers }: Services): Review {
  const parse = (bytes: Buffer) =>
    bytes.length <= BODY_MAX_BYTES
      ? json(bytes)
      : workers.run('shortAuditLog', bytes, AUDIT).catch((error: unknown) => {
          // A retry would end the same way.
          if (error instanceof WorkRefused && error.reason === 'Overdue') return undefined
          throw error
        })
  return { answer, maxBytes: MAX_AUDIT_LOG_BYTES + LIST_BYTES_MAX, parse }
}

/**
 * Serves the API server's webhooks over https on a port of their own: authorization, admission and audit. With a
 * configured certificate, callers must present the API server's certificate. With an authority of our own, the API
 * server presents none; then only admission is served, at a secret path. Returns undefined if neither is configured.
 *
 * @throws ConfigurationError if the certificate has no key, or callers could not be verified
 */
export async function runWebhooks(
  configuration: Configuration,
  options: WebhookOptions,
): Promise<Webhooks | undefined> {
  const { services, caches, client, isReady, staleness, principalStatus, recorder, log } = options
  const { webhookCertificate, webhookOwnAuthority, requestsPerMinute } = configuration
  if (webhookCertificate === undefined && !webhookOwnAuthority) return undefined
  const admit = createAdmission({ services, caches, isReady })
  if (webhookCertificate === undefined) return runOwnWebhooks(configuration, options, admit)
  const tls = await configuredTls(configuration)
  const { scopeOfNamespace, stop: stopScopes } = followNamespaceScopes(caches)
  const review = createReviewer({
    access: services.access,
    scopeOfNamespace,
    ownerOf: podOwners(caches),
    givenTo: givenToPods(caches, client),
    ownerOfPart: partOwners(caches),
    getGrantRefusal: (principalId, roleName, scope) => grantRefusalMessage(services, { principalId }, roleName, scope),
    isReady,
    staleness,
    standing: principalStatus,
  })
  const isKnown = (resource: Parameters<typeof resourceExists>[1]) => resourceExists(services.records, resource)
  const audit = createAuditor({
    scopeOfNamespace,
    ownerOfPart: partOwners(caches),
    exists: isKnown,
    recorder,
    log,
    isReady,
  })
  const reviews: Reviews = new Map([
    [AUTHORIZE, reviewOf(limitReviewRate(review, { requestsPerMinute, clock: services.clock, scopeOfNamespace }))],
    [ADMIT, reviewOf(admit)],
    [AUDIT, auditOf(audit, services)],
  ])
  // Checked once per connection, because parsing a certificate takes longer than most answers.
  const callers = new WeakSet<object>()
  const server = boundConnections(
    createServer(
      tls,
      listenerOf(reviews, ({ socket }) => callers.has(socket), log),
    ),
  )
  server.on('secureConnection', (socket) => {
    if (socket.getPeerCertificate().subject?.CN === CALLER_NAME) callers.add(socket)
  })
  const webhooks = await serve(server, configuration)
  const dependencies = { clock: services.clock, log, failed: RENEWAL_FAILED }
  const use = (found: typeof tls) => server.setSecureContext(found)
  const followed = followCertificate(() => configuredTls(configuration), tls, use, dependencies)
  return withStopHook(webhooks, () => {
    followed.stop()
    stopScopes()
  })
}

/** Serves admission only, with the authority that the Secret holds: another one is adopted once a replica uses it. */
async function runOwnWebhooks(
  configuration: Configuration,
  options: WebhookOptions,
  admit: Review['answer'],
): Promise<Webhooks> {
  const { client, log, services } = options
  let authority = await openOwnAuthority(client, new Date(services.clock.now()))
  const reviews = new Map([[authority.path, reviewOf(admit)]])
  const tlsNow = () => ownTls(authority, services.clock)
  const server = boundConnections(
    createServer(
      await tlsNow(),
      listenerOf(reviews, () => true, log),
    ),
  )
  const webhooks = await serve(server, configuration)
  const adopt = async (another: OwnAuthority) => {
    server.setSecureContext(await ownTls(another, services.clock))
    authority = another
    reviews.clear()
    reviews.set(authority.path, reviewOf(admit))
  }
  const announced = keepAuthorityPublished(client, () => authority, adopt, { clock: services.clock, log })
  const renew = async () => server.setSecureContext(await tlsNow())
  const renewal = runDaily(renew, { clock: services.clock, log, failed: RENEWAL_FAILED })
  return withStopHook(webhooks, () => {
    renewal.stop()
    announced.stop()
  })
}

const LIMITS = {
  ...TLS_CONNECTION_TIMEOUTS,
  requestTimeout: 10_000,
  keepAliveTimeout: KEEP_ALIVE_MS,
  minVersion: 'TLSv1.2',
} as const

/** @throws ConfigurationError */
async function configuredTls({ webhookCertificate, webhookKey, webhookClientAuthority }: Configuration) {
  if (webhookCertificate === undefined || webhookKey === undefined || webhookClientAuthority === undefined)
    throw new ConfigurationError(
      'webhookCertificate needs webhookKey and webhookClientAuthority: unverified callers could ask who may do what.',
    )
  const files = [webhookCertificate, webhookKey, webhookClientAuthority]
  const [cert, key, ca] = await Promise.all(files.map((path) => readFile(path, 'utf8')))
  return { ...LIMITS, cert, key, ca, requestCert: true, rejectUnauthorized: true }
}

async function ownTls(ownAuthority: OwnAuthority, clock: Clock) {
  // Loaded on demand, because the libraries are large.
  const { issueCertificate } = await import('./certificates.ts')
  const request = { commonName: WEBHOOK_SERVER_NAME, purpose: 'server', names: [WEBHOOK_SERVER_NAME] } as const
  const { certPem, keyPem } = await issueCertificate(ownAuthority, request, new Date(clock.now()))
  return { ...LIMITS, cert: certPem, key: keyPem }
}

const RENEWAL_FAILED = 'The certificate of the webhooks could not be renewed.'

const DRAIN_TIMEOUT_MS = 5_000

async function serve(server: Server, { webhookPort, webhookHost }: Configuration): Promise<Webhooks> {
  return {
    port: await listen(server, 'The webhooks of the facade', { port: webhookPort, host: webhookHost }),
    // Otherwise writes with a review in flight would fail.
    stop: () => closeServer(server, DRAIN_TIMEOUT_MS),
  }
}

function withStopHook(webhooks: Webhooks, onStop: () => void): Webhooks {
  return {
    port: webhooks.port,
    stop() {
      onStop()
      return webhooks.stop()
    },
  }
}

function listenerOf(reviews: Reviews, isCaller: (request: IncomingMessage) => boolean, log: Log) {
  const listener: RequestListener = (request, response) => {
    answer(request, response, reviews, isCaller).catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'A review of the API server could not be answered.')
      send(response, 500)
    })
  }
  return withoutPipelining(closeWhenIdle(listener))
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  reviews: Reviews,
  isCaller: (request: IncomingMessage) => boolean,
): Promise<void> {
  if (!isCaller(request)) return send(response, 403)
  const review = reviewAt(request.url?.split('?', 1)[0] ?? '', reviews)
  if (request.method !== 'POST' || review === undefined) return send(response, 404)
  const body = await readBody(request, review)
  await FAIR_SHARE.take(requesterOf(body))
  const reviewed = body === undefined ? undefined : ((await review.answer(body)) as object | undefined)
  if (reviewed === undefined) return send(response, 400)
  send(response, 200, reviewed)
}

/** Shares fairly between users: one who sends many requests only delays their own. */
const FAIR_SHARE = new FairShare()

/** Returns the requester of a review, unchecked: each review validates its own body. */
function requesterOf(body: unknown): string {
  const { spec, request } = (body ?? {}) as {
    spec?: { user?: unknown }
    request?: { userInfo?: { username?: unknown } }
  }
  const user = spec?.user ?? request?.userInfo?.username
  return typeof user === 'string' ? user : ''
}

/** In constant time, so that a caller cannot guess the secret path step by step. */
function reviewAt(path: string, reviews: Reviews): Review | undefined {
  for (const [reviewPath, review] of reviews) if (isSameText(reviewPath, path)) return review
  return undefined
}

/** Reads large bodies one at a time, to bound memory. */
const LARGE_BODY_LOCK = new KeyedMutex()

/** Returns undefined for a body that is too long or not JSON. */
async function readBody(request: IncomingMessage, { maxBytes, parse }: Review): Promise<unknown> {
  const read = async () => {
    // Keeps the connection open, to send the refusal on it.
    const bytes = request.iterator({ destroyOnReturn: false })
    const body = await readWithin(maxBytes, bytes, () => new Error('too long')).catch(() => undefined)
    return body === undefined ? undefined : parse(body)
  }
  const isBounded = maxBytes <= BODY_MAX_BYTES || Number(request.headers['content-length']) <= BODY_MAX_BYTES
  return isBounded ? read() : LARGE_BODY_LOCK.take('', read)
}

function send(response: ServerResponse, status: number, body?: object): void {
  if (response.headersSent) return
  const text = JSON.stringify(body ?? {})
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
