import { createServer, type Server } from 'node:http'
import { keyOfCalls } from '../contracts/functionCalls.ts'
import { oneByOne } from '../core/oneByOne.ts'
import type { Figures } from './figures.ts'

/** Tells facades of other processes what was counted. It asks nobody who they are: only facades may reach its port. */
export function createFiguresServer(figures: Pick<Figures, 'of'>): Server {
  const server = createServer(
    oneByOne((request, response) => {
      const key = request.method === 'GET' ? keyOfCalls(request.url ?? '') : undefined
      const body = JSON.stringify(key === undefined ? { error: 'Nothing answers here.' } : figures.of(key))
      response.writeHead(key === undefined ? 404 : 200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      })
      response.end(body)
    }),
  )
  server.headersTimeout = 5_000
  server.requestTimeout = 10_000
  return server
}
