import type { Server } from 'node:net'

/** @throws Error which says what cannot listen where */
export function listen(server: Server, what: string, { port, host }: { port: number; host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(new Error(`${what} cannot listen on ${host}:${port}.`, { cause })))
    server.listen(port, host, resolve)
  })
}
