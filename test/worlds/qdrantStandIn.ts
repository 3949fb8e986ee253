/**
 * A stand-in for Qdrant: an HTTP server with the few routes that the platform uses, over a cluster in memory. It is not
 * Qdrant, stores no vectors, and says so at `/`. Peers are addressed as through the API server's pod proxy.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FakeQdrant } from '../../src/adapters/qdrant/fake.ts'
import { isEngineError, type PeerAddress } from '../../src/adapters/qdrant/port.ts'

export type StandIn = { origin: string; close(): Promise<void> }

type Asked = { engine: FakeQdrant; peer: PeerAddress; method: string; path: string[]; body: Record<string, never> }

const PROXY = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/http:([^/:]+):6333\/proxy(\/.*)$/

export async function startQdrantStandIn(engine: FakeQdrant): Promise<StandIn> {
  const server = createServer((request, response) => {
    void handle(engine, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function handle(engine: FakeQdrant, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, namespace = '', pod = '', rest = '/'] = PROXY.exec(request.url ?? '') ?? []
  const key = request.headers['api-key']
  const peer = { namespace, pod, service: '', keys: typeof key === 'string' ? [key] : [] }
  const path = (rest.split('?')[0] ?? '').split('/').slice(1).map(decodeURIComponent)
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString('utf8'))
  try {
    const answer = await route({ engine, peer, method: request.method ?? 'GET', path, body })
    if (answer === undefined) return send(response, 404, { status: { error: 'Not found' }, time: 0 })
    send(response, 200, answer)
  } catch (thrown) {
    const status = isEngineError(thrown, 'Unreachable') ? 503 : isEngineError(thrown) ? thrown.status : 500
    send(response, status, { status: { error: 'an error of the engine that must not be shown' }, time: 0 })
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const ok = (result: unknown) => ({ result, status: 'ok', time: 0.001 })

async function route(asked: Asked): Promise<object | undefined> {
  const { engine, peer, method, path } = asked
  switch (`${method} ${path[0]}`) {
    case 'GET ':
      return { title: 'a stand-in for qdrant - not a vector search engine', version: '0.0.0' }
    case 'GET readyz':
      return (await engine.ready(peer)) ? {} : undefined
    case 'GET cluster':
      return ok(await clusterAnswer(engine, peer))
    case 'DELETE cluster':
      await engine.removePeer(peer, Number(path[2]))
      return ok(true)
    default:
      return path[0] === 'collections' ? collectionRoute(asked) : undefined
  }
}

async function clusterAnswer(engine: FakeQdrant, peer: PeerAddress): Promise<object> {
  const view = await engine.cluster(peer)
  return {
    status: 'enabled',
    peer_id: view.peerId,
    peers: Object.fromEntries(view.peers.map(({ id, uri }) => [String(id), { uri }])),
    raft_info: { term: 1, commit: 9, pending_operations: 0, leader: view.leader, role: 'Leader', is_voter: true },
    consensus_thread_status: { consensus_thread_status: view.consensusWorking ? 'working' : 'stopped' },
    message_send_failures: {},
  }
}

async function snapshotRoute({ engine, peer, method, path }: Asked): Promise<object | undefined> {
  const [, name = '', , file] = path
  if (method === 'POST') {
    await engine.takeSnapshot(peer, name)
    return { status: 'accepted', time: 0.001 }
  }
  const all = await engine.snapshots(peer, name)
  if (method === 'GET')
    return ok(all.map(({ name, sizeBytes: size }) => ({ name, size, creation_time: null, checksum: null })))
  if (file === undefined || !all.some((one) => one.name === file)) return undefined
  await engine.removeSnapshot(peer, name, file)
  return ok(true)
}

async function collectionRoute({ engine, peer, method, path, body }: Asked): Promise<object | undefined> {
  const [, name, leaf] = path
  if (name === undefined) return ok({ collections: (await engine.collections(peer)).map((each) => ({ name: each })) })
  if (leaf === undefined) {
    const points = await engine.points(peer, name)
    return engine.contents.has(name) ? ok({ status: 'green', points_count: points, segments_count: 2 }) : undefined
  }
  if (leaf === 'snapshots') return snapshotRoute({ engine, peer, method, path, body })
  if (method === 'POST') {
    const { move_shard: move, drop_replica: drop } = body as Record<string, Record<string, number>>
    const {
      shard_id: shard = -1,
      from_peer_id: from = -1,
      to_peer_id: to = -1,
      peer_id: peerId = -1,
    } = move ?? drop ?? {}
    if (move !== undefined) await engine.moveShard(peer, name, { shard, from, to })
    else await engine.dropReplica(peer, name, { shard, peerId })
    return ok(true)
  }
  const found = await engine.collectionShards(peer, name)
  if (found === undefined) return undefined
  const { peerId } = await engine.cluster(peer)
  const shown = found.copies.map((copy) => ({ shard_id: copy.shard, peer_id: copy.peerId, state: copy.state }))
  return ok({
    peer_id: peerId,
    shard_count: new Set(found.copies.map(({ shard }) => shard)).size,
    local_shards: shown.filter(({ peer_id }) => peer_id === peerId).map((shard) => ({ ...shard, points_count: 1 })),
    remote_shards: shown.filter(({ peer_id }) => peer_id !== peerId),
    shard_transfers: found.transfers.map(({ shard, from, to }) => ({ shard_id: shard, from, to, sync: false })),
  })
}
