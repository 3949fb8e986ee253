import { expect } from 'chai'
import { type CollectionView, type DrainAction, type DrainView, nextDrainAction } from './drain.ts'

const collection = (over: Partial<CollectionView> = {}): CollectionView => ({
  name: 'docs',
  copies: [],
  transfers: [],
  hasDataOnLeavingPeer: false,
  ...over,
})
const view = (collections: CollectionView[], over: Partial<DrainView> = {}): DrainView => ({
  leaving: { id: 3, isMember: true },
  staying: [1, 2],
  collections,
  ...over,
})
const active = (shard: number, ...peers: number[]) => peers.map((peerId) => ({ shard, peerId, state: 'Active' }))
const away = { leaving: { id: 3, isMember: false } }

describe('nextDrainAction', () => {
  const cases: [sentence: string, view: DrainView, expected: DrainAction | { kind: 'wait' }][] = [
    ['removes a peer without a copy', view([collection({ copies: active(0, 1) })]), { kind: 'removePeer', peerId: 3 }],
    ['is drained when the peer is not a member and has no data', view([collection()], away), { kind: 'drained' }],
    [
      'moves a copy to the peer with the fewest of the collection',
      view([collection({ copies: [...active(0, 1), ...active(1, 1), ...active(2, 2), ...active(3, 3)] })]),
      { kind: 'move', collection: 'docs', shard: 3, from: 3, to: 2 },
    ],
    [
      'never moves a copy to a peer that has one',
      view([collection({ copies: active(0, 2, 3) })]),
      { kind: 'move', collection: 'docs', shard: 0, from: 3, to: 1 },
    ],
    [
      'drops a copy that every staying peer has',
      view([collection({ copies: active(0, 1, 2, 3) })]),
      { kind: 'drop', collection: 'docs', shard: 0, peerId: 3 },
    ],
    [
      'drops a dead copy if another is active',
      view([collection({ copies: [...active(0, 1), { shard: 0, peerId: 3, state: 'Dead' }] })]),
      { kind: 'drop', collection: 'docs', shard: 0, peerId: 3 },
    ],
    [
      'keeps a dead copy if it is the only one',
      view([collection({ copies: [{ shard: 0, peerId: 3, state: 'Dead' }] })]),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is Dead and no other peer has an active copy' },
    ],
    [
      'keeps the only copy if it is dead, although another peer has an active one of another shard',
      view([collection({ copies: [...active(1, 1), { shard: 0, peerId: 3, state: 'Dead' }] })]),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is Dead and no other peer has an active copy' },
    ],
    [
      'moves a copy to the first of two peers with as many',
      view([collection({ copies: active(0, 3) })], { staying: [2, 1] }),
      { kind: 'move', collection: 'docs', shard: 0, from: 3, to: 1 },
    ],
    [
      'keeps a copy if the other is dead and no peer is free',
      view([collection({ copies: [...active(0, 3), { shard: 0, peerId: 1, state: 'Dead' }] })], { staying: [1] }),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is Active and no other peer has an active copy' },
    ],
    [
      'does not count a copy on another leaving peer',
      view([collection({ copies: active(0, 3, 9) })], { staying: [] }),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is Active and no other peer has an active copy' },
    ],
    [
      'waits for a transfer from the peer',
      view([collection({ copies: active(0, 3), transfers: [{ shard: 0, from: 3, to: 1 }] })]),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is being moved' },
    ],
    [
      'waits for a transfer to the peer',
      view([collection({ copies: active(0, 1), transfers: [{ shard: 0, from: 1, to: 3 }] })]),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is being moved' },
    ],
    [
      'keeps a copy on a peer that the others have but that is not a member',
      view([collection({ copies: active(0, 3) })], away),
      { kind: 'wait', collection: 'docs', why: 'the peer is not a member of the cluster that the others form' },
    ],
    [
      'continues beside a transfer between other peers',
      view([collection({ copies: [...active(0, 1), ...active(1, 3)], transfers: [{ shard: 0, from: 1, to: 2 }] })]),
      { kind: 'move', collection: 'docs', shard: 1, from: 3, to: 2 },
    ],
    [
      'keeps a peer with data that is not a member, because the first peer may have founded a new cluster',
      view([collection({ hasDataOnLeavingPeer: true })], away),
      { kind: 'wait', collection: 'docs', why: 'the peer holds a copy that the others do not know of' },
    ],
    [
      'drains one collection after the other',
      view([collection({ name: 'a', copies: active(0, 1) }), collection({ name: 'b', copies: active(0, 3) })]),
      { kind: 'move', collection: 'b', shard: 0, from: 3, to: 1 },
    ],
  ]
  for (const [sentence, given, expected] of cases) {
    it(sentence, () => expect(nextDrainAction(given)).to.deep.equal(expected))
  }
})
