import type { ClientOptions, WebSocket } from 'ws'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import { proxyAgentOf } from './proxyAgent.ts'

const HANDSHAKE_TIMEOUT_MS = 15_000
/** Maximum bytes of one message, which is buffered whole. Kubelets send about 32 KiB; a cluster may be untrusted. */
const MESSAGE_MAX_BYTES = 4 * 1024 * 1024

/** Maximum bytes per connection of messages without data for the reader, such as stderr and empty ones. */
const UNREAD_MAX_BYTES = 1024 * 1024
/** Bytes charged per message in addition to its content. */
const MESSAGE_OVERHEAD_BYTES = 64

/** Counts messages without data: a container that sends them without end would keep this process busy. */
export function limitUnreadMessages(end: (error: Error) => void): (message: Buffer) => void {
  let unread = 0
  return (message) => {
    unread += message.length + MESSAGE_OVERHEAD_BYTES
    if (unread > UNREAD_MAX_BYTES) end(new Error('The container sends without end what nobody reads.'))
  }
}

/** A two-way connection to a subresource of a pod, with channels as `protocol` defines them. */
export type PodSocketRequest = {
  namespace: string
  pod: string
  subresource: 'exec' | 'portforward'
  query: string
  protocol: string
}

/** Opens a WebSocket to a pod through the API server. It is still connecting: bytes may come with the handshake. */
export async function openPodSocket(
  access: ClusterAccess,
  userAgent: string,
  { namespace, pod, subresource, query, protocol }: PodSocketRequest,
): Promise<WebSocket> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/${subresource}`
  const authorization = await access.authorization()
  const options: ClientOptions = {
    ...(await access.tls()),
    ...proxyAgentOf(access),
    headers: { 'user-agent': userAgent, ...(authorization !== undefined && { authorization }) },
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    perMessageDeflate: false,
    maxPayload: MESSAGE_MAX_BYTES,
  }
  // Imported on first use, because few processes connect to pods.
  const { WebSocket: Connection } = await import('ws')
  return new Connection(`${access.server.replace(/^http/, 'ws')}${path}${query}`, [protocol], options)
}

/** Resolves once the socket is open. @param refused makes an error of the status that the API server answered with */
export function waitUntilOpen(
  socket: WebSocket,
  access: ClusterAccess,
  refused: (status: number) => Error,
): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('The connection to the API server ended.')))
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      if (response.statusCode === 401) access.refresh()
      reject(refused(response.statusCode ?? 0))
      socket.terminate()
    })
  })
}
