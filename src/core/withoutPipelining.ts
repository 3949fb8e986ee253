import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** The most pipelined requests of a connection that wait for earlier responses. */
const WAITING_MAX = 32

/**
 * Answers the requests of a connection one at a time. Node passes on each pipelined request as soon as it is read: a
 * few connections could have hundreds of thousands in flight, all in memory, and all but the first of a connection
 * would not learn that the client has gone. A client that pipelines more loses its connection.
 */
export function withoutPipelining(listener: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Parameters<RequestListener>[]>()
  const begin = (line: Parameters<RequestListener>[], [request, response]: Parameters<RequestListener>) => {
    response.once('close', () => {
      const next = line.shift()
      if (next === undefined) lines.delete(request.socket)
      else if (request.socket.destroyed) line.length = 0
      else begin(line, next)
    })
    listener(request, response)
  }
  return (request, response) => {
    const { socket } = request
    // Node still parses the rest of a chunk after its connection was closed.
    if (socket.destroyed) return
    const line = lines.get(socket)
    if (line === undefined) {
      const own: Parameters<RequestListener>[] = []
      lines.set(socket, own)
      begin(own, [request, response])
    } else if (line.length < WAITING_MAX) line.push([request, response])
    else socket.destroy()
  }
}
