import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { readWithin } from '../../core/readWithin.ts'
import type { ClusterAccess } from '../../kubeconfig/access.ts'
import { keepPinging, LIVENESS, type Liveness, type StreamAnswer } from '../sessions.ts'
import { Transport, type WireRequest } from '../transport.ts'
import { relayedHeaders } from './relay.ts'
import { FLOW_CONTROL_WINDOWS, TUNNEL_PROTOCOL } from './tunnels.ts'
import { serveUpgrade } from './upgrades.ts'

/** The credentials that an agent presents to the hub, and those by which it recognises the hub, as PEM. */
export type TunnelCredentials = { cert: string; key: string; ca: string; servername: string }
export type HubAddress = { host: string; port: number }

const CONNECT_TIMEOUT_MS = 10_000
/** Maximum bytes of a request body; objects of Kubernetes are smaller. */
const BODY_MAX_BYTES = 4 * 1024 * 1024

/** Connects to the hub. @throws Error if it cannot be reached, is a different one, or refuses the certificate */
export function dial(address: HubAddress, credentials: TunnelCredentials): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...address, ...credentials, ALPNProtocols: [TUNNEL_PROTOCOL], minVersion: 'TLSv1.3' })
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error('The hub did not answer in time.')))
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('The hub ended the connection.')))
    socket.once('secureConnect', () => {
      socket.setTimeout(0)
      socket.off('error', reject)
      if (socket.alpnProtocol === TUNNEL_PROTOCOL) return resolve(socket)
      socket.destroy()
      reject(new Error('The server at the address of the hub is not a hub.'))
    })
  })
}

/**
 * Serves the hub's requests with the API server and the rights of `access`, and no others. Resolves when the tunnel has
 * ended.
 *
 * @param answerSelf answers paths that the agent itself serves; returns undefined for all others
 */
export async function serveTunnel(
  socket: TLSSocket,
  access: ClusterAccess,
  answerSelf: (path: string) => Promise<object | undefined>,
  { signal, liveness = LIVENESS }: { signal: AbortSignal; liveness?: Liveness },
): Promise<void> {
  const transport = new Transport(access, 'freehold/agent', { liveness })
  const session: ServerHttp2Session = performServerHandshake(socket, {
    settings: {
      initialWindowSize: FLOW_CONTROL_WINDOWS.stream,
      maxConcurrentStreams: 1000,
      enableConnectProtocol: true,
    },
  })
  session.setLocalWindowSize(FLOW_CONTROL_WINDOWS.session)
  session.on('error', () => {})
  const stopPings = keepPinging(session, liveness, () => {})
  const end = () => session.destroy()
  signal.addEventListener('abort', end, { once: true })
  session.on('stream', (stream, headers) => {
    const isUpgrade = headers[':protocol'] !== undefined
    stream.on('error', () => {})
    const served = isUpgrade ? serveUpgrade(stream, headers, access) : serve(stream, headers, transport, answerSelf)
    served.catch(() => stream.destroy())
  })
  await new Promise<void>((resolve) => {
    session.once('close', resolve)
    if (signal.aborted || socket.destroyed) session.destroy()
  })
  signal.removeEventListener('abort', end)
  stopPings()
  await transport.close()
}

async function serve(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  transport: Transport,
  answerSelf: (path: string) => Promise<object | undefined>,
): Promise<void> {
  const closed = new AbortController()
  stream.once('close', () => closed.abort())
  const path = String(headers[':path'] ?? '/')
  const own = await answerSelf(path)
  if (own !== undefined) {
    stream.respond({ ':status': 200, 'content-type': 'application/json' })
    stream.end(JSON.stringify(own))
    return
  }
  const body = await bodyOf(stream)
  if (body === undefined) return void stream.respond({ ':status': 413 }, { endStream: true })
  const request: WireRequest = {
    method: String(headers[':method'] ?? 'GET') as WireRequest['method'],
    path,
    headers: relayedHeaders(headers) as Record<string, string>,
    body: body.length === 0 ? undefined : body,
    signal: closed.signal,
    isPatient: true,
  }
  let answer: StreamAnswer
  try {
    answer = isWatch(request) ? await transport.stream(request) : await called(transport, request)
  } catch {
    if (!stream.destroyed) stream.respond({ ':status': 502 }, { endStream: true })
    return
  }
  // The agent's own credentials may have been rotated.
  if (answer.status === 401) transport.refreshCredentials()
  if (stream.destroyed) return void answer.body.destroy()
  stream.respond({ ...relayedHeaders(answer.headers), ':status': answer.status })
  await pipeline(answer.body, stream)
}

/** Watches may be silent for long, so they use HTTP/2, where pings tell a dead connection from a quiet one. */
function isWatch({ method, path }: WireRequest): boolean {
  const watch = new URLSearchParams(path.split('?')[1]).get('watch')
  return method === 'GET' && (watch === '1' || watch === 'true')
}

async function called(transport: Transport, request: WireRequest): Promise<StreamAnswer> {
  const { statusCode: status, headers, body } = await transport.send(request, () => {})
  return { status, headers, body }
}

class BodyTooLong extends Error {}

async function bodyOf(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  try {
    // Not destroyed, because the refusal is sent on this stream.
    return await readWithin(BODY_MAX_BYTES, stream.iterator({ destroyOnReturn: false }), () => new BodyTooLong())
  } catch (error) {
    if (error instanceof BodyTooLong) return undefined
    throw error
  }
}
