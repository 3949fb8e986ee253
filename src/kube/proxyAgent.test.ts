import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { pipeline } from 'node:stream'
import { createServer as createHub } from 'node:tls'
import { expect } from 'chai'
import { WebSocketServer } from 'ws'
import { staticAccess } from '../../test/make/access.ts'
import { until } from '../../test/make/until.ts'
import { createAuthority, issueCertificate } from '../composition/certificates.ts'
import { createExec } from './exec.ts'
import { createPortForward } from './portForward.ts'
import { dial, serveTunnel } from './tunnel/agentEnd.ts'
import { TunnelEntry } from './tunnel/entry.ts'
import { TUNNEL_PROTOCOL, Tunnels } from './tunnel/tunnels.ts'

/** Only the proxy resolves this name. */
const SERVER = 'https://cluster.invalid:6443'
const CLUSTER = '11111111-1111-4111-8111-111111111111'

describe('connections to pods of a cluster behind a proxy', () => {
  async function behindProxy() {
    const { certPem: cert, keyPem: key } = await createAuthority('test', new Date())
    const server = createTlsServer({ cert, key })
    const sockets = new WebSocketServer({ server, handleProtocols: ([protocol = '']) => protocol })
    const targets: string[] = []
    const proxy = createServer().on('connect', (request, socket) => {
      targets.push(request.url ?? '')
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
    return { access, targets, stop }
  }

  it('use the proxy for exec and port-forward', async () => {
    const { access, targets, stop } = await behindProxy()
    const aborting = new AbortController()
    try {
      const place = { namespace: 'n', pod: 'p' }
      await createExec(access, 'test')({ ...place, container: 'c', command: ['true'], signal: aborting.signal })
      const port = await createPortForward(access, 'test')({ ...place, port: 80 })
      expect(targets).to.deep.equal(['cluster.invalid:6443', 'cluster.invalid:6443'])
      port.destroy()
    } finally {
      aborting.abort()
      await stop()
    }
  })

  it("use the proxy on the agent's side of a tunnel", async () => {
    const { access, targets, stop } = await behindProxy()
    const now = new Date()
    const authority = await createAuthority('test', now)
    const own = await issueCertificate(authority, { commonName: 'hub', purpose: 'server', names: ['hub'] }, now)
    const agent = await issueCertificate(authority, { commonName: CLUSTER, purpose: 'client' }, now)
    const ca = authority.certPem
    const tunnels = new Tunnels()
    const entry = new TunnelEntry(tunnels, async () => undefined)
    const hub = createHub(
      { cert: own.certPem, key: own.keyPem, ca, requestCert: true, ALPNProtocols: [TUNNEL_PROTOCOL] },
      (socket) => void tunnels.begin(CLUSTER, socket, () => {}),
    )
    await Promise.all([once(hub.listen(0, '127.0.0.1'), 'listening'), entry.listen()])
    const address = { host: '127.0.0.1', port: (hub.address() as AddressInfo).port }
    const socket = await dial(address, { cert: agent.certPem, key: agent.keyPem, ca, servername: 'hub' })
    const aborting = new AbortController()
    const serving = serveTunnel(socket, access, async () => undefined, { signal: aborting.signal })
    try {
      await until(
        'the tunnel is open',
        () => tunnels.find(CLUSTER)?.session.remoteSettings?.enableConnectProtocol === true,
      )
      const port = await createPortForward(entry.accessOf(CLUSTER), 'test')({ namespace: 'n', pod: 'p', port: 80 })
      expect(targets).to.deep.equal(['cluster.invalid:6443'])
      port.destroy()
    } finally {
      aborting.abort()
      await serving
      tunnels.stop()
      await entry.stop()
      hub.close()
      await stop()
    }
  })
})
