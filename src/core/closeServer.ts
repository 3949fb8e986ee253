import type { Server } from 'node:http'

/** Milliseconds between two searches for idle connections. */
const IDLE_POLL_INTERVAL_MS = 50

/**
 * Stops accepting connections, lets requests in flight finish within `milliseconds`, then closes what is left. Node's
 * own `close` waits for connections that are kept alive after their last response.
 */
export function closeServer(server: Server, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const poll = setInterval(() => server.closeIdleConnections(), IDLE_POLL_INTERVAL_MS)
    const end = setTimeout(() => server.closeAllConnections(), milliseconds)
    server.close(() => {
      clearInterval(poll)
      clearTimeout(end)
      resolve()
    })
  })
}
