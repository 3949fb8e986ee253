import type { PeerAddress, QdrantPort } from './port.ts'

/** Speaks to each peer in the way of its cluster. */
export function byCluster(own: QdrantPort, other: (clusterId: string) => QdrantPort): QdrantPort {
  const at = ({ clusterId }: PeerAddress) => (clusterId === undefined ? own : other(clusterId))
  return {
    ready: (peer, ...more) => at(peer).ready(peer, ...more),
    cluster: (peer, ...more) => at(peer).cluster(peer, ...more),
    collections: (peer, ...more) => at(peer).collections(peer, ...more),
    collectionShards: (peer, ...more) => at(peer).collectionShards(peer, ...more),
    points: (peer, ...more) => at(peer).points(peer, ...more),
    moveShard: (peer, ...more) => at(peer).moveShard(peer, ...more),
    dropReplica: (peer, ...more) => at(peer).dropReplica(peer, ...more),
    removePeer: (peer, ...more) => at(peer).removePeer(peer, ...more),
    snapshots: (peer, ...more) => at(peer).snapshots(peer, ...more),
    takeSnapshot: (peer, ...more) => at(peer).takeSnapshot(peer, ...more),
    removeSnapshot: (peer, ...more) => at(peer).removeSnapshot(peer, ...more),
  }
}
