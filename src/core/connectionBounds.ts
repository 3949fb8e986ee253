import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from './addressKey.ts'
import { SharedPlaces } from './sharedPlaces.ts'

/**
 * How long a server that strangers reach waits for who only holds a connection. Without it Node waits a minute for headers, and two
 * for hands to be shaken.
 */
export const PATIENCE = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 }
/** The same for servers with TLS. */
export const TLS_PATIENCE = { ...PATIENCE, handshakeTimeout: 10_000 }

/** Each costs some 50 KiB and a descriptor; the kernel refuses what is beyond those that a process may have. */
const MOST_CONNECTIONS = 10_000
export const HEADERS_MAX = 100

export type Sharing = {
  /** Whether the address is that of a proxy, which connects for many. */
  readonly isProxy?: ((address: string) => boolean) | undefined
  readonly onRefused?: () => void
}

/**
 * Bounds the connections of a server, of which no address takes all: it has at most as many as are left for all others. Whoever
 * keeps one open needs no token for it, and a request now and then keeps it open for ever.
 */
export function bounded<Bounded extends Server>(
  server: Bounded,
  maxConnections: number = MOST_CONNECTIONS,
  { isProxy = () => false, onRefused = () => undefined }: Sharing = {},
): Bounded {
  const places = new SharedPlaces(maxConnections)
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
