import { expect } from 'chai'
import { SeededRandom } from '../make/random.ts'
import { deathsOf, type Write } from './life.ts'
import { kindOf, sampleOf } from './sample.ts'

describe('sampleOf', () => {
  const write = (by: string, what: string): Write => ({ by, what, moment: 0, isAmongOthers: true })
  const writes = [
    ...['a', 'b', 'c', 'd'].map((name) => write('vectorcluster', `apply secrets shop/${name}`)),
    write('vectorcluster', 'remove secrets shop/a'),
    write('sqlinstance', 'apply secrets shop/e'),
    write('vectorcluster', 'mergePatch vectorclusters.data.freehold.dev shop/products'),
    write('vectorcluster', 'mergePatch vectorclusters.data.freehold.dev shop/products status'),
    write('vectorcluster', 'moveShard docs/0'),
  ]
  const sampled = (seed: number) => sampleOf(deathsOf(writes), writes, new SeededRandom(seed))

  it('returns one crash point for each kind of write, in order', () => {
    const places = sampled(1).map(({ at }) => at)
    expect(places).to.deep.equal(places.toSorted((one, other) => one - other))
    const kinds = places.map((at) => kindOf(writes[at - 1] as Write))
    expect(kinds).to.have.members([...new Set(writes.map(kindOf))])
    expect(kinds).to.have.length(6)
  })

  it('returns the same for the same seed, and every crash point over many seeds', () => {
    expect(sampled(7)).to.deep.equal(sampled(7))
    const seen = new Set(
      Array.from({ length: 200 }, (_, seed) => sampled(seed).map((death) => JSON.stringify(death))).flat(),
    )
    expect(seen.size).to.equal(deathsOf(writes).length)
  })
})
