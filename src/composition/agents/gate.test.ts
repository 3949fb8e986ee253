import { once } from 'node:events'
import { performServerHandshake } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { until } from '../../../test/make/until.ts'
import type { Records } from '../../api/records/records.ts'
import { HUB_SERVER_NAME } from '../../contracts/clusters.ts'
import { systemClock } from '../../core/clock.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { dial } from '../../kube/tunnel/agentEnd.ts'
import { Tunnels } from '../../kube/tunnel/tunnels.ts'
import { createAuthority, issueCertificate } from '../certificates.ts'
import { type Gate, openGate } from './gate.ts'
import { UnidentifiedConnections } from './unidentifiedConnections.ts'

const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const MOST = 8

describe('gate of agents', () => {
  const client = new FakeKubeClient()
  const clock = new ManualClock()
  const visitors = new UnidentifiedConnections(MOST)
  const tunnels = new Tunnels()
  const open: Socket[] = []
  const logged: string[] = []
  const log = { ...silentLog, info: (_fields: object, sentence?: string) => void logged.push(sentence ?? '') }
  let caches: CacheSet
  let gate: Gate
  let credentials: Parameters<typeof dial>[1]

  before(async () => {
    client.seed(PlatformCluster.resource, {
      apiVersion: PlatformCluster.apiVersion,
      kind: PlatformCluster.kind,
      metadata: { name: CLUSTER, annotations: { [INCARNATION_ANNOTATION]: 'one' } },
      spec: { displayName: 'Far', isPlatform: false },
    })
    caches = new CacheSet({ client, clock: systemClock })
    caches.add(PlatformCluster.resource)
    caches.start()
    await caches.whenAllSynced()
    const authority = await createAuthority('agents', new Date())
    const request = { commonName: CLUSTER, organizations: ['one'], purpose: 'client', days: 1 } as const
    const { certPem: cert, keyPem: key } = await issueCertificate(authority, request, new Date())
    credentials = { cert, key, ca: authority.certPem, servername: HUB_SERVER_NAME }
    gate = await openGate(
      {
        ...{ authority, client, caches, tunnels, unidentified: visitors, clock, log },
        records: {} as Records,
        endpoint: (port) => `https://127.0.0.1:${port}`,
        portForwardOf: () => () => Promise.reject(new Error('No pod is asked for.')),
      },
      { host: '127.0.0.1', port: 0 },
    )
  })
  after(async () => {
    await gate.stop()
    await caches.stopAll()
  })
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy()
    await until('all connections are closed', () => visitors.count === 0)
  })

  /** @returns the connections that were not closed */
  async function visit(count: number, localAddress: string): Promise<Socket[]> {
    const closed = new Set<Socket>()
    const came = Array.from({ length: count }, () => {
      const socket = connect({ port: gate.port, host: '127.0.0.1', localAddress })
      socket.on('error', () => {}).once('close', () => closed.add(socket))
      return socket.resume()
    })
    open.push(...came)
    const before = visitors.count
    await until('each connection is accepted or closed', () => visitors.count - before + closed.size === count)
    return came.filter((socket) => !closed.has(socket))
  }

  it('accepts half of the places from one address, and not all from two', async () => {
    expect(await visit(10, '127.0.0.1')).to.have.length(MOST / 2)
    expect((await visit(10, '127.0.0.2')).length).to.be.within(1, MOST / 2)
    expect(visitors.count).to.be.lessThan(MOST)
  })

  it('frees the place of a closed connection', async () => {
    const [first] = await visit(10, '127.0.0.1')
    first?.destroy()
    await until('it is closed', () => visitors.count === MOST / 2 - 1)
    expect(await visit(10, '127.0.0.1')).to.have.length(1)
  })

  it('frees the place of an agent after its handshake', async () => {
    for (let count = 0; count < MOST; count += 1) {
      const socket = await dial({ host: '127.0.0.1', port: gate.port }, credentials)
      performServerHandshake(socket).on('error', () => {})
      open.push(socket)
      await until('it is identified', () => visitors.count === 0)
    }
    expect(tunnels.list().length).to.be.greaterThan(0)
  })

  it('opens only so many tunnels of a cluster in a minute, as each is written into its record', async () => {
    await clock.advance(60_000)
    let written = 0
    const patch = client.mergePatch.bind(client)
    client.mergePatch = (...given) => {
      written += 1
      return patch(...given)
    }
    const outcomes: string[] = []
    const come = async () => {
      const socket = await dial({ host: '127.0.0.1', port: gate.port }, credentials)
      const session = performServerHandshake(socket).on('error', () => {})
      socket.on('error', () => {})
      session.on('stream', (stream) => stream.respond({ ':status': 200 }, { endStream: true }))
      open.push(socket)
      const opened = new Promise((resolve) => session.once('stream', () => resolve('opened')))
      outcomes.push(String(await Promise.race([opened, once(socket, 'close').then(() => 'closed')])))
      socket.destroy()
    }
    for (let count = 0; count < 35; count += 1) await come()
    expect(outcomes.filter((outcome) => outcome === 'opened')).to.have.length(30)
    expect(written).to.be.at.most(60)
    await clock.advance(2_000)
    await come()
    expect(outcomes.at(-1)).to.equal('opened')
    client.mergePatch = patch
  })

  it('logs a few refusals of a cluster and of an address, however many there are', async () => {
    await clock.advance(600_000)
    const come = async (shown: object, count: number) => {
      logged.length = 0
      for (let done = 0; done < count; done += 1) {
        const socket = await dial({ host: '127.0.0.1', port: gate.port }, { ...credentials, ...shown })
        socket.on('error', () => {}).resume()
        open.push(socket)
        await once(socket.end(), 'close')
      }
      return logged.filter((sentence) => sentence === 'An agent was refused.').length
    }
    expect(await come({ cert: undefined, key: undefined }, 12)).to.equal(5)
    expect(await come({}, 42)).to.be.within(1, 5)
  })

  it('closes a connection that does not speak TLS', async () => {
    const [one] = await visit(1, '127.0.0.1')
    const closed = once(one as Socket, 'close')
    one?.write('GET / HTTP/1.1\r\n\r\n')
    await closed
  })
})
