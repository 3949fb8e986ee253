import type { AddressInfo, Server } from 'node:net'

/**
 * Returns the port, which the system chooses if it is 0.
 *
 * @throws Error which says what cannot listen where
 */
export function listen(server: Server, what: string, { port, host }: { port: number; host: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error) => reject(new Error(`${what} cannot listen on ${host}:${port}.`, { cause }))
    server.once('error', refuse).listen(port, host, () => {
      server.off('error', refuse)
      resolve((server.address() as AddressInfo).port)
    })
  })
}
