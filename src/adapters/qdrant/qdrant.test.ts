import { Readable } from 'node:stream'
import { expect } from 'chai'
import { request } from 'undici'
import { type StandIn, startQdrantStandIn } from '../../../test/worlds/qdrantStandIn.ts'
import { createQdrantClient } from './client.ts'
import { FakeQdrant } from './fake.ts'
import { type EngineAnswer, type EngineTransport, isEngineError, type PeerAddress, type QdrantPort } from './port.ts'
import { simulatedEngine } from './simulated.ts'
import { directTransport, podProxyTransport } from './transport.ts'

const at = (ordinal: number, keys: readonly string[] = ['new']): PeerAddress => ({
  namespace: 'ns',
  pod: `vc-p-${ordinal}`,
  service: 'vc-p-peers',
  keys,
})

async function failure(promise: Promise<unknown>) {
  try {
    await promise
  } catch (thrown) {
    if (isEngineError(thrown)) return thrown
    throw thrown
  }
  throw new Error('The call was expected to fail.')
}

/** What the fake and the client have in common. */
function contract(
  name: string,
  connect: (engine: FakeQdrant) => Promise<{ port: QdrantPort; close(): Promise<void> }>,
) {
  describe(`${name}`, () => {
    let engine: FakeQdrant
    let port: QdrantPort
    let close: () => Promise<void>
    let ids: number[]

    beforeEach(async () => {
      engine = new FakeQdrant()
      ids = [0, 1, 2].map((ordinal) => engine.join(`vc-p-${ordinal}`, 'vc-p-peers', ['new']))
      engine.fill('docs', 70, [['vc-p-0'], ['vc-p-1', 'vc-p-2']])
      ;({ port, close } = await connect(engine))
    })
    afterEach(() => close())
    const id = (ordinal: number) => ids[ordinal] ?? -1

    it('returns the peers, its own id and the leader', async () => {
      expect(await port.cluster(at(1))).to.deep.equal({
        peerId: id(1),
        peers: [0, 1, 2].map((n) => ({ id: id(n), uri: `http://vc-p-${n}.vc-p-peers:6335/` })),
        leader: id(0),
        consensusWorking: true,
      })
    })

    it('returns the same shards from every peer', async () => {
      const expected = {
        copies: [
          { shard: 0, peerId: id(0), state: 'Active' },
          { shard: 1, peerId: id(1), state: 'Active' },
          { shard: 1, peerId: id(2), state: 'Active' },
        ],
        transfers: [],
      }
      for (const ordinal of [0, 1, 2]) expect(await port.collectionShards(at(ordinal), 'docs')).to.deep.equal(expected)
    })

    it('counts points, and 0 for a missing collection', async () => {
      expect(await port.collections(at(0))).to.deep.equal(['docs'])
      expect(await port.points(at(0), 'docs')).to.equal(70)
      expect(await port.points(at(0), 'gone')).to.equal(0)
      expect(await port.collectionShards(at(0), 'gone')).to.equal(undefined)
    })

    it('escapes collection names in paths', async () => {
      engine.fill('../cluster/peer?x=1#', 1, [['vc-p-0']])
      expect((await port.collectionShards(at(0), '../cluster/peer?x=1#'))?.copies).to.have.length(1)
    })

    it('reports a shard transfer until it is complete', async () => {
      engine.settles = false
      await port.moveShard(at(0), 'docs', { shard: 0, from: id(0), to: id(1) })
      expect((await port.collectionShards(at(0), 'docs'))?.transfers).to.deep.equal([
        { shard: 0, from: id(0), to: id(1) },
      ])
      engine.settle()
      expect(engine.holders('docs')).to.deep.equal([['vc-p-1'], ['vc-p-1', 'vc-p-2']])
    })

    it('removes an empty peer, and refuses to remove one that holds shards', async () => {
      expect((await failure(port.removePeer(at(0), id(2)))).reason).to.equal('Refused')
      await port.dropReplica(at(0), 'docs', { shard: 1, peerId: id(2) })
      await port.removePeer(at(0), id(2))
      expect((await port.cluster(at(0))).peers.map((peer) => peer.id)).to.deep.equal([id(0), id(1)])
      expect((await port.cluster(at(2))).consensusWorking).to.equal(false)
    })

    it('lists complete snapshots of a peer until they are removed', async () => {
      engine.settles = false
      await port.takeSnapshot(at(0), 'docs')
      expect(await port.snapshots(at(0), 'docs')).to.deep.equal([])
      engine.settle()
      const [made, ...others] = await port.snapshots(at(0), 'docs')
      expect([made?.sizeBytes, others]).to.deep.equal([7000, []])
      expect(await port.snapshots(at(1), 'docs')).to.deep.equal([])
      for (let time = 1; time <= 2; time += 1) await port.removeSnapshot(at(0), 'docs', made?.name ?? '')
      expect(await port.snapshots(at(0), 'docs')).to.deep.equal([])
      expect(await port.snapshots(at(0), 'gone')).to.deep.equal([])
      expect((await failure(port.takeSnapshot(at(0), 'gone'))).reason).to.equal('Refused')
    })

    it('refuses to drop the last replica of a shard', async () => {
      expect((await failure(port.dropReplica(at(0), 'docs', { shard: 0, peerId: id(0) }))).reason).to.equal('Refused')
    })

    it('tries the next key if one is not accepted, and reports Unauthorized if none is', async () => {
      expect((await port.cluster(at(0, ['old', 'new']))).peerId).to.equal(id(0))
      expect((await failure(port.cluster(at(0, ['old'])))).reason).to.equal('Unauthorized')
      expect((await failure(port.cluster(at(0, [])))).reason).to.equal('Unauthorized')
    })

    it('reports a peer that is down as not ready and Unreachable, without quoting the engine', async () => {
      expect(await port.ready(at(0))).to.equal(true)
      const peer = engine.peers.get('vc-p-0')
      if (peer !== undefined) peer.reachable = false
      expect(await port.ready(at(0))).to.equal(false)
      const thrown = await failure(port.collections(at(0)))
      expect(thrown.reason).to.equal('Unreachable')
      expect(thrown.message).to.contain('vc-p-0').and.not.contain('must not be shown')
    })
  })
}

contract('FakeQdrant', async (engine) => ({ port: engine, close: async () => {} }))

contract("createQdrantClient, through the API server's proxy", async (engine) => {
  const standIn = await startQdrantStandIn(engine)
  const client = {
    request: async ({ path, ...options }: Parameters<Parameters<typeof podProxyTransport>[0]['request']>[0]) => {
      const answer = await request(standIn.origin + path, options)
      return { status: answer.statusCode, body: answer.body }
    },
  }
  return { port: createQdrantClient(podProxyTransport(client)), close: standIn.close }
})

contract('createQdrantClient, at the address of the pod', async (engine) => {
  const standIn = await startQdrantStandIn(engine)
  const origin = (target: { namespace: string; pod: string }) =>
    `${standIn.origin}/api/v1/namespaces/${target.namespace}/pods/http:${target.pod}:6333/proxy`
  return { port: createQdrantClient(directTransport(origin)), close: standIn.close }
})

describe('createQdrantClient', () => {
  const answering = (answer: EngineAnswer): EngineTransport => ({ send: async () => answer })

  const cases: [sentence: string, answer: EngineAnswer, reason: string][] = [
    ['reports text that is not JSON as Unexpected', { status: 200, text: '<html>' }, 'Unexpected'],
    ['reports a missing field as Unexpected', { status: 200, text: '{"result":{"peer_id":1}}' }, 'Unexpected'],
    [
      'reports a peer id beyond 2^53 as Unexpected',
      { status: 200, text: '{"result":{"peer_id":1e30,"peers":{},"raft_info":{}}}' },
      'Unexpected',
    ],
    ['reports an answer without a result as Unexpected', { status: 200, text: '{"status":"ok"}' }, 'Unexpected'],
    ['reports status 500 as Refused', { status: 500, text: '{}' }, 'Refused'],
  ]
  for (const [sentence, answer, reason] of cases) {
    it(sentence, async () => {
      const port = createQdrantClient(answering(answer))
      expect((await failure(port.cluster(at(0)))).reason).to.equal(reason)
    })
  }

  it('rejects an answer with too many values before the schema checks each of them', async () => {
    const result = Array.from({ length: 30_000 }, (_, at) => ({ name: `s${at}`, size: 1 }))
    const port = createQdrantClient(answering({ status: 200, text: JSON.stringify({ result }) }))
    expect((await failure(port.snapshots(at(0), 'c'))).reason).to.equal('Unexpected')
  })

  it('sends a change once, even if it has a second key', async () => {
    const sent: string[] = []
    const reach: EngineTransport = {
      send: async (_, { headers }) => {
        sent.push(headers['api-key'] ?? '')
        return { status: 500, text: '{}' }
      },
    }
    await failure(createQdrantClient(reach).removePeer(at(0, ['a', 'b']), 7))
    expect(sent).to.deep.equal(['a'])
  })

  describe('over a slow or broken connection', () => {
    let standIn: StandIn
    before(async () => {
      standIn = await startQdrantStandIn(new FakeQdrant())
    })
    after(() => standIn.close())

    it('gives up at its deadline', async () => {
      const reach: EngineTransport = {
        send: (_, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      }
      const thrown = await createQdrantClient(reach, { timeout: 5 })
        .collections(at(0))
        .then(
          () => 'answered',
          (error: Error) => error.message,
        )
      expect(thrown).to.equal('aborted')
    })

    it('connects to a stand-in that says so at its root', async () => {
      const answer = await request(`${standIn.origin}/api/v1/namespaces/n/pods/http:p:6333/proxy/`)
      expect(await answer.body.text()).to.contain('stand-in')
    })

    it('reports a refused connection by its error code only', async () => {
      const port = createQdrantClient(directTransport(() => 'http://127.0.0.1:1'))
      expect((await failure(port.collections(at(0, ['secret-key'])))).message).to.equal(
        'Peer "ns/vc-p-0" does not answer (ECONNREFUSED).',
      )
    })
  })
})

describe('podProxyTransport', () => {
  it('distinguishes a missing right on pods/proxy from a key that the engine rejects', async () => {
    const answering = (text: string) => ({
      request: async () => ({ status: 403, body: Readable.from([Buffer.from(text)]) }),
    })
    const ask = (text: string) => failure(createQdrantClient(podProxyTransport(answering(text))).collections(at(0)))
    const refused = await ask('{"kind":"Status","apiVersion":"v1","reason":"Forbidden","code":403}')
    expect(refused.message).to.equal('Peer "ns/vc-p-0" does not answer (no right on pods/proxy).')
    expect((await ask('Invalid API key or JWT')).reason).to.equal('Unauthorized')
  })
})

describe('simulatedEngine', () => {
  it('is a healthy, empty cluster of one peer', async () => {
    const port = simulatedEngine()
    expect(await port.ready(at(2))).to.equal(true)
    expect(await port.collections(at(2))).to.deep.equal([])
    expect((await port.cluster(at(2))).peers).to.deep.equal([{ id: 3, uri: 'http://vc-p-2.vc-p-peers:6335/' }])
  })
})
