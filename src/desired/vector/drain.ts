/** A shard copy as the engine shows it. */
export type Copy = { shard: number; peerId: number; state: string }
export type Transfer = { shard: number; from: number; to: number }

/** What the engine says about one collection; both views, because a peer that lost its way sees another cluster. */
export type CollectionView = {
  name: string
  /** Copies and transfers as the staying peers know them. */
  copies: readonly Copy[]
  transfers: readonly Transfer[]
  /** Whether the leaving peer itself says that it holds a copy. */
  heldByLeaving: boolean
}

export type DrainView = {
  leaving: { id: number; isMember: boolean }
  /** Ids of the peers that stay. */
  staying: readonly number[]
  collections: readonly CollectionView[]
}

export type DrainAction =
  | { kind: 'move'; collection: string; shard: number; from: number; to: number }
  | { kind: 'drop'; collection: string; shard: number; peerId: number }
  | { kind: 'removePeer'; peerId: number }
  | { kind: 'wait'; collection: string; why: string }
  /** Nothing of the peer is left: its volume may go. */
  | { kind: 'drained' }

/**
 * The next thing to do so that a peer may be taken away without losing a copy. One thing at a time: moves compete for
 * the same disks and network that serve requests.
 *
 * A peer counts as drained only if the others do not list it and it says itself that it holds nothing. One of the two
 * is not enough: a first peer that lost its volume founds a cluster anew, and then lists nobody.
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
    return collection.heldByLeaving ? wait('the peer holds a copy that the others do not know of') : undefined
  }
  if (!leaving.isMember) return wait('the peer is not a member of the cluster that the others form')
  const others = copies.filter(({ shard, peerId }) => shard === copy.shard && staying.includes(peerId))
  const target = emptiest(staying, copies, copy.shard)
  if (copy.state === 'Active' && target !== undefined) {
    return { kind: 'move', collection: name, shard: copy.shard, from: leaving.id, to: target }
  }
  if (others.some(({ state }) => state === 'Active')) {
    return { kind: 'drop', collection: name, shard: copy.shard, peerId: leaving.id }
  }
  return wait(`shard ${copy.shard} is ${copy.state} and no other peer has an active copy`)
}

/** The staying peer with the fewest copies of this collection that has none of this shard; the lowest id on a tie. */
function emptiest(staying: readonly number[], copies: readonly Copy[], shard: number): number | undefined {
  const load = (id: number) => copies.filter(({ peerId }) => peerId === id).length
  return staying
    .filter((id) => !copies.some((copy) => copy.shard === shard && copy.peerId === id))
    .sort((a, b) => load(a) - load(b) || a - b)[0]
}
