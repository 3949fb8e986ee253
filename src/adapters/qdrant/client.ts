import { z } from 'zod'
import { VECTOR_KEY_HEADER, VECTOR_PORTS } from '../../contracts/vector.ts'
import { parseForeignJson } from '../../core/tryParseJson.ts'
import {
  type ClusterView,
  type CollectionShards,
  type EngineAnswer,
  type EngineCall,
  EngineError,
  type EngineRequest,
  type EngineTransport,
  type PeerAddress,
  type QdrantPort,
} from './port.ts'

const PeerId = z.int().min(0)

const ClusterAnswer = z.object({
  peer_id: PeerId,
  peers: z.record(z.string().regex(/^[0-9]{1,20}$/), z.object({ uri: z.string().max(2048) })),
  raft_info: z.object({ leader: PeerId.nullish() }),
  consensus_thread_status: z.object({ consensus_thread_status: z.string() }).optional(),
})

const CollectionsAnswer = z.object({ collections: z.array(z.object({ name: z.string().max(512) })) })

const Shard = z.object({ shard_id: z.int().min(0), state: z.string() })
const CollectionClusterAnswer = z.object({
  peer_id: PeerId,
  local_shards: z.array(Shard),
  remote_shards: z.array(Shard.extend({ peer_id: PeerId })),
  shard_transfers: z.array(z.object({ shard_id: z.int().min(0), from: PeerId, to: PeerId })).default([]),
})

const CollectionAnswer = z.object({ points_count: z.int().min(0).nullish() })

const SnapshotsAnswer = z.array(z.object({ name: z.string().max(1024), size: z.int().min(0) }))

const True = z.literal(true)

const Refusal = z.object({ status: z.object({ error: z.string() }) })

/** Whether the engine says that something is missing. A proxy before it answers 404 as well if it finds no pod. */
const isMissing = ({ status, text }: EngineAnswer) =>
  status === 404 && Refusal.safeParse(parseForeignJson(text)).success

export type QdrantClientOptions = {
  /** Milliseconds for a read; 5 s. */
  timeout?: number
}

/** Milliseconds for a change, which waits for the consensus of the peers. */
const CHANGE_TIMEOUT_MS = 20_000

type QdrantCall = { method?: EngineRequest['method']; path: string; body?: object; isCommand?: boolean }

/** Calls Qdrant's HTTP API through any reach. */
export function createQdrantClient(reach: EngineTransport, options: QdrantClientOptions = {}): QdrantPort {
  const calls = engineCalls(reach, options)
  const { send, answer, result } = calls
  return {
    async ready(peer, options = {}) {
      try {
        return (await send(peer, { path: '/readyz' }, undefined, options)).status === 200
      } catch {
        return false
      }
    },

    async cluster(peer, options = {}) {
      return clusterView(await result(peer, { path: '/cluster' }, ClusterAnswer, options))
    },

    async collections(peer, options = {}) {
      const { collections } = await result(peer, { path: '/collections' }, CollectionsAnswer, options)
      return collections.map(({ name }) => name).sort()
    },

    async collectionShards(peer, collection, options = {}) {
      const ask = { path: `/collections/${encodeURIComponent(collection)}/cluster` }
      const reply = await answer(peer, ask, options)
      return isMissing(reply) ? undefined : shards(resultOf(peer, ask, reply, CollectionClusterAnswer))
    },

    async points(peer, collection, options = {}) {
      const ask = { path: `/collections/${encodeURIComponent(collection)}` }
      const reply = await answer(peer, ask, options)
      return isMissing(reply) ? 0 : (resultOf(peer, ask, reply, CollectionAnswer).points_count ?? 0)
    },

    async moveShard(peer, collection, { shard, from, to }) {
      const body = { move_shard: { shard_id: shard, from_peer_id: from, to_peer_id: to } }
      await result(peer, command(`/collections/${encodeURIComponent(collection)}/cluster`, body), True)
    },

    async dropReplica(peer, collection, { shard, peerId }) {
      const body = { drop_replica: { shard_id: shard, peer_id: peerId } }
      await result(peer, command(`/collections/${encodeURIComponent(collection)}/cluster`, body), True)
    },

    async removePeer(peer, peerId) {
      await result(peer, { method: 'DELETE', path: `/cluster/peer/${peerId}`, isCommand: true }, True)
    },

    ...snapshotCalls(calls),
  }
}

function snapshotCalls({
  answer,
  result,
}: ReturnType<typeof engineCalls>): Pick<QdrantPort, 'snapshots' | 'takeSnapshot' | 'removeSnapshot'> {
  return {
    async snapshots(peer, collection) {
      const ask = { path: snapshotsOf(collection) }
      const reply = await answer(peer, ask)
      if (isMissing(reply)) return []
      return resultOf(peer, ask, reply, SnapshotsAnswer).map(({ name, size }) => ({ name, sizeBytes: size }))
    },

    async takeSnapshot(peer, collection) {
      // Waiting for a large snapshot would take longer than the request may.
      const ask: QdrantCall = { method: 'POST', path: `${snapshotsOf(collection)}?wait=false`, isCommand: true }
      await result(peer, ask, z.unknown().optional())
    },

    async removeSnapshot(peer, collection, name) {
      const path = `${snapshotsOf(collection)}/${encodeURIComponent(name)}`
      const ask: QdrantCall = { method: 'DELETE', path, isCommand: true }
      const reply = await answer(peer, ask)
      if (!isMissing(reply)) resultOf(peer, ask, reply, True)
    },
  }
}

/** Returns three layers of calls: a single request, one that tries the keys in turn, and one that parses the result. */
function engineCalls(reach: EngineTransport, { timeout = 5_000 }: QdrantClientOptions) {
  async function send(
    peer: PeerAddress,
    ask: QdrantCall,
    key: string | undefined,
    options: EngineCall,
  ): Promise<EngineAnswer> {
    const deadline = AbortSignal.timeout(ask.isCommand === true ? CHANGE_TIMEOUT_MS : timeout)
    const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline])
    return reach.send(
      { ...peer, port: VECTOR_PORTS.rest },
      {
        method: ask.method ?? 'GET',
        path: ask.path,
        headers: {
          accept: 'application/json',
          ...(key === undefined ? {} : { [VECTOR_KEY_HEADER]: key }),
          ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
        signal,
      },
    )
  }

  /** Tries the keys in turn. Only a refused key leads to the next, so that no change is sent twice. */
  async function answer(peer: PeerAddress, ask: QdrantCall, options: EngineCall = {}): Promise<EngineAnswer> {
    let last: EngineAnswer | undefined
    for (const key of peer.keys.length === 0 ? [undefined] : peer.keys) {
      last = await send(peer, ask, key, options)
      if (last.status !== 401 && last.status !== 403) return last
    }
    throw new EngineError('Unauthorized', `Peer "${peer.namespace}/${peer.pod}" does not accept our key.`, last?.status)
  }

  async function result<T>(peer: PeerAddress, ask: QdrantCall, schema: z.ZodType<T>, options?: EngineCall): Promise<T> {
    return resultOf(peer, ask, await answer(peer, ask, options), schema)
  }

  return { send, answer, result }
}

const snapshotsOf = (collection: string) => `/collections/${encodeURIComponent(collection)}/snapshots`

function command(path: string, body: object): QdrantCall {
  return { method: 'POST', path, body, isCommand: true }
}

function resultOf<T>(peer: PeerAddress, ask: QdrantCall, { status, text }: EngineAnswer, schema: z.ZodType<T>): T {
  const what = `${ask.method ?? 'GET'} ${ask.path} at peer "${peer.namespace}/${peer.pod}"`
  if (status >= 400 && status < 500)
    throw new EngineError('Refused', `The engine refused ${what} (HTTP ${status}).`, status)
  // Qdrant answers 500 if something is impossible now, such as a change without a majority.
  if (status >= 500) throw new EngineError('Refused', `The engine failed at ${what} (HTTP ${status}).`, status)
  const parsed = z.object({ result: schema }).safeParse(parseForeignJson(text))
  if (!parsed.success)
    throw new EngineError('Unexpected', `The answer of the engine to ${what} has an unexpected form.`, status)
  return parsed.data.result
}

function clusterView(answer: z.output<typeof ClusterAnswer>): ClusterView {
  return {
    peerId: answer.peer_id,
    peers: Object.entries(answer.peers)
      .map(([id, { uri }]) => ({ id: Number(id), uri }))
      .sort((a, b) => a.uri.localeCompare(b.uri)),
    leader: answer.raft_info.leader ?? undefined,
    consensusWorking: (answer.consensus_thread_status?.consensus_thread_status ?? 'working') === 'working',
  }
}

function shards(answer: z.output<typeof CollectionClusterAnswer>): CollectionShards {
  const local = answer.local_shards.map((shard) => ({ ...shard, peer_id: answer.peer_id }))
  return {
    copies: [...local, ...answer.remote_shards]
      .map(({ shard_id, peer_id, state }) => ({ shard: shard_id, peerId: peer_id, state }))
      .sort((a, b) => a.shard - b.shard || a.peerId - b.peerId),
    transfers: answer.shard_transfers.map(({ shard_id, from, to }) => ({ shard: shard_id, from, to })),
  }
}
