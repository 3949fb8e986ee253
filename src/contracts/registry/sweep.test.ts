import { expect } from 'chai'
import { planSweep, type SweepBounds, type SweepInventory } from './sweep.ts'

const [OLD, NEW, BEFORE] = [100, 300, 200]
const blob = (digest: string, changedAt = OLD) => ({ digest, changedAt, sizeBytes: 10 })
const repository = (name: string, manifests: Record<string, string[]>, ...layers: ReturnType<typeof blob>[]) => ({
  name,
  manifests: Object.entries(manifests).map(([digest, references]) => ({ digest, references })),
  layers,
})

describe('planSweep', () => {
  const cases: [string, SweepInventory, Partial<SweepBounds>, layers: string[], blobs: string[]][] = [
    [
      'keeps manifests and what they refer to',
      { repositories: [repository('a', { m: ['l'] }, blob('m'), blob('l'))], blobs: [blob('m'), blob('l')] },
      {},
      [],
      [],
    ],
    [
      'removes the link and the data of a layer that no manifest needs',
      { repositories: [repository('a', { m: [] }, blob('l'))], blobs: [blob('m'), blob('l')] },
      {},
      ['a l'],
      ['l'],
    ],
    [
      'keeps the data of a layer that another repository needs',
      { repositories: [repository('a', {}, blob('l')), repository('b', { m: ['l'] })], blobs: [blob('m'), blob('l')] },
      {},
      ['a l'],
      [],
    ],
    [
      'keeps an old layer of a repository that somebody may push to',
      { repositories: [repository('a', {}, blob('l'))], blobs: [blob('l')] },
      { busy: new Set(['a']) },
      [],
      [],
    ],
    [
      'keeps old data that was linked recently, as by a pusher that did not send it',
      { repositories: [repository('a', {}, blob('l', NEW))], blobs: [blob('l')] },
      {},
      [],
      [],
    ],
    ['keeps recent data that nothing refers to yet', { repositories: [], blobs: [blob('l', NEW)] }, {}, [], []],
    [
      'keeps what changed at the bound',
      { repositories: [repository('a', {}, blob('l', BEFORE))], blobs: [blob('l'), blob('x', BEFORE)] },
      {},
      [],
      [],
    ],
  ]
  for (const [sentence, inventory, bounds, layers, blobs] of cases)
    it(sentence, () => {
      const plan = planSweep(inventory, { busy: new Set(), before: BEFORE, ...bounds })
      expect(plan.layers.map(({ repository, digest }) => `${repository} ${digest}`)).to.deep.equal(layers)
      expect([plan.blobs, plan.freedBytes]).to.deep.equal([blobs, 10 * blobs.length])
    })
})
