import { once } from 'node:events'
import { request as requestHttp } from 'node:http'
import {
  createSecureServer,
  type Http2SecureServer,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer as createHttpsServer, type Server as HttpsServer, type RequestOptions } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { expect } from 'chai'
import { type WebSocket, WebSocketServer } from 'ws'
import { startWire, type Wire } from '../../../test/faults/wire.ts'
import { PATIENCE, until } from '../../../test/make/until.ts'
import { type CertificatePair, createAuthority, issueCertificate } from '../../composition/certificates.ts'
import type { ClusterAccess } from '../../kubeconfig/access.ts'
import { namespace } from '../builtin.ts'
import { createKubeClient, type KubeClient } from '../client.ts'
import { createExec, type ExecRefusedError } from '../exec.ts'
import { createPortForward } from '../portForward.ts'
import { dial, serveTunnel, type TunnelCredentials } from './agentEnd.ts'
import { readTunnelPath, TunnelEntry } from './entry.ts'
import { ForwardedPorts } from './forwardedPorts.ts'
import { getOverTunnel } from './getOverTunnel.ts'
import { relay } from './relay.ts'
import { TUNNEL_PROTOCOL, Tunnels } from './tunnels.ts'
import { relayUpgrade } from './upgrades.ts'

const CLUSTER = '11111111-1111-4111-8111-111111111111'

const capitals = (message: Buffer) => Buffer.from(message.subarray(1).toString().toUpperCase())
const channelled = (channel: number, bytes: string | Buffer) =>
  Buffer.concat([Buffer.from([channel]), Buffer.from(bytes)])

const PODS = new WebSocketServer({ noServer: true })
/** Echoes the bytes of a port or a command in capitals. */
const POD_SERVES: Readonly<Record<string, (connection: WebSocket, query: URLSearchParams) => void>> = {
  portforward(connection, query) {
    const port = Buffer.alloc(2)
    port.writeUInt16LE(Number(query.get('ports')))
    for (const channel of [0, 1]) connection.send(channelled(channel, port))
    connection.on('message', (message: Buffer) => {
      if (message.subarray(1).toString() === 'end') connection.close()
      else if (message.subarray(1).toString() === 'flood') connection.send(Buffer.alloc(8 * 1024 * 1024))
      else connection.send(channelled(0, capitals(message)))
    })
  },
  exec(connection, query) {
    connection.send(channelled(1, query.getAll('command').join(' ')))
    connection.on('message', (message: Buffer) => {
      if (message[0] === 0) return connection.send(channelled(1, capitals(message)))
      connection.send(channelled(3, JSON.stringify({ status: 'Success' })))
      connection.close(1000)
    })
  },
}

/** An API server beside the agent that returns what it received. */
function upstream({ certPem: cert, keyPem: key }: CertificatePair): Http2SecureServer {
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    const path = request.url ?? ''
    if (path.includes('watch=')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"type":"ADDED"}\n')
      return
    }
    const { authorization = 'none', 'impersonate-user': speaksFor = 'nobody' } = request.headers
    if (path.endsWith('/echo')) {
      void text(request).then((body) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ method: request.method, body }))
      })
      return
    }
    const metadata = { name: 'shop', annotations: { authorization, speaksFor: String(speaksFor), path } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata }))
  })
  server.on('upgrade', (request, socket, head) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    const serve = POD_SERVES[pathname.replace('/api/v1/namespaces/shop/pods/db-0/', '')]
    const isGood = serve !== undefined && request.headers.authorization === 'Bearer of-the-agent'
    if (!isGood) return socket.end('HTTP/1.1 404 Not Found\r\n\r\n')
    PODS.handleUpgrade(request, socket, head, (connection) => serve(connection, searchParams))
  })
  return server
}

/** Sends a byte now and then. */
function drip(stream: ServerHttp2Stream): void {
  const timer = setInterval(() => stream.write(' '), 10)
  stream.once('close', () => clearInterval(timer))
}

describe('TunnelEntry', () => {
  const tunnels = new Tunnels()
  const entry = new TunnelEntry(tunnels, async () => undefined)
  /** Belongs to a replica that uses the tunnel of the one above, through its gate. */
  const elsewhere = new TunnelEntry(new Tunnels(), async () => peer)
  const ENTRIES = [
    ['here', () => entry],
    ['at another replica', () => elsewhere],
  ] as const
  const stop = new AbortController()
  let hub: ReturnType<typeof createTlsServer>
  let gate: HttpsServer
  let peer: RequestOptions
  let api: Http2SecureServer
  /** The connection between the agent and the API server. */
  let wire: Wire
  let client: KubeClient
  let serving: Promise<void>
  let named = CLUSTER
  let address: { host: string; port: number }
  let credentials: TunnelCredentials

  before(async () => {
    const now = new Date()
    const authority = await createAuthority('test', now)
    const own = await issueCertificate(authority, { commonName: 'hub', purpose: 'server', names: ['hub'] }, now)
    const agent = await issueCertificate(authority, { commonName: CLUSTER, purpose: 'client' }, now)
    hub = createTlsServer(
      {
        cert: own.certPem,
        key: own.keyPem,
        ca: authority.certPem,
        requestCert: true,
        ALPNProtocols: [TUNNEL_PROTOCOL],
      },
      (socket: TLSSocket) => void tunnels.begin(named, socket, () => {}),
    )
    api = upstream(await issueCertificate(authority, { commonName: 'api', purpose: 'server', names: ['api'] }, now))
    gate = createHttpsServer({ cert: own.certPem, key: own.keyPem })
    gate.on('request', (request, response) => {
      const [target, tunnel] = [readTunnelPath(request.url), tunnels.find(CLUSTER)]
      if (target !== undefined && tunnel !== undefined) void relay(tunnel, target.path, request, response)
    })
    gate.on('upgrade', (request, socket, head) => {
      const [target, tunnel] = [readTunnelPath(request.url), tunnels.find(CLUSTER)]
      if (target !== undefined && tunnel !== undefined) relayUpgrade(tunnel, target.path, { request, socket, head })
    })
    const listening = [hub, api, gate].map((server) => once(server.listen(0, '127.0.0.1'), 'listening'))
    await Promise.all([...listening, entry.listen(), elsewhere.listen()])
    wire = await startWire(`https://127.0.0.1:${(api.address() as AddressInfo).port}`)
    const { port } = gate.address() as AddressInfo
    peer = { host: '127.0.0.1', port, ca: authority.certPem, servername: 'hub' }
    client = createKubeClient(entry.accessOf(CLUSTER), { fieldManager: 'test', userAgent: 'test' })
    address = { host: '127.0.0.1', port: (hub.address() as AddressInfo).port }
    credentials = { cert: agent.certPem, key: agent.keyPem, ca: authority.certPem, servername: 'hub' }
    const socket = await dial(address, credentials)
    const material = { ca: authority.certPem, servername: 'api' }
    const access: ClusterAccess = {
      server: wire.url,
      namespace: 'default',
      proxyUrl: undefined,
      tls: async () => material,
      authorization: async () => 'Bearer of-the-agent',
      refresh: () => {},
    }
    const answerSelf = async (path: string) => (path === '/.freehold/greeting' ? { version: '1' } : undefined)
    const liveness = { pingEvery: 500, pingTimeout: 2_000 }
    serving = serveTunnel(socket, access, answerSelf, { signal: stop.signal, liveness })
  })
  after(async () => {
    stop.abort()
    await serving
    tunnels.stop()
    await client.close()
    await Promise.all([entry.stop(), elsewhere.stop(), wire.close()])
    gate.closeAllConnections()
    for (const server of [api, gate, hub]) server.close()
  })

  it("forwards requests with the agent's credentials, and drops impersonation headers", async () => {
    const { metadata } = await client.get(namespace, { name: 'shop' })
    expect(metadata.annotations).to.deep.equal({
      authorization: 'Bearer of-the-agent',
      speaksFor: 'nobody',
      path: '/api/v1/namespaces/shop',
    })
    const answer = await client.request({ path: '/api/v1/namespaces/shop', headers: { 'impersonate-user': 'admin' } })
    expect(await answer.text()).to.contain('"speaksFor":"nobody"')
  })

  for (const [where, enter] of ENTRIES)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)
      it(`forwards the body of ${method}: the tunnel ends ${where}`, async () => {
        const asking = createKubeClient(enter().accessOf(CLUSTER), { fieldManager: 'test', userAgent: 'test' })
        const body = method === 'GET' ? '' : JSON.stringify({ preconditions: { uid: 'of this life' } })
        const answer = await asking.request({ method, path: '/api/v1/echo', ...(body !== '' && { body }) })
        expect(JSON.parse(await answer.text())).to.deep.equal({ method, body })
        await asking.close()
      })

  it('returns answers of the agent itself', async () => {
    const tunnel = tunnels.find(CLUSTER)
    if (tunnel === undefined) throw new Error('There is no tunnel.')
    expect(await getOverTunnel(tunnel, '/.freehold/greeting', PATIENCE)).to.deep.equal({ version: '1' })
  })

  it('forwards ports of pods to ports of this machine', async () => {
    const ports = new ForwardedPorts((clusterId) => createPortForward(entry.accessOf(clusterId), 'test'))
    const pod = { clusterId: CLUSTER, namespace: 'shop', pod: 'db-0' }
    const open = await ports.open(pod, 5432)
    expect(await ports.open(pod, 5432), 'the same port again').to.deep.equal(open)
    const socket = connect(open)
    const chunks = socket[Symbol.asyncIterator]()
    for (const [sent, received] of [
      ['hello', 'HELLO'],
      ['x'.repeat(100_000), 'X'.repeat(100_000)],
    ] as const) {
      socket.write(sent)
      let text = ''
      while (text.length < received.length) text += String((await chunks.next()).value)
      expect(text === received).to.equal(true)
    }
    socket.write('end')
    expect((await chunks.next()).done, 'the pod closes the connection').to.equal(true)
    const nobody = connect(await ports.open({ ...pod, pod: 'nobody' }, 5432))
    nobody.write('hello')
    expect((await nobody[Symbol.asyncIterator]().next()).done, 'there is no such pod').to.equal(true)
    ports.stop()
  })

  for (const [where, enter] of ENTRIES)
    it(`forwards stdin and stdout of exec: the tunnel ends ${where}`, async () => {
      const exec = createExec(enter().accessOf(CLUSTER), 'test')
      const execRequest = { namespace: 'shop', container: 'c', command: ['cat', '-'], signal: stop.signal }
      const session = await exec({ ...execRequest, pod: 'db-0' })
      for (let count = 0; count < 30; count += 1) await session.write(Buffer.alloc(100_000, 'x'))
      session.end()
      expect((await buffer(session.stdout)).equals(Buffer.from(`cat -${'X'.repeat(3_000_000)}`))).to.equal(true)
      const refused = await exec({ ...execRequest, pod: 'nobody' }).catch((error: unknown) => error)
      expect((refused as ExecRefusedError).status, 'there is no such pod').to.equal(404)
      const leave = new AbortController()
      const left = await exec({ ...execRequest, pod: 'db-0', signal: leave.signal })
      leave.abort()
      await until('the command has ended', () => PODS.clients.size === 0)
      expect(left.stdout.destroyed).to.equal(true)
    })

  it('stops while it forwards a connection to another replica, and closes that', async () => {
    const leaving = new TunnelEntry(new Tunnels(), async () => peer)
    await leaving.listen()
    const portRequest = { namespace: 'shop', pod: 'db-0', port: 5432 }
    const stream = await createPortForward(leaving.accessOf(CLUSTER), 'test')(portRequest)
    const ended = once(stream.resume(), 'end')
    await leaving.stop()
    await ended
  })

  it('rejects a WebSocket message of 8 MiB', async () => {
    const stream = await createPortForward(
      entry.accessOf(CLUSTER),
      'test',
    )({ namespace: 'shop', pod: 'db-0', port: 5432 })
    const failed = new Promise<Error>((resolve) => stream.once('error', resolve))
    stream.resume().write('flood')
    expect((await failed).message).to.contain('Max payload size exceeded')
  })

  it('returns 413 for a body of 5 MiB', async () => {
    const body = 'x'.repeat(5 * 1024 * 1024)
    const answer = await client.request({ method: 'POST', path: '/api/v1/namespaces', body })
    expect(answer.status).to.equal(413)
    await answer.text()
  })

  it('returns 403 for a request without the key of the process', async () => {
    const { server } = entry.accessOf(CLUSTER)
    expect((await fetch(`${server}/api/v1/namespaces/shop`)).status).to.equal(403)
  })

  it('returns 503 for a cluster without a tunnel', async () => {
    const other = createKubeClient(entry.accessOf('22222222-2222-4222-8222-222222222222'), {
      fieldManager: 'test',
      userAgent: 'test',
    })
    const answer = await other.request({ path: '/version' })
    expect(answer.status).to.equal(503)
    expect(await answer.text()).to.contain('not connected')
    await other.close()
  })

  it("limits a malicious agent's headers, answers and number of tunnels", async () => {
    const HOSTILE = '33333333-3333-4333-8333-333333333333'
    named = HOSTILE
    const sockets: TLSSocket[] = []
    for (let count = 0; count < 5; count += 1) {
      const socket = await dial(address, credentials)
      sockets.push(socket)
      const session = performServerHandshake(socket)
      session
        .on('error', () => {})
        .on('stream', (stream, { ':path': path }) => {
          stream.on('error', () => {})
          if (path === '/headers') stream.respond({ ':status': 200, 'x-much': 'y'.repeat(20_000) }, { endStream: true })
          else if (path === '/drops') drip(stream)
          else stream.end('x'.repeat(1024 * 1024))
        })
    }
    await until('the first of too many tunnels have ended', () => tunnels.list().length === 4)
    const tunnel = tunnels.find(HOSTILE)
    if (tunnel === undefined) throw new Error('There is no tunnel.')
    const failure = await getOverTunnel(tunnel, '/.freehold/greeting', PATIENCE).catch(String)
    expect(failure).to.contain('too long')
    expect(await getOverTunnel(tunnel, '/drops', 100).catch(String)).to.contain('in time')
    const other = createKubeClient(entry.accessOf(HOSTILE), { fieldManager: 'test', userAgent: 'test' })
    const headers = await other.request({ method: 'POST', path: '/headers', body: '{}' }).catch(String)
    expect(headers).to.contain('no answer')
    await other.close()
    for (const socket of sockets) socket.destroy()
  })

  for (const [how, end] of [
    ['destroys the tunnel', (session: ServerHttp2Session) => session.destroy()],
    ['closes the stream', (_: ServerHttp2Session, stream: ServerHttp2Stream) => stream.close()],
  ] as const)
    it(`closes the WebSocket request to a pod if the agent ${how} without an answer`, async () => {
      const SILENT = '44444444-4444-4444-8444-444444444444'
      named = SILENT
      const socket = await dial(address, credentials)
      const session = performServerHandshake(socket, { settings: { enableConnectProtocol: true } })
      session
        .on('error', () => {})
        .on('stream', (stream) => {
          stream.on('error', () => {})
          end(session, stream)
        })
      await until(
        'there is a tunnel',
        () => tunnels.find(SILENT)?.session.remoteSettings?.enableConnectProtocol === true,
      )
      const { server, authorization } = entry.accessOf(SILENT)
      const { hostname, port, pathname } = new URL(server)
      const headers = { authorization: (await authorization()) ?? '', connection: 'Upgrade', upgrade: 'websocket' }
      const upgradeRequest = requestHttp({ hostname, port, path: `${pathname}/api/v1/x`, headers, agent: false })
      const ended = once(upgradeRequest, 'error')
      upgradeRequest.end()
      await ended
      socket.destroy()
    })

  /** Starts a watch, reads one event and returns how the watch continues. */
  async function watch(): Promise<() => Promise<string>> {
    const answer = await client.request({ path: '/api/v1/namespaces', query: { watch: '1' } })
    const chunks = answer.body[Symbol.asyncIterator]()
    expect(String((await chunks.next()).value)).to.contain('ADDED')
    return () =>
      chunks.next().then(
        ({ done }) => (done === true ? 'ended' : 'went on'),
        () => 'broke',
      )
  }

  it('ends a watch whose connection to the API server is silent, and forwards the next one', async () => {
    const next = await watch()
    wire.silence()
    expect(await next()).to.equal('broke')
    await watch()
    expect((await client.get(namespace, { name: 'shop' })).metadata.name).to.equal('shop')
  })

  it('streams, and ends every stream when the tunnel closes', async () => {
    const next = await watch()
    tunnels.find(CLUSTER)?.session.destroy()
    expect(await next()).not.to.equal('went on')
    await serving
    expect(tunnels.find(CLUSTER)).to.equal(undefined)
  })
})
