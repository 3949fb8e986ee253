import { createServer, type RequestListener, type Server } from 'node:http'
import supertest from 'supertest'

const servers = new WeakMap<RequestListener, Server>()

/**
 * Requests to an address, or to an app with one shared server. supertest would listen for each, and wait until every
 * connection has ended: forever if a program of another test that looks for its own server has found this port.
 */
export function request(app: RequestListener | string): ReturnType<typeof supertest> {
  if (typeof app === 'string') return supertest(app)
  const server = servers.get(app) ?? serverOf(app)
  servers.set(app, server)
  return supertest(server)
}

function serverOf(app: RequestListener): Server {
  const server = createServer(app)
  // A kept-alive connection may close while the next request is on its way.
  server.maxRequestsPerSocket = 1
  return server.listen(0).unref()
}
