import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from './addressKey.ts'
import { SharedSlots } from './sharedSlots.ts'

/**
 * Timeouts in milliseconds of a server that strangers can reach, for clients that only hold a connection open. Node's
 * defaults are a minute for headers and two for the TLS handshake.
 */
export const CONNECTION_TIMEOUTS = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 }
export const TLS_CONNECTION_TIMEOUTS = { ...CONNECTION_TIMEOUTS, handshakeTimeout: 10_000 }

/** A connection costs some 50 KiB and a file descriptor; the kernel limits the descriptors of a process. */
const MOST_CONNECTIONS = 10_000
export const HEADERS_MAX = 100

export type ConnectionLimitOptions = {
  /** Whether the address is that of a proxy, which connects on behalf of many clients. */
  readonly isProxy?: ((address: string) => boolean) | undefined
  readonly onRefused?: () => void
}

/**
 * Bounds the connections of a server so that no address takes them all: an address may hold at most as many as are left
 * for all others. Holding one open needs no token, only an occasional request.
 */
export function boundConnections<Bounded extends Server>(
  server: Bounded,
  maxConnections: number = MOST_CONNECTIONS,
  { isProxy = () => false, onRefused = () => undefined }: ConnectionLimitOptions = {},
): Bounded {
  const places = new SharedSlots(maxConnections)
  server.maxConnections = maxConnections
  server.maxHeadersCount = HEADERS_MAX
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    const key = addressKey(remoteAddress)
    if (places.isFullFor(key) && !isProxy(remoteAddress)) {
      socket.destroy()
      onRefused()
      return
    }
    places.take(key)
    socket.once('close', () => places.free(key))
  })
  return server
}
