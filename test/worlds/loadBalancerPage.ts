import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a load balancer answers while no server is behind it. */
export const LOAD_BALANCER_PAGE =
  '<html><head><title>404 Not Found</title></head><body>default backend - 404</body></html>'

/** A load balancer without a server: it answers every request itself, with 404. */
export async function startEmptyLoadBalancer(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end(LOAD_BALANCER_PAGE)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
