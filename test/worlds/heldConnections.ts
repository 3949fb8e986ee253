import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from '../make/until.ts'

/**
 * Takes all connections that a server allows one address, half of them, and sends nothing: the next one is closed at
 * once, and a freed place can be taken again.
 *
 * @param ask whether the server answers a request over a separate connection, which it then closes
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
    await until('a new connection is answered', isAnswered)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}
