import { expect } from 'chai'
import type { Catalogue, Column, Table } from '../../editor/catalogue.ts'
import { CatalogueCache } from './catalogueCache.ts'

const catalogue = (columns: number): Catalogue => {
  const column = { name: 'id', fullType: 'integer', defaultExpression: 'x'.repeat(700) } as Column
  const table = { name: 'orders', columns: Array(columns).fill(column), foreignKeys: [] } as unknown as Table
  return { database: 'shop', schemas: [{ name: 'public', tables: [table], views: [] }] }
}

describe('CatalogueCache', () => {
  let reads: string[]
  const takeFrom = (cache: CatalogueCache) => (key: string, columns: number) =>
    cache.take(key, async () => {
      reads.push(key)
      return catalogue(columns)
    })
  beforeEach(() => {
    reads = []
  })

  it('reads a catalogue once for callers at once and soon after, and again after a change', async () => {
    const cache = new CatalogueCache()
    const take = takeFrom(cache)
    await Promise.all([take('a', 1), take('a', 1)])
    await take('a', 1)
    expect(reads).to.deep.equal(['a'])
    cache.clear()
    await take('a', 1)
    expect(reads).to.deep.equal(['a', 'a'])
  })

  it('does not cache what was read before a change', async () => {
    const cache = new CatalogueCache()
    const old = Promise.withResolvers<Catalogue>()
    const taken = cache.take('a', () => old.promise)
    cache.clear()
    old.resolve(catalogue(1))
    await taken
    await takeFrom(cache)('a', 1)
    expect(reads).to.deep.equal(['a'])
  })

  it('keeps no more than its room, however large the catalogues of tenants are', async () => {
    const cache = new CatalogueCache(100_000)
    const take = takeFrom(cache)
    for (let at = 0; at < 20; at += 1) await take(`large-${at}`, 40)
    await take('too-large', 1_000)
    reads = []
    for (let at = 0; at < 20; at += 1) await take(`large-${at}`, 40)
    await take('too-large', 1_000)
    expect(reads.length).to.be.above(17)
  })

  it('does not cache failures', async () => {
    const cache = new CatalogueCache()
    const failed = await cache.take('a', () => Promise.reject(new Error('away'))).catch(({ message }) => message)
    await takeFrom(cache)('a', 1)
    expect([failed, reads]).to.deep.equal(['away', ['a']])
  })
})
