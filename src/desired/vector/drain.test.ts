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

describe('emptying a peer of a vector database', () => {
  const cases: [sentence: string, view: DrainView, expected: DrainAction | { kind: 'wait' }][] = [
    ['removes a peer without a copy', view([collection({ copies: active(0, 1) })]), { kind: 'removePeer', peerId: 3 }],
    ['is done when nobody lists the peer and it holds nothing', view([collection()], away), { kind: 'drained' }],
    [
      'moves a copy to the peer with the fewest of the collection',
      view([collection({ copies: [...active(0, 1), ...active(1, 1), ...active(2, 2), ...active(3, 3)] })]),
      { kind: 'move', collection: 'docs', shard: 3, from: 3, to: 2 },
    ],
    [
      'never moves a copy to where one lies',
      view([collection({ copies: active(0, 2, 3) })]),
      { kind: 'move', collection: 'docs', shard: 0, from: 3, to: 1 },
    ],
    [
      'drops a copy that every staying peer has',
      view([collection({ copies: active(0, 1, 2, 3) })]),
      { kind: 'drop', collection: 'docs', shard: 0, peerId: 3 },
    ],
    [
      'drops a dead copy of which another lives',
      view([collection({ copies: [...active(0, 1), { shard: 0, peerId: 3, state: 'Dead' }] })]),
      { kind: 'drop', collection: 'docs', shard: 0, peerId: 3 },
    ],
    [
      'keeps a dead copy that is the only one',
      view([collection({ copies: [{ shard: 0, peerId: 3, state: 'Dead' }] })]),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is Dead and no other peer has an active copy' },
    ],
    [
      'keeps a copy whose twin is dead and has nowhere to go',
      view([collection({ copies: [...active(0, 3), { shard: 0, peerId: 1, state: 'Dead' }] })], { staying: [1] }),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is Active and no other peer has an active copy' },
    ],
    [
      'does not count a copy on another peer that is to leave as well',
      view([collection({ copies: active(0, 3, 9) })], { staying: [] }),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is Active and no other peer has an active copy' },
    ],
    [
      'waits for a transfer from the peer',
      view([collection({ copies: active(0, 3), transfers: [{ shard: 0, from: 3, to: 1 }] })]),
      { kind: 'wait', collection: 'docs', why: 'shard 0 is being moved' },
    ],
    [
      'goes on beside a transfer between others',
      view([collection({ copies: [...active(0, 1), ...active(1, 3)], transfers: [{ shard: 0, from: 1, to: 2 }] })]),
      { kind: 'move', collection: 'docs', shard: 1, from: 3, to: 2 },
    ],
    [
      'keeps a peer that nobody lists but that says it holds a copy: the first peer may have founded a cluster anew',
      view([collection({ hasDataOnLeavingPeer: true })], away),
      { kind: 'wait', collection: 'docs', why: 'the peer holds a copy that the others do not know of' },
    ],
    [
      'empties collection after collection',
      view([collection({ name: 'a', copies: active(0, 1) }), collection({ name: 'b', copies: active(0, 3) })]),
      { kind: 'move', collection: 'b', shard: 0, from: 3, to: 1 },
    ],
  ]
  for (const [sentence, given, expected] of cases) {
    it(sentence, () => expect(nextDrainAction(given)).to.deep.equal(expected))
  }
})
