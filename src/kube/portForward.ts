import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import { queryString } from './path.ts'
import { limitUnreadMessages, openPodSocket, waitUntilOpen } from './podSocket.ts'

export type PortForwardRequest = { namespace: string; pod: string; port: number }

/** Opens a connection to a port of a pod. @throws Error if the API server or the node refuses */
export type PortForward = (request: PortForwardRequest) => Promise<Duplex>

/** The kubelet's protocol: each message begins with its channel, data or errors of the one port. */
const PROTOCOL = 'v4.channel.k8s.io'
const CHANNEL = { data: 0, error: 1 }
/** The first message of each channel begins with the number of the port. */
const PORT_BYTES = 2

/** Connects to pods through the API server, over one WebSocket for each connection. */
export function createPortForward(access: ClusterAccess, userAgent: string): PortForward {
  return async ({ namespace, pod, port }) => {
    const request = {
      namespace,
      pod,
      subresource: 'portforward',
      query: queryString({ ports: port }),
      protocol: PROTOCOL,
    } as const
    const socket = await openPodSocket(access, userAgent, request)
    // Before the handshake completes, because the first bytes may come with its answer.
    const stream = streamOf(socket)
    await waitUntilOpen(
      socket,
      access,
      (status) => new Error(`The API server answered ${status} to the request to reach port ${port}.`),
    )
    return stream
  }
}

function streamOf(socket: WebSocket): Duplex {
  const begun = new Set<number>()
  const unread = limitUnreadMessages((error) => stream.destroy(error))
  const stream = new Duplex({
    read: () => socket.resume(),
    write: (bytes: Buffer, _encoding, done) =>
      socket.send(Buffer.concat([Buffer.from([CHANNEL.data]), bytes]), (error) => done(error ?? null)),
    final(done) {
      // The protocol has no half-close, so both sides end.
      socket.close()
      done()
    },
    destroy(error, done) {
      socket.terminate()
      done(error)
    },
  })
  // Without a listener, an error before the stream has a user would end the process.
  stream.on('error', () => {})
  socket.on('message', (message: Buffer) => {
    const channel = message[0] ?? CHANNEL.error
    const bytes = message.subarray(begun.has(channel) ? 1 : 1 + PORT_BYTES)
    begun.add(channel)
    if (bytes.length === 0) return unread(message)
    if (channel === CHANNEL.error) stream.destroy(new Error('The node cannot reach the port of the pod.'))
    else if (!stream.push(bytes)) socket.pause()
  })
  socket.once('close', () => stream.push(null))
  socket.on('error', (error) => stream.destroy(error))
  return stream
}
