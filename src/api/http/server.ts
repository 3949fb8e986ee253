import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import express from 'express'
import helmet from 'helmet'
import { closeServer } from '../../core/closeServer.ts'
import { closeWhenIdle } from '../../core/closeWhenIdle.ts'
import { boundConnections, CONNECTION_TIMEOUTS, HEADERS_MAX } from '../../core/connectionLimits.ts'
import { listen } from '../../core/listen.ts'
import { REQUEST_LIMITS } from '../../core/requestLimits.ts'
import { inOriginForm } from '../../core/requestTarget.ts'
import { withoutPipelining } from '../../core/withoutPipelining.ts'
import type { CallerLimitsOptions } from './callerLimits.ts'
import { type HttpMetrics, noMetrics } from './metrics.ts'
import { Pipeline, type PipelineOptions } from './pipeline.ts'
import { traceOf } from './tracing.ts'

export type ServerLimits = CallerLimitsOptions & {
  /** Addresses or networks whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[]
  maxConnections?: number
  /** Milliseconds for which a client may read or send nothing. Absent: a minute. */
  idleTimeoutMs?: number
}

export type FacadeOptions = Omit<PipelineOptions, 'metrics' | 'limits'> & {
  metrics?: HttpMetrics
  limits?: Partial<ServerLimits>
  /** Handlers of pages for browsers, before the routes. */
  pages?: readonly express.RequestHandler[]
}

export type Facade = {
  app: express.Express
  server: Server
  /** @throws Error if it cannot listen there */
  listen(port: number, host: string): Promise<{ port: number }>
  /** Closes each connection after its next answer, so that clients connect elsewhere, and ends all streams. */
  drain(): void
  /** Accepts no new requests, waits up to this time for those in flight, then closes. */
  stop(milliseconds?: number): Promise<void>
}

/** The headers that helmet sets. They are the same for each answer, so its middleware runs only once. */
const SECURITY_HEADERS = headersOf(
  helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  }),
)

function headersOf(middleware: (request: IncomingMessage, response: ServerResponse, next: () => void) => void) {
  const headers = new Map<string, string>()
  const response = { setHeader: (name: string, value: string) => headers.set(name, value), removeHeader: () => {} }
  middleware({} as IncomingMessage, response as unknown as ServerResponse, () => {})
  return [...headers]
}

/** Creates the facade's HTTP server (interface section 4): Express carries it, our own route table dispatches. */
export function createFacade(options: FacadeOptions): Facade {
  const limits: ServerLimits = { ...REQUEST_LIMITS, trustedProxies: [], ...options.limits }
  const { metrics = noMetrics } = options
  const pipeline = new Pipeline({ ...options, metrics, limits })
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // Queries are parsed strictly, as each route declares.
  app.set('query parser', false)
  app.set('trust proxy', [...limits.trustedProxies])
  // Only JSON and files are served: there is nothing for a browser to run, embed or sniff.
  let isDraining = false
  app.use((_request, response, next) => {
    for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value)
    if (isDraining) response.setHeader('connection', 'close')
    next()
  })
  for (const pages of options.pages ?? []) {
    // Express would answer OPTIONS itself, which nothing else here does.
    app.use((request, response, next) => (request.method === 'OPTIONS' ? next() : pages(request, response, next)))
  }
  app.use((request, response) => pipeline.handle(request, response, request.ip))
  const server = createServer(app, limits, () => metrics.limited('address'))
  return {
    app,
    server,
    listen: async (port, host) => ({ port: await listen(server, 'The facade', { port, host }) }),
    drain() {
      isDraining = true
      pipeline.drain()
    },
    stop(milliseconds = 10_000) {
      pipeline.drain()
      return closeServer(server, milliseconds)
    },
  }
}

function createServer(
  app: express.Express,
  { maxConnections, idleTimeoutMs }: ServerLimits,
  onRefused: () => void,
): Server {
  const answer = inOriginForm(app as (request: IncomingMessage, response: ServerResponse) => void)
  const listener = withoutPipelining(closeWhenIdle(answer, { milliseconds: idleTimeoutMs }))
  const server = boundConnections(
    createHttpServer(
      {
        maxHeaderSize: 16 * 1024,
        ...CONNECTION_TIMEOUTS,
        // Uploads may be long; JSON bodies have a shorter time of their own.
        requestTimeout: 600_000,
        keepAliveTimeout: 65_000,
        // The pipeline requires it, and refuses in the usual form.
        requireHostHeader: false,
        insecureHTTPParser: false,
      },
      listener,
    ),
    maxConnections,
    { isProxy: (address) => app.get('trust proxy fn')(address, 0), onRefused },
  )
  // The body reader sends 100 Continue once the request may have a body; unknown expectations are ignored.
  server.on('checkContinue', listener)
  server.on('checkExpectation', listener)
  server.on('clientError', refuseBrokenRequest)
  server.on('connect', (_request, socket: Duplex) =>
    endWith(socket, 'CONNECT is not supported: this server is not a proxy.'),
  )
  return server
}

/** Malformed HTTP never reaches the routes, but the response still has the form of section 7. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const message = isTooLarge
    ? `The headers are larger than 16384 bytes, or more than ${HEADERS_MAX}.`
    : 'The request is not well-formed HTTP.'
  endWith(socket, message)
}

/** Milliseconds in which a refused client may read the reason. */
const LINGER_MS = 2_000

/** Answers in the form of section 7 what never became a request, and closes the connection. */
function endWith(socket: Duplex, message: string): void {
  const { correlationId, traceId } = traceOf(undefined, undefined)
  const body = JSON.stringify({ error: message, code: 'BAD_REQUEST', module: 'platform', correlationId, traceId })
  const head = [
    'HTTP/1.1 400 Bad Request',
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `X-Correlation-Id: ${correlationId}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  socket.end(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}
