import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { createReviewer, followPlaces } from '../api/authorizer/index.ts'
import type { Access } from '../api/context.ts'
import type { Standing } from '../api/standing.ts'
import { type Configuration, ConfigurationError } from '../config.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { CacheSet } from '../kube/caches.ts'

/** The common name of the API server's client certificate: nobody else may ask who may do what. */
export const CALLER_NAME = 'freehold:authorization-webhook-caller'
const AUTHORIZE = '/authorize'
/** A review is a few hundred bytes; groups and extra fields of a token may make it some thousands. */
const BODY_MAX = 256 * 1024
/** Longer than the API server keeps an idle connection (90 s): closing first would lose the request under way. */
const KEEP_ALIVE = 120_000

export type WebhookOptions = {
  access: Access
  caches: CacheSet
  isReady: () => boolean
  standing?: Standing | undefined
  log: Log
}
export type Webhooks = { readonly port: number; stop(): Promise<void> }

/**
 * Where the API server asks the facade: https on a port of its own, for callers with the API server's certificate
 * only. Undefined where no certificate is configured.
 *
 * @throws ConfigurationError where the certificate has no key, or callers could not be verified
 */
export async function runWebhooks(
  configuration: Configuration,
  { access, caches, isReady, standing, log }: WebhookOptions,
): Promise<Webhooks | undefined> {
  const { webhookCertificate, webhookKey, webhookClientAuthority, webhookHost, webhookPort } = configuration
  if (webhookCertificate === undefined) return undefined
  if (webhookKey === undefined || webhookClientAuthority === undefined)
    throw new ConfigurationError(
      'webhookCertificate needs webhookKey and webhookClientAuthority: unverified callers could ask who may do what.',
    )
  const files = [webhookCertificate, webhookKey, webhookClientAuthority]
  const [cert, key, ca] = await Promise.all(files.map((path) => readFile(path, 'utf8')))
  const places = followPlaces(caches)
  const review = createReviewer({ access, placeOf: places.placeOf, isReady, standing })
  const tls = { cert, key, ca, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const
  const server = createServer({ ...tls, requestTimeout: 10_000, keepAliveTimeout: KEEP_ALIVE }, (request, response) => {
    answer(request, response, review).catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'A review of the API server could not be answered.')
      send(response, 500)
    })
  })
  await listening(server, webhookPort, webhookHost)
  return {
    port: (server.address() as { port: number }).port,
    async stop() {
      places.stop()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  review: ReturnType<typeof createReviewer>,
): Promise<void> {
  if ((request.socket as TLSSocket).getPeerCertificate().subject?.CN !== CALLER_NAME) return send(response, 403)
  if (request.method !== 'POST' || request.url?.split('?', 1)[0] !== AUTHORIZE) return send(response, 404)
  const body = await readBody(request)
  const reviewed = body === undefined ? undefined : await review(body)
  if (reviewed === undefined) return send(response, 400)
  send(response, 200, reviewed)
}

/** Undefined for what is no JSON or too long. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_MAX) return undefined
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}

function send(response: ServerResponse, status: number, body?: object): void {
  if (response.headersSent) return
  const text = JSON.stringify(body ?? {})
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new Error(`The webhooks of the facade cannot listen on ${host}:${port}.`, { cause })),
    )
    server.listen(port, host, resolve)
  })
}
