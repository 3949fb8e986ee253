import { expect } from 'chai'
import { grantKey, grantOf, groupGrantKey } from '../core/sizing/ledger.ts'
import type { AnyKind } from './define.ts'
import { ServerlessFunction } from './functions.ts'
import { QUOTA_COUNTED_KINDS, RESOURCE_KINDS } from './index.ts'
import { holderOfCounted, unseenCounted } from './quotaUsers.ts'
import { VectorCluster } from './vector.ts'

const wordOf = (kind: AnyKind | undefined) => kind?.kind

describe('QUOTA_COUNTED_KINDS, holderOfCounted and unseenCounted', () => {
  it('contain all resources and their parts, whose holders set sizesParts', () => {
    const kinds = QUOTA_COUNTED_KINDS.map(wordOf)
    expect(kinds).to.include.members(RESOURCE_KINDS.map(wordOf))
    const parts = QUOTA_COUNTED_KINDS.filter((kind) => !RESOURCE_KINDS.includes(kind))
    expect(parts.map(wordOf)).to.include(ServerlessFunction.kind)
    const holders = parts.map((kind) => holderOfCounted(kind, { name: 'shop.orders' }, {})?.kind)
    const saying = QUOTA_COUNTED_KINDS.filter(({ sizesParts }) => sizesParts === true)
    expect(saying.map(wordOf)).to.have.members(holders.map(wordOf))
  })

  const holders: [sentence: string, kind: AnyKind, name: string, expected: string | undefined][] = [
    ["return the function namespace in a function's name", ServerlessFunction, 'shop.orders', 'FunctionNamespace shop'],
    ['return undefined for a function name without a namespace', ServerlessFunction, 'orders', undefined],
    ['return undefined for a kind that is not a part', VectorCluster, 'shop.orders', undefined],
  ]
  for (const [sentence, kind, name, expected] of holders)
    it(sentence, () => {
      const found = holderOfCounted(kind, { name }, {})
      expect(found && `${found.kind.kind} ${found.name}`).to.equal(expected)
    })

  it('mark granted parts as parts and omit groups', () => {
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
