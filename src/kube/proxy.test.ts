import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { pipeline } from 'node:stream'
import { expect } from 'chai'
import { WebSocketServer } from 'ws'
import { staticAccess } from '../../test/make/access.ts'
import { createAuthority } from '../composition/certificates.ts'
import { createExec } from './exec.ts'
import { createPortForward } from './portForward.ts'

/** Only a proxy finds it. */
const SERVER = 'https://cluster.invalid:6443'

describe('connections to pods of a cluster that is behind a proxy', () => {
  async function behindProxy() {
    const { certPem: cert, keyPem: key } = await createAuthority('test', new Date())
    const server = createTlsServer({ cert, key })
    const sockets = new WebSocketServer({ server, handleProtocols: ([protocol = '']) => protocol })
    const asked: string[] = []
    const proxy = createServer().on('connect', (request, socket) => {
      asked.push(request.url ?? '')
      const onward = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        pipeline(socket, onward, socket, () => {})
      })
    })
    for (const each of [server, proxy]) await once(each.listen(0, '127.0.0.1'), 'listening')
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const access = { ...staticAccess({ server: SERVER, tls: { rejectUnauthorized: false } }), proxyUrl }
    const stop = async () => {
      for (const client of sockets.clients) client.terminate()
      for (const each of [server, proxy]) each.close()
    }
    return { access, asked, stop }
  }

  it('go through it: commands and ports', async () => {
    const { access, asked, stop } = await behindProxy()
    const gone = new AbortController()
    try {
      const place = { namespace: 'n', pod: 'p' }
      await createExec(access, 'test')({ ...place, container: 'c', command: ['true'], signal: gone.signal })
      const port = await createPortForward(access, 'test')({ ...place, port: 80 })
      expect(asked).to.deep.equal(['cluster.invalid:6443', 'cluster.invalid:6443'])
      port.destroy()
    } finally {
      gone.abort()
      await stop()
    }
  })
})
