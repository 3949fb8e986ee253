import { expect } from 'chai'
import { grantKey, grantOf, groupGrantKey } from '../core/sizing/ledger.ts'
import { holderOfCounted, unseenCounted } from './counted.ts'
import { FunctionNamespace, ServerlessFunction } from './functions.ts'
import { COUNTED_KINDS, RESOURCE_KINDS } from './index.ts'
import { VectorCluster } from './vector.ts'

describe('what quotas count', () => {
  it('are resources, and parts that run, each of a resource that says what they take from it', () => {
    const parts = COUNTED_KINDS.filter((kind) => !RESOURCE_KINDS.includes(kind))
    expect(COUNTED_KINDS).to.include.members([...RESOURCE_KINDS])
    expect(parts).to.include(ServerlessFunction)
    const holders = parts.map((kind) => holderOfCounted(kind, 'shop.orders', {})?.kind)
    expect(holders.every((holder) => holder?.sizesParts === true)).to.equal(true)
    expect(COUNTED_KINDS.filter(({ sizesParts }) => sizesParts === true)).to.have.members(holders)
  })

  it('is a function in the namespace that its name says, and nothing that is no part', () => {
    expect(holderOfCounted(ServerlessFunction, 'shop.orders', {})).to.deep.equal({
      kind: FunctionNamespace,
      name: 'shop',
    })
    expect(holderOfCounted(ServerlessFunction, 'orders', {})).to.equal(undefined)
    expect(holderOfCounted(VectorCluster, 'shop.orders', {})).to.equal(undefined)
  })

  it('is, of what was granted a moment ago, no part as a resource, and no group', () => {
    const demand = { cpu: 0n, memory: 0n, storage: 0n, pods: 3 }
    const [function_, vector] = [ServerlessFunction, VectorCluster].map(({ plural }) => grantKey(plural, 'shop', 'a.b'))
    const keys = [function_ ?? '', vector ?? '', groupGrantKey('shop')]
    const grants = Object.fromEntries(keys.map((key) => [key, grantOf(demand, '2026-01-01T00:00:00Z')]))
    const unseen = unseenCounted(grants, () => false, Date.parse('2026-01-01T00:00:01Z'))
    expect(unseen.map(({ key, isPart, demand: { pods } }) => [key, isPart, pods])).to.deep.equal([
      [function_, true, 3],
      [vector, false, 3],
    ])
  })
})
