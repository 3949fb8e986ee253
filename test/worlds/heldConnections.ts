import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from '../make/until.ts'

/**
 * Takes all connections of a server that one address may have, half of them, and says nothing: the next is closed at once, and a
 * place that is given up is taken again.
 *
 * @param ask whether the server answers a request over a connection of its own, which it then ends
 */
export async function expectBounded(port: number, most: number, ask: () => Promise<unknown>): Promise<void> {
  const sockets: Socket[] = []
  const opened = async () => {
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => undefined)
    sockets.push(socket)
    socket.resume()
    await once(socket, 'connect')
    return socket
  }
  try {
    for (let count = 0; count < most; count += 1) await opened()
    const more = await opened()
    await until('one too many is closed', () => more.destroyed)
    sockets[0]?.destroy()
    const isAnswered = () =>
      ask().then(
        () => true,
        () => false,
      )
    await until('there is a place again', isAnswered)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}
