import { once } from 'node:events'
import { createServer, request as requestHttp, type Server } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import type { Records } from '../../api/records/records.ts'
import { AGENT_PEER_SECRET, HUB_SERVER_NAME } from '../../contracts/clusters.ts'
import { ACTIVATOR_TUNNEL_SECRET, COPY_PROTOCOL, remoteCopyName, remoteCopyPath } from '../../contracts/remoteCopies.ts'
import { systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { silentLog } from '../../core/log.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { PortForwardRequest } from '../../kube/portForward.ts'
import { Tunnels } from '../../kube/tunnel/tunnels.ts'
import { createAuthority } from '../certificates.ts'
import { reachThroughGate } from './copies.ts'
import { type Gate, type GateOptions, openGate } from './gate.ts'
import { ensurePeerCertificates, readPeerCertificate } from './peers.ts'

const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const COPY = { namespace: 'shop', name: 'home.orders', clusterId: CLUSTER, pod: 'orders-1' }

describe('reachThroughGate', () => {
  const client = new FakeKubeClient()
  const asked: (PortForwardRequest & { clusterId: string })[] = []
  let caches: CacheSet
  let gate: Gate
  let gateOptions: GateOptions
  let copy: Server
  let isAway = false

  before(async () => {
    copy = createServer((request, response) => void response.end(`hello ${request.url}`))
    await new Promise<void>((resolve) => copy.listen(0, '127.0.0.1', resolve))
    client.seed(ServerlessFunction.resource, {
      apiVersion: ServerlessFunction.apiVersion,
      kind: ServerlessFunction.kind,
      metadata: { namespace: COPY.namespace, name: COPY.name },
      spec: {},
      status: { copies: [remoteCopyName(COPY)] },
    })
    caches = new CacheSet({ client, clock: systemClock })
    for (const { resource } of [PlatformCluster, ServerlessFunction]) caches.add(resource)
    caches.start()
    await caches.whenAllSynced()
    const authority = await createAuthority('agents', new Date())
    await ensurePeerCertificates(client, authority, new Date())
    gateOptions = {
      ...{ authority, client, caches, clock: systemClock, log: silentLog, tunnels: new Tunnels() },
      records: {} as Records,
      endpoint: (port) => `https://127.0.0.1:${port}`,
      portForwardOf: (clusterId) => (request) => reachPod({ ...request, clusterId }),
    }
    gate = await openGate(gateOptions, { host: '127.0.0.1', port: 0 })
  })
  after(async () => {
    await gate.stop()
    await caches.stopAll()
    copy.closeAllConnections()
    copy.close()
  })
  beforeEach(() => {
    asked.length = 0
    isAway = false
  })

  async function reachPod(request: PortForwardRequest & { clusterId: string }): Promise<Duplex> {
    asked.push(request)
    if (isAway) throw new Error('The agent of the cluster is not connected.')
    const socket = connect((copy.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }

  const reach = (wanted = COPY) => reachThroughGate(client, `https://127.0.0.1:${gate.port}`)(wanted)

  /** The status of an upgrade with the client certificate of a Secret. */
  async function refusal(path: string, secret: string | undefined, upgrade = COPY_PROTOCOL): Promise<number> {
    const { certificate, key, authority: ca } = await readPeerCertificate(client)
    const own = secret === undefined ? undefined : await readPeerCertificate(client, secret)
    const shown = own === undefined ? {} : { cert: own.certificate, key: own.key }
    expect([certificate, key]).to.not.include('')
    const sent = requestHttps({
      ...{ host: '127.0.0.1', port: gate.port, servername: HUB_SERVER_NAME, ca, agent: false, path, ...shown },
      headers: { connection: 'Upgrade', upgrade },
    })
    const answer = Promise.race([
      once(sent, 'response').then(([{ statusCode }]) => statusCode as number),
      once(sent, 'upgrade').then(([, socket]) => {
        socket.destroy()
        return 101
      }),
    ])
    sent.end()
    return answer
  }

  it('returns a connection to port 8080 of a pod that status.copies names', async () => {
    const connection = await reach()
    const sent = requestHttp({ createConnection: () => connection, path: '/orders' }).end()
    const [answer] = await once(sent, 'response')
    expect(await text(answer)).to.equal('hello /orders')
    expect(asked).to.deep.equal([{ clusterId: CLUSTER, namespace: 'shop', pod: 'orders-1', port: 8080 }])
  })

  it('returns a connection whose error closes only itself', async () => {
    const connection = await reach()
    const closed = new Promise((resolve) => connection.once('close', resolve))
    connection.destroy(new Error('reset'))
    await closed
  })

  const FOREIGN: readonly [what: string, copy: typeof COPY][] = [
    ['another pod of the group', { ...COPY, pod: 'database-0' }],
    ['a pod of the same name in another cluster', { ...COPY, clusterId: CLUSTER.replace('4a7f', '5a7f') }],
    ['a pod of the same name in another group', { ...COPY, namespace: 'theirs' }],
    ['a copy of a function that does not exist', { ...COPY, name: 'home.gone' }],
  ]
  for (const [what, wanted] of FOREIGN)
    it(`receives 404 for ${what}`, async () => {
      const said = await reach(wanted).then(() => 'reached', messageOf)
      expect(said).to.contain('404')
      expect(asked).to.deep.equal([])
    })

  it('rejects with the status of the gate if the cluster cannot be reached', async () => {
    isAway = true
    expect(await reach().then(() => 'reached', messageOf)).to.equal(
      `Cluster "${CLUSTER}" cannot be reached: the gate answered 502.`,
    )
  })

  const path = remoteCopyPath(COPY, remoteCopyName(COPY))
  const exec = `/clusters/${CLUSTER}/api/v1/namespaces/shop/pods/orders-1/exec`
  const REFUSED: readonly [who: string, what: string, path: string, secret: string | undefined, upgrade?: string][] = [
    ['the activator', 'into a tunnel', exec, ACTIVATOR_TUNNEL_SECRET, 'websocket'],
    ['the activator', 'into a tunnel with the protocol of copies', exec, ACTIVATOR_TUNNEL_SECRET],
    ['a replica', 'to copies', path, AGENT_PEER_SECRET],
    ['a client without a certificate', 'to copies', path, undefined],
  ]
  for (const [who, what, where, secret, upgrade] of REFUSED)
    it(`receives 403: ${who} ${what}`, async () => {
      expect(await refusal(where, secret, upgrade)).to.equal(403)
      expect(asked).to.deep.equal([])
    })

  it('is closed when the gate stops', async () => {
    const second = await openGate(gateOptions, { host: '127.0.0.1', port: 0 })
    const connection = await reachThroughGate(client, `https://127.0.0.1:${second.port}`)(COPY)
    const ended = once(connection, 'close')
    connection.resume()
    await second.stop()
    await ended
  })

  it('receives 403 for requests of replicas with the certificate of the activator', async () => {
    const { certificate: cert, key, authority: ca } = await readPeerCertificate(client, ACTIVATOR_TUNNEL_SECRET)
    const options = { host: '127.0.0.1', port: gate.port, servername: HUB_SERVER_NAME, ca, cert, key, agent: false }
    const sent = requestHttps({ ...options, path: `/clusters/${CLUSTER}/api/v1/secrets` }).end()
    const [answer] = await once(sent, 'response')
    answer.resume()
    expect(answer.statusCode).to.equal(403)
  })
})
