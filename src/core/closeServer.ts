import type { Server } from 'node:http'

/** Milliseconds. */
const LOOK = 50

/**
 * Takes no new connections, lets requests in flight end within `milliseconds`, then closes what is left. Node itself leaves a
 * connection open that is kept alive after its last answer.
 */
export function closeServer(server: Server, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const look = setInterval(() => server.closeIdleConnections(), LOOK)
    const end = setTimeout(() => server.closeAllConnections(), milliseconds)
    server.close(() => {
      clearInterval(look)
      clearTimeout(end)
      resolve()
    })
  })
}
