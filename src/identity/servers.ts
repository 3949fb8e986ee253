import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Clock } from '../core/clock.ts'
import { closeServer } from '../core/closeServer.ts'
import { closeWhenIdle } from '../core/closeWhenIdle.ts'
import {
  boundConnections,
  CONNECTION_TIMEOUTS,
  type ConnectionLimitOptions,
  TLS_CONNECTION_TIMEOUTS,
} from '../core/connectionLimits.ts'
import { followCertificate } from '../core/followCertificate.ts'
import { ambiguityOf } from '../core/framing.ts'
import { listen } from '../core/listen.ts'
import type { Log } from '../core/log.ts'
import { inOriginForm } from '../core/requestTarget.ts'
import { withoutPipelining } from '../core/withoutPipelining.ts'

const NAME = 'The identity provider'
const LOOPBACK = '127.0.0.1'
/** All requests are small forms, so a slow one only occupies a connection. */
const REQUEST_LIMITS = { requestTimeout: 10_000 }

export type IdentityServersOptions = {
  handler: RequestListener
  /** For the API server, which requires TLS of issuers. Port 0 picks a free one. */
  tls: { port: number; host?: string; readCertificate: () => Promise<TlsCertificate> }
  /** For local tools that do not trust our CA. Secrets are sent in clear text, so it defaults to loopback. */
  http?: { port: number; host?: string }
  /** For each of the two servers. */
  maxConnections?: number
  isProxy?: ConnectionLimitOptions['isProxy']
  clock: Pick<Clock, 'setTimeout'>
  log: Pick<Log, 'warn'>
}

/** PEM texts. */
type TlsCertificate = { cert: string; key: string }

export interface IdentityServers {
  readonly tlsPort: number
  readonly httpPort: number | undefined
  /** Closes all connections. */
  stop(): Promise<void>
}

/**
 * Starts both servers. A certificate that others renew in its file is used within a minute.
 *
 * @throws Error if a port is taken or the certificate does not match its key; then nothing is left listening
 */
export async function startIdentityServers(options: IdentityServersOptions): Promise<IdentityServers> {
  const { maxConnections, isProxy, clock, log } = options
  const { readCertificate, ...address } = options.tls
  const handler = withoutPipelining(closeWhenIdle(inOriginForm(refuseAmbiguous(options.handler))))
  const certificate = await readCertificate()
  const tls = boundConnections(
    createTlsServer({ ...REQUEST_LIMITS, ...TLS_CONNECTION_TIMEOUTS, ...certificate, minVersion: 'TLSv1.2' }, handler),
    maxConnections,
    { isProxy },
  )
  const tlsPort = await listen(tls, NAME, { host: LOOPBACK, ...address })
  const plain =
    options.http &&
    boundConnections(createHttpServer({ ...REQUEST_LIMITS, ...CONNECTION_TIMEOUTS }, handler), maxConnections, {
      isProxy,
    })
  let httpPort: number | undefined
  try {
    if (plain !== undefined && options.http !== undefined)
      httpPort = await listen(plain, NAME, { host: LOOPBACK, ...options.http })
  } catch (error) {
    await closeServer(tls, 0)
    throw error
  }
  const failed = 'The certificate of the identity provider could not be renewed.'
  const use = (found: TlsCertificate) => tls.setSecureContext(found)
  const renewal = followCertificate(readCertificate, certificate, use, { clock, log, failed })
  return {
    tlsPort,
    httpPort,
    async stop() {
      renewal.stop()
      await Promise.all([tls, plain].map((server) => server && closeServer(server, 0)))
    },
  }
}

/** Refuses ambiguous requests, because the URLs of the provider are built from Host. */
function refuseAmbiguous(handler: RequestListener): RequestListener {
  return (request, response) => {
    const ambiguity = ambiguityOf(request)
    if (ambiguity === undefined) return handler(request, response)
    const body = JSON.stringify({ error: 'invalid_request', error_description: ambiguity })
    response.writeHead(400, { 'content-type': 'application/json', connection: 'close' }).end(body)
  }
}
