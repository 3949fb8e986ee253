/** A shard replica as the engine reports it. */
export type ShardReplica = { shard: number; peerId: number; state: string }
export type Transfer = { shard: number; from: number; to: number }

/** The engine's view of one collection, from both sides: a peer that lost contact sees another cluster. */
export type CollectionView = {
  name: string
  /** Replicas and transfers as the remaining peers report them. */
  copies: readonly ShardReplica[]
  transfers: readonly Transfer[]
  /** Whether the leaving peer itself reports a replica. */
  hasDataOnLeavingPeer: boolean
}

export type DrainView = {
  leaving: { id: number; isMember: boolean }
  /** Ids of the remaining peers. */
  staying: readonly number[]
  collections: readonly CollectionView[]
}

export type DrainAction =
  | { kind: 'move'; collection: string; shard: number; from: number; to: number }
  | { kind: 'drop'; collection: string; shard: number; peerId: number }
  | { kind: 'removePeer'; peerId: number }
  | { kind: 'wait'; collection: string; why: string }
  /** The peer holds nothing any more: its volume may be deleted. */
  | { kind: 'drained' }

/**
 * Returns the next action for removing a peer without losing a replica. One action at a time, because moves compete
 * with requests for disk and network.
 *
 * A peer counts as drained only if the other peers do not list it and it reports holding nothing. One of the two is not
 * enough: a first peer that lost its volume founds a new cluster, and then lists nobody.
 */
export function nextDrainAction(view: DrainView): DrainAction {
  for (const collection of view.collections) {
    const action = collectionAction(collection, view)
    if (action !== undefined) return action
  }
  return view.leaving.isMember ? { kind: 'removePeer', peerId: view.leaving.id } : { kind: 'drained' }
}

function collectionAction(collection: CollectionView, { leaving, staying }: DrainView): DrainAction | undefined {
  const { name, copies, transfers } = collection
  const wait = (why: string): DrainAction => ({ kind: 'wait', collection: name, why })
  const transfer = transfers.find(({ from, to }) => from === leaving.id || to === leaving.id)
  if (transfer !== undefined) return wait(`shard ${transfer.shard} is being moved`)
  const copy = copies.find(({ peerId }) => peerId === leaving.id)
  if (copy === undefined) {
    return collection.hasDataOnLeavingPeer ? wait('the peer holds a copy that the others do not know of') : undefined
  }
  if (!leaving.isMember) return wait('the peer is not a member of the cluster that the others form')
  const others = copies.filter(({ shard, peerId }) => shard === copy.shard && staying.includes(peerId))
  const target = leastLoadedPeer(staying, copies, copy.shard)
  if (copy.state === 'Active' && target !== undefined) {
    return { kind: 'move', collection: name, shard: copy.shard, from: leaving.id, to: target }
  }
  if (others.some(({ state }) => state === 'Active')) {
    return { kind: 'drop', collection: name, shard: copy.shard, peerId: leaving.id }
  }
  return wait(`shard ${copy.shard} is ${copy.state} and no other peer has an active copy`)
}

/** Returns the staying peer with the fewest replicas of the collection and none of the shard; ties: lowest id. */
function leastLoadedPeer(
  staying: readonly number[],
  copies: readonly ShardReplica[],
  shard: number,
): number | undefined {
  const load = (id: number) => copies.filter(({ peerId }) => peerId === id).length
  return staying
    .filter((id) => !copies.some((copy) => copy.shard === shard && copy.peerId === id))
    .sort((a, b) => load(a) - load(b) || a - b)[0]
}
