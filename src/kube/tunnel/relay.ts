import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { constants } from 'node:http2'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { framingOf } from '../../core/framing.ts'
import { answerOf } from '../sessions.ts'
import { type PacedSession, requestPaced } from './pacedRequest.ts'

/** Hop-by-hop headers (RFC 9110, 7.6.1), and credentials, which each end adds itself. */
const NOT_RELAYED = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Drops impersonation headers as well: nobody acts for others through a tunnel. */
const isRelayed = (name: string) =>
  !name.startsWith(':') && !NOT_RELAYED.has(name) && !name.startsWith('impersonate-') && !name.startsWith('x-remote-')

export function relayedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isRelayed(name)))
}

/**
 * Relays a request through a tunnel and its answer back, streaming both ways; if one side goes, both end. A request
 * without an answer is cut off: nobody knows whether it took effect, and an error of ours would hide that.
 */
export async function relay(
  tunnel: PacedSession,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH } = constants
  const headers = {
    ...relayedHeaders(request.headers),
    [HTTP2_HEADER_METHOD]: request.method ?? 'GET',
    [HTTP2_HEADER_PATH]: path,
  }
  // Node would end the stream of a DELETE at once, but its body contains the preconditions.
  const { stream, body } = requestPaced(tunnel, headers, { endStream: false })
  response.once('close', () => stream.close(constants.NGHTTP2_CANCEL))
  const answered = answerOf(stream).then((answer) => {
    begin(response, answer.status, answer.headers)
    return pipeline(body, response)
  })
  await Promise.all([pipeline(request, stream), answered]).catch(() => response.destroy())
}

/** Fails only if a hostile agent answers with something that HTTP/1.1 cannot express. */
function begin(response: ServerResponse, status: number, headers: IncomingHttpHeaders): void {
  try {
    response.writeHead(status, relayedHeaders(headers))
    response.flushHeaders()
  } catch {
    response.destroy()
  }
}

/** Relays a request to the process where the tunnel ends. */
export async function relayToPeer(
  peer: RequestOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = { ...relayedHeaders(request.headers), ...framingOf(request.headers) }
  const onward = requestHttps({ ...peer, method: request.method, path: request.url, headers }, resolve)
  // A watch may be silent for long; TCP keepalive finds a replica that vanished, as no proxy is in between.
  onward.setSocketKeepAlive(true, 5_000)
  onward.once('error', reject)
  response.once('close', () => onward.destroy())
  const answered = promise.then((answer) => {
    begin(response, answer.statusCode ?? 502, answer.headers)
    return pipeline(answer, response)
  })
  await Promise.all([pipeline(request, onward), answered]).catch(() => response.destroy())
}

/** Refuses as the API server does, so that clients understand: on 503 they retry, as the tunnel may come back. */
export function sendStatusError(response: ServerResponse, message: string, code = 503): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const reason = code === 503 ? 'ServiceUnavailable' : 'Forbidden'
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify(status))
}
