import type { Server } from 'node:http'

/**
 * How long a server that strangers reach waits for who only holds a connection. Without it Node waits a minute for headers, and two
 * for hands to be shaken.
 */
export const PATIENCE = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 }
/** The same for servers with TLS. */
export const TLS_PATIENCE = { ...PATIENCE, handshakeTimeout: 10_000 }

/** Each costs memory and a descriptor; the kernel refuses what is beyond those that a process may have. */
export const MOST_CONNECTIONS = 10_000
export const HEADERS_MAX = 100

export function bounded<Bounded extends Server>(server: Bounded, maxConnections: number = MOST_CONNECTIONS): Bounded {
  server.maxConnections = maxConnections
  server.maxHeadersCount = HEADERS_MAX
  return server
}
