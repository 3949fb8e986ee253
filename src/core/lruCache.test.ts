import { expect } from 'chai'
import { createLruCache } from './lruCache.ts'

describe('createLruCache', () => {
  it('evicts the least recently used entry', () => {
    const kept = createLruCache<string, number>(2)
    kept.set('a', 1)
    kept.set('b', 2)
    kept.get('a')
    kept.set('c', 3)
    expect([kept.size, kept.get('a'), kept.get('b'), kept.get('c')]).to.deep.equal([2, 1, undefined, 3])
    kept.set('c', 4)
    kept.delete('a')
    kept.set('b', 5)
    expect([kept.size, kept.get('b'), kept.get('c')]).to.deep.equal([2, 5, 4])
  })

  it('allocates memory as entries are added, not for its capacity', () => {
    const before = process.memoryUsage().arrayBuffers
    const all = Array.from({ length: 20 }, () => createLruCache<string, number>(1_000_000))
    expect(all).to.have.length(20)
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(20_000_000)
  })
})
