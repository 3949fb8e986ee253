import type { ClientOptions, WebSocket } from 'ws'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import { agentOf } from './proxy.ts'

const HANDSHAKE_TIMEOUT = 15_000
/** Bytes of one message, which is held whole: kubelets send some 32 KiB, and a cluster may be in the hands of somebody else. */
const MESSAGE_MAX = 4 * 1024 * 1024

/** Bytes of messages on one connection that give its reader nothing: complaints, and empty ones. */
const UNREAD_MAX = 1024 * 1024
/** What a message takes beside its bytes. */
const MESSAGE_COST = 64

/** Counts messages that hold no data: who sends them without end would keep this process busy for as long as it waits for data. */
export function countUnread(end: (error: Error) => void): (message: Buffer) => void {
  let unread = 0
  return (message) => {
    unread += message.length + MESSAGE_COST
    if (unread > UNREAD_MAX) end(new Error('The container sends without end what nobody reads.'))
  }
}

/** A two-way connection to a pod: `subresource` of the pod with `query`, in channels of the protocol. */
export type PodSocketRequest = {
  namespace: string
  pod: string
  subresource: 'exec' | 'portforward'
  query: string
  protocol: string
}

/** A WebSocket to a pod through the API server. It is connecting: bytes may come together with the answer. */
export async function podSocket(
  access: ClusterAccess,
  userAgent: string,
  { namespace, pod, subresource, query, protocol }: PodSocketRequest,
): Promise<WebSocket> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/${subresource}`
  const authorization = await access.authorization()
  const options: ClientOptions = {
    ...(await access.tls()),
    ...agentOf(access),
    headers: { 'user-agent': userAgent, ...(authorization !== undefined && { authorization }) },
    handshakeTimeout: HANDSHAKE_TIMEOUT,
    perMessageDeflate: false,
    maxPayload: MESSAGE_MAX,
  }
  // Imported when first needed: few processes connect to pods.
  const { WebSocket: Connection } = await import('ws')
  return new Connection(`${access.server.replace(/^http/, 'ws')}${path}${query}`, [protocol], options)
}

/** @param refused makes an error of the status that the API server answered with */
export function opened(socket: WebSocket, access: ClusterAccess, refused: (status: number) => Error): Promise<void> {
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
