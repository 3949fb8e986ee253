import { failureGuard, ReasonedError } from '../../core/failure.ts'

/**
 * Calls to a running vector database (Qdrant's HTTP API, tag "Distributed"). Peer ids are below 2^53, so a number holds
 * them.
 */
export interface QdrantPort {
  /** Whether the peer accepts requests (`/readyz`, no key needed). False if it is unreachable. */
  ready(peer: PeerAddress, options?: EngineCall): Promise<boolean>
  /** Returns the cluster as this peer sees it. */
  cluster(peer: PeerAddress, options?: EngineCall): Promise<ClusterView>
  /** Lists the collections that this peer knows. */
  collections(peer: PeerAddress, options?: EngineCall): Promise<readonly string[]>
  /** Returns where the shards of a collection are, as this peer sees it; undefined if the collection is gone. */
  collectionShards(peer: PeerAddress, collection: string, options?: EngineCall): Promise<CollectionShards | undefined>
  /** Returns the approximate number of points in a collection. */
  points(peer: PeerAddress, collection: string, options?: EngineCall): Promise<number>
  /** Starts to move a shard. The move is complete when `collectionShards` shows the new place and no transfer. */
  moveShard(peer: PeerAddress, collection: string, move: ShardMove): Promise<void>
  /** Drops one copy of a shard. Qdrant refuses to drop the last copy. */
  dropReplica(peer: PeerAddress, collection: string, copy: ShardCopy): Promise<void>
  /** Removes a peer from the cluster. Never forced: Qdrant refuses while the peer holds shards. */
  removePeer(peer: PeerAddress, peerId: number): Promise<void>
  /** Lists this peer's snapshots of a collection; none if the collection is gone. */
  snapshots(peer: PeerAddress, collection: string): Promise<readonly EngineSnapshot[]>
  /** Starts a snapshot of this peer's part of a collection, named by Qdrant. Listed by `snapshots` when complete. */
  takeSnapshot(peer: PeerAddress, collection: string): Promise<void>
  /** Succeeds if the snapshot is gone. */
  removeSnapshot(peer: PeerAddress, collection: string, name: string): Promise<void>
}

/** A snapshot file. */
export type EngineSnapshot = { name: string; sizeBytes: number }

export type EngineCall = { signal?: AbortSignal | undefined }

/** One peer: a pod behind the headless Service of its StatefulSet. */
export type PeerAddress = {
  namespace: string
  pod: string
  /** Name of the headless Service. */
  service: string
  /** The cluster of the pod; by default the platform's own. */
  clusterId?: string | undefined
  /** Keys to try in this order: during a rotation some peers still use the old one. Empty if keys are off. */
  keys: readonly string[]
}

export type ClusterView = {
  peerId: number
  peers: readonly { id: number; uri: string }[]
  leader: number | undefined
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

/** Transport to the engine: directly within the cluster, or through the API server from outside. */
export interface EngineTransport {
  /** @throws EngineError Unreachable */
  send(target: PeerAddress & { port: number }, request: EngineRequest): Promise<EngineAnswer>
}

export type EngineRequest = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string
  /** Aborts the request in any state. */
  signal: AbortSignal
}

export type EngineAnswer = { status: number; text: string }

export type EngineErrorReason =
  /** No answer from the engine: the pod is starting or gone, or the network is interrupted. */
  | 'Unreachable'
  | 'Unauthorized'
  /** The engine refused the request. */
  | 'Refused'
  /** The answer has an unknown form. */
  | 'Unexpected'

/** A failed call to an engine. The message is our own, without text of the engine and without keys. */
export class EngineError extends ReasonedError<EngineErrorReason> {
  readonly status: number

  constructor(reason: EngineErrorReason, message: string, status = 0, cause?: unknown) {
    super(reason, message, cause)
    this.status = status
  }
}

export const isEngineError = failureGuard(EngineError)
