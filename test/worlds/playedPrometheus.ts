import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The result of `ask` from a server with this answer, in place of Prometheus. */
export async function askedOf<T>(listener: RequestListener, ask: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** Answers everything with this. */
export function says(content: unknown, status = 200): RequestListener {
  return (_, response) =>
    response.writeHead(status).end(typeof content === 'string' ? content : JSON.stringify(content))
}

/** An answer with these series. */
export function whole(...result: object[]): object {
  return { status: 'success', data: { resultType: 'matrix', result } }
}
