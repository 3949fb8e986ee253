import { VECTOR_PORTS } from '../../contracts/vector.ts'
import {
  EngineError,
  type EngineSnapshot,
  type PeerAddress,
  type QdrantPort,
  type ShardCopy,
  type ShardMove,
} from './port.ts'

type FakePeer = { id: number; uri: string; reachable: boolean; member: boolean; accepted: readonly string[] }
type FakeShard = { copies: Map<number, string> }
type FakeCollection = { points: number; shards: FakeShard[]; transfers: ShardMove[] }

/** A cluster in memory that enforces Qdrant's rules for shards and peers. */
export class FakeQdrant implements QdrantPort {
  readonly peers = new Map<string, FakePeer>()
  readonly contents = new Map<string, FakeCollection>()
  /** All accepted changes, for assertions. */
  readonly orders: string[] = []
  /** Snapshots on the peers' volumes, by pod and collection. */
  readonly #snapshots = new Map<string, EngineSnapshot[]>()
  #begun: (() => void)[] = []
  #snapshotCount = 0
  /** If false, moves and snapshots stay in progress until `settle`. */
  settles = true

  /** Adds a peer, or brings it back, under the name of its pod. Without keys, no key is required. */
  join(pod: string, service: string, accepted: readonly string[] = []): number {
    const id = this.peers.get(pod)?.id ?? 100 + this.peers.size
    this.peers.set(pod, {
      id,
      uri: `http://${pod}.${service}:${VECTOR_PORTS.peer}/`,
      reachable: true,
      member: true,
      accepted,
    })
    return id
  }

  /** Creates a collection with its shards on the peers of these pods, one list per shard. */
  fill(collection: string, points: number, placement: readonly (readonly string[])[]): void {
    const shards = placement.map((pods) => ({
      copies: new Map(pods.map((pod) => [this.#requirePeer(pod).id, 'Active'])),
    }))
    this.contents.set(collection, { points, shards, transfers: [] })
  }

  settle(): void {
    for (const end of this.#begun.splice(0)) end()
    for (const collection of this.contents.values()) {
      for (const { shard, from, to } of collection.transfers) {
        collection.shards[shard]?.copies.delete(from)
        collection.shards[shard]?.copies.set(to, 'Active')
      }
      collection.transfers = []
    }
  }

  /** The place of each stored snapshot, by pod and collection, for assertions. */
  get stored(): string[] {
    return [...this.#snapshots].flatMap(([place, all]) => all.map(() => place)).sort()
  }

  /** The pods that hold a shard of the collection, for assertions. */
  holders(collection: string): string[][] {
    const name = (id: number) => [...this.peers].find(([, peer]) => peer.id === id)?.[0] ?? `peer ${id}`
    return (this.contents.get(collection)?.shards ?? []).map(({ copies }) => [...copies.keys()].map(name).sort())
  }

  async ready(peer: PeerAddress): Promise<boolean> {
    return this.peers.get(peer.pod)?.reachable === true
  }

  async cluster(peer: PeerAddress) {
    const self = this.#requireReachablePeer(peer)
    const members = [...this.peers.values()].filter(({ member }) => member)
    return {
      peerId: self.id,
      peers: members.map(({ id, uri }) => ({ id, uri })).sort((a, b) => a.uri.localeCompare(b.uri)),
      leader: members[0]?.id,
      consensusWorking: self.member,
    }
  }

  async collections(peer: PeerAddress): Promise<readonly string[]> {
    this.#requireReachablePeer(peer)
    return [...this.contents.keys()].sort()
  }

  async collectionShards(peer: PeerAddress, collection: string) {
    this.#requireReachablePeer(peer)
    const found = this.contents.get(collection)
    if (found === undefined) return undefined
    const copies = found.shards.flatMap(({ copies: places }, shard) =>
      [...places].map(([peerId, state]) => ({ shard, peerId, state })),
    )
    return {
      copies: copies.sort((a, b) => a.shard - b.shard || a.peerId - b.peerId),
      transfers: found.transfers.map((transfer) => ({ ...transfer })),
    }
  }

  async points(peer: PeerAddress, collection: string): Promise<number> {
    this.#requireReachablePeer(peer)
    return this.contents.get(collection)?.points ?? 0
  }

  async moveShard(peer: PeerAddress, collection: string, move: ShardMove): Promise<void> {
    this.#requireReachablePeer(peer)
    const { shards, transfers } = this.#requireCollection(collection)
    const copies = shards[move.shard]?.copies
    if (copies?.get(move.from) !== 'Active') throw refused('there is no such copy to move')
    if (copies.has(move.to)) throw refused('the target holds a copy already')
    if (![...this.peers.values()].some(({ id, member }) => member && id === move.to)) throw refused('no such peer')
    this.orders.push(`move ${collection}/${move.shard} ${move.from}>${move.to}`)
    transfers.push({ ...move })
    if (this.settles) this.settle()
  }

  async dropReplica(peer: PeerAddress, collection: string, { shard, peerId }: ShardCopy): Promise<void> {
    this.#requireReachablePeer(peer)
    const copies = this.#requireCollection(collection).shards[shard]?.copies
    if (copies?.has(peerId) !== true) throw refused('there is no such copy')
    if (![...copies].some(([id, state]) => id !== peerId && state === 'Active')) throw refused('it is the last copy')
    this.orders.push(`drop ${collection}/${shard} ${peerId}`)
    copies.delete(peerId)
  }

  async removePeer(peer: PeerAddress, peerId: number): Promise<void> {
    this.#requireReachablePeer(peer)
    const leaving = [...this.peers.values()].find(({ id, member }) => member && id === peerId)
    if (leaving === undefined) throw refused('no such peer')
    for (const { shards } of this.contents.values()) {
      if (shards.some(({ copies }) => copies.has(peerId))) throw refused('there are shards on the peer')
    }
    this.orders.push(`remove ${peerId}`)
    leaving.member = false
  }

  async snapshots(peer: PeerAddress, collection: string): Promise<readonly EngineSnapshot[]> {
    this.#requireReachablePeer(peer)
    return [...(this.#snapshots.get(`${peer.pod}/${collection}`) ?? [])]
  }

  async takeSnapshot(peer: PeerAddress, collection: string): Promise<void> {
    const { id } = this.#requireReachablePeer(peer)
    const { points } = this.#requireCollection(collection)
    this.orders.push(`snapshot ${collection} ${id}`)
    this.#snapshotCount += 1
    const made = { name: `${collection}-${id}-${this.#snapshotCount}.snapshot`, sizeBytes: points * 100 }
    const place = `${peer.pod}/${collection}`
    this.#begun.push(() => this.#snapshots.set(place, [...(this.#snapshots.get(place) ?? []), made]))
    if (this.settles) this.settle()
  }

  async removeSnapshot(peer: PeerAddress, collection: string, name: string): Promise<void> {
    this.#requireReachablePeer(peer)
    const place = `${peer.pod}/${collection}`
    const left = (this.#snapshots.get(place) ?? []).filter((one) => one.name !== name)
    this.#snapshots.set(place, left)
  }

  #requirePeer(pod: string): FakePeer {
    const peer = this.peers.get(pod)
    if (peer === undefined) throw new RangeError(`No peer ${pod} has joined.`)
    return peer
  }

  #requireCollection(collection: string): FakeCollection {
    const found = this.contents.get(collection)
    if (found === undefined) throw new EngineError('Refused', 'The engine knows no such collection.', 404)
    return found
  }

  #requireReachablePeer(address: PeerAddress): FakePeer {
    const peer = this.peers.get(address.pod)
    if (peer?.reachable !== true) throw new EngineError('Unreachable', `Peer "${address.pod}" does not answer.`)
    if (peer.accepted.length > 0 && !address.keys.some((key) => peer.accepted.includes(key))) {
      throw new EngineError('Unauthorized', `Peer "${address.pod}" does not accept our key.`, 401)
    }
    return peer
  }
}

function refused(why: string): EngineError {
  return new EngineError('Refused', `The engine refused: ${why}.`, 400)
}
