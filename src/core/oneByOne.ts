import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of a connection that may wait for the answers before them. */
const WAITING_MAX = 32

/**
 * Answers the requests of a connection one after the other. Node hands each over as soon as it is read, however many before
 * it have no answer: a few connections that never wait would have hundreds of thousands under way, all in memory, and
 * those behind the first would not be told that the client has gone. Whoever sends further ahead loses the connection.
 */
export function oneByOne(listener: RequestListener): RequestListener {
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
    // What is left of the piece that was being read when the connection was closed.
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
