import { once } from 'node:events'
import { performServerHandshake } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { expect } from 'chai'
import { settle } from '../../../test/make/clock.ts'
import { until } from '../../../test/make/until.ts'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import type { Records } from '../../api/records/records.ts'
import { GREETING_PATH, HUB_SERVER_NAME, JOIN_PATH, RENEW_PATH } from '../../contracts/clusters.ts'
import { clusterController } from '../../controllers/clusters.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { CacheSet } from '../../kube/caches.ts'
import { dial } from '../../kube/tunnel/agentEnd.ts'
import { Tunnels } from '../../kube/tunnel/tunnels.ts'
import { type CertificatePair, createAuthority, issueCertificate, requestCertificate } from '../certificates.ts'
import { type Gate, openGate } from './gate.ts'

const AGENTS = 100
const INCARNATION = 'of-the-cluster'
const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
const HOUR = 3_600_000

type Stored = PlatformCluster & { [key: string]: unknown }

describe('connected agents', () => {
  const tunnels = new Tunnels()
  const lookups: string[] = []
  const records = {
    get: async (_: unknown, { name }: { name: string }) => {
      lookups.push(name)
      return bench.find(PlatformCluster.resource, name)
    },
  } as unknown as Records
  let authority: CertificatePair
  let bench: ControllerBench
  let caches: CacheSet
  let gate: Gate

  before(async () => {
    bench = new ControllerBench([clusterController])
    // TLS uses the system time.
    bench.clock.jump(Date.now() - bench.clock.now())
    for (let index = 0; index < AGENTS; index += 1) register(idOf(index))
    await bench.start()
    caches = new CacheSet({ client: bench.client, clock: bench.clock })
    caches.add(PlatformCluster.resource)
    caches.start()
    await caches.whenAllSynced()
    authority = await createAuthority('test', new Date(bench.clock.now()))
    const endpoint = (port: number) => `https://127.0.0.1:${port}`
    const { client, clock } = bench
    const portForwardOf = () => () => Promise.reject(new Error('No pod is asked for.'))
    gate = await openGate(
      { authority, client, caches, records, tunnels, portForwardOf, endpoint, clock, log: silentLog },
      { host: '127.0.0.1', port: 0 },
    )
  })
  after(async () => {
    await gate.stop()
    await caches.stopAll()
    await bench.stop()
  })

  function register(name: string, incarnation = INCARNATION): void {
    bench.client.seed(PlatformCluster.resource, {
      apiVersion: PlatformCluster.apiVersion,
      kind: PlatformCluster.kind,
      metadata: {
        name,
        annotations: { [INCARNATION_ANNOTATION]: incarnation },
        finalizers: ['freehold.dev/finalizer'],
      },
      spec: { displayName: name, domain: 'far.example.org', isPlatform: false, region: '', labels: {}, joinTokens: [] },
      status: { agent: { joinedAt: '2025-12-31T00:00:00Z' } },
    })
  }

  async function credentialsOf(clusterId: string) {
    const request = { commonName: clusterId, organizations: [INCARNATION], purpose: 'client', days: 1 } as const
    const { certPem: cert, keyPem: key } = await issueCertificate(authority, request, new Date())
    return { cert, key, ca: authority.certPem, servername: HUB_SERVER_NAME }
  }

  /** Answers the one request that every agent receives. */
  async function play(clusterId: string, version = '1.2.3', clockSkew = 0): Promise<TLSSocket> {
    const now = new Date(bench.clock.now() + clockSkew)
    const socket = await dial({ host: '127.0.0.1', port: gate.port }, await credentialsOf(clusterId))
    performServerHandshake(socket)
      .on('error', () => {})
      .on('stream', (stream, { ':path': path }) => {
        stream.on('error', () => {})
        expect(path).to.equal(GREETING_PATH)
        stream.end(JSON.stringify({ version, kubernetesVersion: 'v1.34.1', time: now.toISOString() }))
      })
    return socket
  }

  async function found(name: string): Promise<NonNullable<Stored['status']>> {
    return (
      ((await bench.find<Stored & { apiVersion: string }>(PlatformCluster.resource, name)) as unknown as Stored)
        .status ?? {}
    )
  }
  const untilState = (name: string, state: string) =>
    until(`cluster ${name} is ${state}`, async () => {
      await bench.rest()
      return (await found(name)).state === state
    })

  it('cause no write while 100 of them stay connected for an hour, and go Offline 90 s after a lost connection', async () => {
    const sockets: TLSSocket[] = []
    // Handshakes have a timeout, which 100 at once would exceed on a slow machine.
    for (let index = 0; index < AGENTS; index += 1) sockets.push(await play(idOf(index)))
    for (let index = 0; index < AGENTS; index += 1) await untilState(idOf(index), 'Online')
    await bench.rest()
    bench.writes()
    await bench.clock.advance(HOUR)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
    expect((await found(idOf(7))).state).to.equal('Online')
    sockets[7]?.destroy()
    await until('its end is written', async () => (await found(idOf(7))).agent?.lostConnection !== undefined)
    await bench.rest()
    expect((await found(idOf(7))).state, 'it may be back at once').to.equal('Online')
    await bench.clock.advance(90_000)
    await untilState(idOf(7), 'Offline')
    const { agent, statusMessage } = (await found(idOf(7))) as {
      agent?: { certificateExpiresAt?: string }
      statusMessage?: string
    }
    expect(statusMessage).to.include(`until ${agent?.certificateExpiresAt}`)
    expect((await found(idOf(8))).state).to.equal('Online')
    await play(idOf(7))
    await untilState(idOf(7), 'Online')
  })

  it('are recorded again if their connection was marked as lost', async () => {
    const { agent } = await found(idOf(9))
    const status = { agent: { lostConnection: agent?.connection } }
    await bench.client.mergePatch(PlatformCluster.resource, { name: idOf(9) }, { status }, { subresource: 'status' })
    await until(
      'there is another connection',
      async () => (await found(idOf(9))).agent?.connection !== agent?.connection,
    )
    await untilState(idOf(9), 'Online')
  })

  it('have their version stored as at most 64 printable characters', async () => {
    await play(idOf(10), `9.9\u001b[2J\n${'x'.repeat(10_000)}`)
    await until('it is written', async () => (await found(idOf(10))).agent?.version?.startsWith('9.9'))
    expect((await found(idOf(10))).agent?.version).to.match(/^[ -~]{1,64}$/)
  })

  it('show a clock that is far off', async () => {
    await play(idOf(14), '1.2.3', -HOUR)
    await until('it is told', async () => {
      await bench.rest()
      const { statusMessage = '' } = (await found(idOf(14))) as { statusMessage?: string }
      return statusMessage.includes('60 minutes behind')
    })
    expect((await found(idOf(14))).state).to.equal('Online')
  })

  it('renew their certificate, but receive 403 if they were revoked during the request', async () => {
    const body = JSON.stringify({ request: (await requestCertificate('agent')).requestPem })
    const ask = async (clusterId: string, meanwhile: () => Promise<void>) => {
      const options = { host: '127.0.0.1', port: gate.port, path: RENEW_PATH, method: 'POST', agent: false }
      const headers = { expect: '100-continue', 'content-length': body.length }
      const request = requestHttps({ ...options, headers, ...(await credentialsOf(clusterId)) })
      const answered = once(request, 'response')
      request.flushHeaders()
      // The gate has identified the caller and waits for the body.
      await once(request, 'continue')
      await meanwhile()
      request.end(body)
      const [answer] = await answered
      answer.resume()
      return answer.statusCode as number
    }
    expect(await ask(idOf(11), async () => {})).to.equal(200)
    const revoke = async () => {
      const spec = { revokedAt: new Date(bench.clock.now()).toISOString() }
      await bench.client.mergePatch(PlatformCluster.resource, { name: idOf(11) }, { spec })
      await bench.clock.advance(2_000)
    }
    expect(await ask(idOf(11), revoke), 'it would count as issued after the revocation').to.equal(403)
    const noted = async () => {
      const status = { revokedUntil: new Date(bench.clock.now()).toISOString() }
      await bench.client.mergePatch(PlatformCluster.resource, { name: idOf(14) }, { status }, { subresource: 'status' })
      await bench.clock.advance(2_000)
    }
    expect(await ask(idOf(14), noted), 'a revocation that its spec no longer says').to.equal(403)
  })

  it('do not change the status of another cluster registered with the same id', async () => {
    const socket = await play(idOf(12))
    await until('it is there', async () => (await found(idOf(12))).agent?.version === '1.2.3')
    register(idOf(12), 'of-another')
    const before = await found(idOf(12))
    expect(before.agent).to.not.have.any.keys('connection', 'lostConnection')
    socket.destroy()
    await until('its tunnel has ended', () => tunnels.find(idOf(12)) === undefined)
    await settle()
    await bench.rest()
    expect((await found(idOf(12))).agent).to.deep.equal(before.agent)
  })

  it('are disconnected if they send no TLS handshake', async () => {
    const silent = connect(gate.port, '127.0.0.1')
    await once(silent.resume(), 'close')
  })

  it('are disconnected when their certificate expires', async () => {
    await bench.clock.advance(24 * HOUR)
    await until('no tunnel is left', () => tunnels.list().length === 0)
    await settle()
  })

  it('receive a new server certificate of the gate each day', async () => {
    const shown = async () => {
      const socket = await dial({ host: '127.0.0.1', port: gate.port }, await credentialsOf(idOf(13)))
      const { fingerprint256 } = socket.getPeerCertificate()
      socket.destroy()
      return fingerprint256
    }
    const first = await shown()
    expect(await shown()).to.equal(first)
    await bench.clock.advance(24 * HOUR)
    await until('there is another one', async () => (await shown()) !== first)
  })

  it('receive 401 for wrong join tokens, and 429 without a lookup after 10 of them', async () => {
    const body = JSON.stringify({ token: 'guessed', request: 'none' })
    const post = async () => {
      const options = { host: '127.0.0.1', port: gate.port, path: JOIN_PATH, method: 'POST', agent: false }
      const request = requestHttps({ ...options, servername: HUB_SERVER_NAME, ca: authority.certPem }).end(body)
      const [answer] = await once(request, 'response')
      answer.resume()
      return answer.statusCode as number
    }
    lookups.length = 0
    const statuses = await Promise.all(Array.from({ length: 15 }, post))
    expect(statuses.sort()).to.deep.equal([...Array(10).fill(401), ...Array(5).fill(429)])
    expect(lookups).to.have.length(10)
  })
})
