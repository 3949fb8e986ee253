import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { startFacade } from '../../../test/worlds/facadeServer.ts'

/** More than the socket buffers of a connection hold. */
const LONG = Buffer.alloc(64 * 1024 * 1024)

describe('connections to the facade', () => {
  const open: Socket[] = []
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy()
  })

  const dial = (port: number, from: string) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from }).on('error', () => undefined)
    open.push(socket)
    return socket
  }
  /** The answer to another address while one address holds `maxConnections` idle connections. */
  async function besideIdle(trustedProxies: string[]): Promise<string> {
    const server = await startFacade({ limits: { maxConnections: 4, trustedProxies } })
    try {
      const { port } = await server.facade.listen(0, '127.0.0.1')
      for (let count = 0; count < 4; count += 1) await once(dial(port, '127.0.0.1'), 'connect')
      const other = dial(port, '127.0.0.2')
      const answered = once(other, 'data')
      other.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n')
      return String(await Promise.race([answered, once(other, 'close')])).split('\r\n')[0] ?? ''
    } finally {
      for (const socket of open) socket.destroy()
      await server.stop()
    }
  }

  it('leave room for other addresses when one address opens maxConnections', async () => {
    expect(await besideIdle([])).to.equal('HTTP/1.1 200 OK')
  })

  it('may all come from one trusted proxy', async () => {
    expect(await besideIdle(['127.0.0.1'])).to.not.contain('HTTP')
  })

  it('are closed when the client does not read the answer', async () => {
    const pages = [(_: unknown, response: { end(bytes: Buffer): unknown }) => void response.end(LONG)]
    const server = await startFacade({ limits: { idleTimeoutMs: 100 }, pages })
    try {
      const { port } = await server.facade.listen(0, '127.0.0.1')
      const socket = dial(port, '127.0.0.1').pause()
      const [connection] = (await Promise.all([
        once(server.facade.server, 'connection'),
        socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
      ])) as [[Socket], boolean]
      await once(connection[0], 'close')
    } finally {
      await server.stop()
    }
  })
})
