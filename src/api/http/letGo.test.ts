import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from '../../../test/make/until.ts'
import { startFacade } from '../../../test/worlds/facadeServer.ts'

describe('a client that keeps its refused connection open', () => {
  for (const [title, sent] of [
    ['data that is not HTTP', 'nonsense\r\n\r\n'],
    ['a CONNECT request', 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n'],
  ] as const) {
    it(`occupies no connection of maxConnections after ${title}`, async () => {
      const server = await startFacade({ limits: { maxConnections: 4 } })
      const { port } = await server.facade.listen(0, '127.0.0.1')
      const sockets: Socket[] = []
      try {
        for (let count = 0; count < 2; count += 1) {
          const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true }).on('error', () => undefined)
          sockets.push(socket)
          socket.resume().write(sent)
          await once(socket, 'end')
        }
        await until('another client gets an answer', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
      } finally {
        for (const socket of sockets) socket.destroy()
        await server.stop()
      }
    })
  }
})
