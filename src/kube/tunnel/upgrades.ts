import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { type Duplex, pipeline } from 'node:stream'
import type { ClusterAccess } from '../../kubeconfig/access.ts'
import { proxyAgentOf } from '../proxyAgent.ts'
import { type PacedSession, requestPaced } from './pacedRequest.ts'
import { relayedHeaders } from './relay.ts'

/**
 * WebSockets through a tunnel, for port-forward and exec. In HTTP/2 an upgrade is a CONNECT with a protocol (RFC 8441);
 * the bytes are not inspected.
 */

/** An upgrade request, its connection, and the bytes that already followed it. */
export type Upgrade = { request: IncomingMessage; socket: Duplex; head: Buffer }

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, NGHTTP2_CANCEL } = constants
const HTTP2_HEADER_PROTOCOL = ':protocol'

/** Relays an upgrade through a tunnel. */
export function relayUpgrade(tunnel: PacedSession, path: string, { request, socket, head }: Upgrade): void {
  // Agents of earlier versions cannot upgrade.
  if (tunnel.session.remoteSettings?.enableConnectProtocol !== true) {
    refuseUpgrade(socket, 501)
    return
  }
  const { stream, body } = requestPaced(tunnel, {
    ...relayedHeaders(request.headers),
    [HTTP2_HEADER_METHOD]: 'CONNECT',
    [HTTP2_HEADER_PROTOCOL]: request.headers.upgrade ?? 'websocket',
    [HTTP2_HEADER_PATH]: path,
  })
  socket.once('close', () => stream.close(NGHTTP2_CANCEL))
  stream.once('error', () => socket.destroy())
  let isAnswered = false
  // The stream may close without an error if the tunnel or the agent ends it.
  stream.once('close', () => {
    if (!isAnswered) socket.destroy()
  })
  stream.once('response', ({ ':status': status = 502, ...headers }) => {
    isAnswered = true
    if (status === 200) acceptUpgrade({ socket, head }, stream, 'websocket', { headers, body })
    else refuseUpgrade(socket, status)
  })
}

/** Relays an upgrade to the process where the tunnel ends. */
export function relayUpgradeToPeer(peer: RequestOptions, { request, socket, head }: Upgrade): void {
  const headers = { ...relayedHeaders(request.headers), connection: 'Upgrade', upgrade: request.headers.upgrade }
  const onward = requestHttps({ ...peer, method: 'GET', path: request.url, headers })
  socket.once('close', () => onward.destroy())
  onward.once('error', () => socket.destroy())
  onward.once('response', (answer) => {
    answer.resume()
    refuseUpgrade(socket, answer.statusCode ?? 502)
  })
  onward.once('upgrade', (answer, upstream, rest) => {
    if (rest.length > 0) upstream.unshift(rest)
    acceptUpgrade({ socket, head }, upstream, 'websocket', { headers: answer.headers })
  })
  onward.end()
}

/** Connections of a server, to be ended with it: the server does not track upgraded ones, but would wait for them. */
export class OpenConnections {
  readonly #open = new Set<Duplex>()

  add(socket: Duplex): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
  }

  end(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

export function refuseUpgrade(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}

/** Accepts the upgrade and carries bytes both ways. @param body what comes from upstream, if it is read otherwise */
export function acceptUpgrade(
  { socket, head }: Pick<Upgrade, 'socket' | 'head'>,
  upstream: Duplex,
  protocol: string,
  { headers = {}, body = upstream }: { headers?: IncomingHttpHeaders; body?: AsyncIterable<Buffer> } = {},
): void {
  const lines = Object.entries(headers)
    .filter(([name]) => name.startsWith('sec-websocket-'))
    .map(([name, value]) => `${name}: ${String(value)}\r\n`)
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${protocol}\r\n${lines.join('')}\r\n`,
  )
  if (head.length > 0) socket.unshift(head)
  // TLS listens already, and both ends of the pipelines add listeners: more than Node expects, but no leak.
  socket.setMaxListeners(20)
  pipeline(socket, upstream, () => {})
  pipeline(body, socket, () => {})
}

/** Runs in the agent: requests the upgrade from its API server, with the agent's rights. */
export async function serveUpgrade(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  access: ClusterAccess,
): Promise<void> {
  const { protocol, hostname, port, pathname } = new URL(access.server)
  const authorization = await access.authorization()
  const upgradeHeaders = {
    ...relayedHeaders(headers),
    connection: 'Upgrade',
    upgrade: String(headers[HTTP2_HEADER_PROTOCOL]),
    ...(authorization !== undefined && { authorization }),
  }
  const onward = (protocol === 'https:' ? requestHttps : requestHttp)({
    ...(await access.tls()),
    ...proxyAgentOf(access),
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port !== '' && { port }),
    path: `${pathname.replace(/\/$/, '')}${String(headers[HTTP2_HEADER_PATH])}`,
    headers: upgradeHeaders,
  })
  stream.once('close', () => onward.destroy())
  const refuse = (status: number) => {
    if (!stream.destroyed && !stream.headersSent) stream.respond({ ':status': status }, { endStream: true })
  }
  onward.once('error', () => refuse(502))
  onward.once('response', (answer) => {
    answer.resume()
    if (answer.statusCode === 401) access.refresh()
    refuse(answer.statusCode ?? 502)
  })
  onward.once('upgrade', (answer, socket, rest) => {
    if (stream.destroyed) return void socket.destroy()
    stream.respond({ ...relayedHeaders(answer.headers), ':status': 200 })
    if (rest.length > 0) socket.unshift(rest)
    pipeline(stream, socket, stream, () => {})
  })
  onward.end()
}
