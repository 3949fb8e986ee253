import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { GREETING_PATH, HUB_SERVER_NAME, MEMBERSHIP_SECRET } from '../../contracts/clusters.ts'
import { silentLog } from '../../core/log.ts'
import { secretData } from '../../core/secretData.ts'
import { TUNNEL_PROTOCOL } from '../../kube/tunnel/tunnels.ts'
import { createAuthority, issueCertificate } from '../certificates.ts'
import type { Part } from '../part.ts'
import { runAgent } from './agent.ts'

const HOUR = 3_600_000

describe('agent', () => {
  let folder: string
  let apiServer: Server
  let hub: TlsServer
  let agent: Part | undefined
  const reasons: string[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-agent-'))
    reasons.length = 0
  })
  afterEach(async () => {
    await agent?.stop()
    hub.close()
    apiServer.close()
    apiServer.closeAllConnections()
    await rm(folder, { recursive: true })
  })

  const listen = (server: Server | TlsServer) =>
    new Promise<number>((done) => server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port)))

  /** Starts an agent whose certificate is valid for a day from this time, with a hub that does this with its tunnel. */
  async function start(issuedAt: number, onTunnel: (socket: TLSSocket) => void) {
    const authority = await createAuthority('test', new Date())
    const serving = { commonName: HUB_SERVER_NAME, purpose: 'server', names: [HUB_SERVER_NAME] } as const
    const { certPem: cert, keyPem: key } = await issueCertificate(authority, serving, new Date())
    const trust = { ca: authority.certPem, requestCert: true, rejectUnauthorized: false }
    hub = createTlsServer({ cert, key, ...trust, ALPNProtocols: [TUNNEL_PROTOCOL] }, (socket) => {
      socket.on('error', () => {})
      onTunnel(socket)
    })
    const own = { commonName: 'far', organizations: ['of-the-cluster'], purpose: 'client', days: 1 } as const
    const membership = await issueCertificate(authority, own, new Date(issuedAt))
    const data = secretData({ 'cluster-id': 'far', 'tls.crt': membership.certPem, 'tls.key': membership.keyPem })
    const object = { kind: 'Secret', apiVersion: 'v1', metadata: { name: MEMBERSHIP_SECRET } }
    const stored = { ...object, data: { ...data, ...secretData({ 'ca.crt': authority.certPem }) } }
    apiServer = createHttpServer((request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(request.url?.includes('/secrets/') ? stored : { gitVersion: 'v1.36.3' }))
    })
    const kubeconfig = join(folder, 'kubeconfig')
    const named = { clusters: 'cluster', users: 'user', contexts: 'context' }
    const server = { server: `http://127.0.0.1:${await listen(apiServer)}` }
    const values = { clusters: server, users: {}, contexts: { cluster: 'far', user: 'far' } }
    const lists = Object.entries(named).map(([list, field]) => [
      list,
      [{ name: 'far', [field]: values[list as keyof typeof values] }],
    ])
    await writeFile(kubeconfig, JSON.stringify({ ...Object.fromEntries(lists), 'current-context': 'far' }))
    const log = {
      ...silentLog,
      warn: ({ reason }: { reason?: string }) => reasons.push(reason ?? ''),
      child: () => log,
    } as never
    const configuration = { kubeconfig, agentHub: `https://127.0.0.1:${await listen(hub)}` }
    const dependencies = { log, registry: {} as never, fail: (why: string) => reasons.push(why) }
    agent = await runAgent(configuration as never, dependencies)
  }
  const isReady = () => agent?.checks.every((check) => check.isReady())

  it('is ready once the hub has greeted it', async () => {
    await start(Date.now(), (socket) => {
      const session = connectHttp2(`https://${HUB_SERVER_NAME}`, { createConnection: () => socket })
      session.on('error', () => {})
      session
        .request({ ':path': GREETING_PATH })
        .on('error', () => {})
        .resume()
    })
    await until('it is ready', () => isReady() === true)
    expect(reasons).to.deep.equal([])
  })

  it('is not ready, and says why, if its certificate has expired', async () => {
    await start(Date.now() - 25 * HOUR, (socket) => socket.destroy())
    await until('it says why', () => reasons.length > 0)
    expect(reasons[0]).to.match(
      /^The hub refuses this agent: its certificate expired at .* It needs a new join token\.$/,
    )
    expect(isReady()).to.equal(false)
  })

  it('is not ready, and says so, if the hub refuses it', async () => {
    await start(Date.now(), (socket) => socket.destroy())
    await until('it says why', () => reasons.length > 0)
    expect(reasons[0]).to.equal('The hub ended the connection: it may have revoked this agent.')
    expect(isReady()).to.equal(false)
  })
})
