import type { ClusterView, PeerAddress, QdrantPort } from './port.ts'

/**
 * Stands in for Qdrant where pods are simulated and nothing listens in them: each peer answers as a healthy single-node
 * cluster without collections. Nothing can be stored there, so emptying a peer loses nothing.
 */
export function simulatedEngine(): QdrantPort {
  return {
    ready: async () => true,
    cluster: async (peer) => alone(peer),
    collections: async () => [],
    collectionShards: async () => undefined,
    points: async () => 0,
    moveShard: async () => {},
    dropReplica: async () => {},
    removePeer: async () => {},
    snapshots: async () => [],
    takeSnapshot: async () => {},
    removeSnapshot: async () => {},
  }
}

function alone({ pod, service }: PeerAddress): ClusterView {
  const peerId = Number(pod.slice(pod.lastIndexOf('-') + 1)) + 1
  const uri = `http://${pod}.${service}:6335/`
  return { peerId, peers: [{ id: peerId, uri }], leader: peerId, consensusWorking: true }
}
