/**
 * What the platform asks of a running vector database (Qdrant's HTTP API, tag "Distributed"). Ids of peers are below
 * 2^53, so a number holds them.
 */
export interface QdrantPort {
  /** Whether the peer takes requests (`/readyz`, no key needed). Unreachable is false, not an error. */
  ready(peer: PeerAddress, options?: EngineCall): Promise<boolean>
  /** The cluster as this peer knows it. */
  cluster(peer: PeerAddress, options?: EngineCall): Promise<ClusterView>
  /** Names of the collections that this peer knows. */
  collections(peer: PeerAddress, options?: EngineCall): Promise<readonly string[]>
  /** Where the shards of a collection lie, as this peer knows it. Undefined if the collection is gone. */
  collectionShards(peer: PeerAddress, collection: string, options?: EngineCall): Promise<CollectionShards | undefined>
  /** Points of a collection, approximately. */
  points(peer: PeerAddress, collection: string, options?: EngineCall): Promise<number>
  /** Begins to move a shard; it is done when `collectionShards` shows no transfer and the new place. */
  moveShard(peer: PeerAddress, collection: string, move: ShardMove, options?: EngineCall): Promise<void>
  /** Gives up one copy of a shard. The engine refuses it for the last copy. */
  dropReplica(peer: PeerAddress, collection: string, copy: ShardCopy, options?: EngineCall): Promise<void>
  /** Takes a peer out of the cluster. Never forced: the engine refuses while shards lie on it. */
  removePeer(peer: PeerAddress, peerId: number, options?: EngineCall): Promise<void>
  /** What lies on the volume of this peer of a collection; nothing if the collection is gone. */
  snapshots(peer: PeerAddress, collection: string, options?: EngineCall): Promise<readonly EngineSnapshot[]>
  /** Begins one of what this peer has of a collection; it is among `snapshots` once it is complete. The engine names it. */
  takeSnapshot(peer: PeerAddress, collection: string, options?: EngineCall): Promise<void>
  /** Also where it is gone already. */
  removeSnapshot(peer: PeerAddress, collection: string, name: string, options?: EngineCall): Promise<void>
}

/** A file that the engine made. */
export type EngineSnapshot = { name: string; sizeBytes: number }

export type EngineCall = { signal?: AbortSignal | undefined }

/** One peer: a pod behind the headless Service of its StatefulSet. */
export type PeerAddress = {
  namespace: string
  pod: string
  /** Name of the headless Service. */
  service: string
  /** The cluster that it runs on; the platform's own if undefined. */
  clusterId?: string | undefined
  /** Keys to try in this order: in a rotation some peers still hold the old one. Empty if keys are off. */
  keys: readonly string[]
}

export type ClusterView = {
  peerId: number
  peers: readonly { id: number; uri: string }[]
  leader: number | undefined
  pendingOperations: number
  /** False if the consensus thread of the peer stopped, as it does once the peer was removed. */
  consensusWorking: boolean
}

export type ShardState = 'Active' | 'Dead' | 'Partial' | 'Initializing' | 'Listener' | 'Recovery' | (string & {})

export type CollectionShards = {
  copies: readonly { shard: number; peerId: number; state: ShardState }[]
  transfers: readonly { shard: number; from: number; to: number }[]
}

export type ShardMove = { shard: number; from: number; to: number }
export type ShardCopy = { shard: number; peerId: number }

/** How the bytes get there: directly inside the cluster, or through the API server from outside. */
export interface EngineReach {
  /** @throws EngineError Unreachable */
  send(target: PeerAddress & { port: number }, request: EngineRequest): Promise<EngineAnswer>
}

export type EngineRequest = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string
  /** Ends the request whatever its state. */
  signal: AbortSignal
}

export type EngineAnswer = { status: number; text: string }

export type EngineErrorReason =
  /** No answer, or none of the engine: the pod is starting, gone, or the network is cut. */
  | 'Unreachable'
  /** None of the keys was accepted. */
  | 'Unauthorized'
  /** The engine understood and said no. */
  | 'Refused'
  /** An answer of a shape that we do not know. */
  | 'Unexpected'

/** A call to an engine that failed. The message is ours: it holds no text of the engine and no key. */
export class EngineError extends Error {
  readonly reason: EngineErrorReason
  readonly status: number

  constructor(reason: EngineErrorReason, message: string, status = 0, options?: { cause: unknown }) {
    super(message, options)
    this.name = 'EngineError'
    this.reason = reason
    this.status = status
  }
}

export function isEngineError(thrown: unknown, ...reasons: EngineErrorReason[]): thrown is EngineError {
  return thrown instanceof EngineError && (reasons.length === 0 || reasons.includes(thrown.reason))
}
