import { expect } from 'chai'
import { parseQuantity } from '../quantity.ts'
import type { Demand } from './demand.ts'
import {
  coversDemand,
  demandOfGrant,
  expiredGrants,
  grantKey,
  grantOf,
  groupGrantKey,
  groupOfGrant,
  isGroupGrant,
  pluralOfGrant,
  type QuotaGrants,
  remainingDemand,
  type SeenUser,
  unseenUsers,
  usersAgainst,
} from './ledger.ts'

const AT = '2026-01-01T00:00:00Z'
const NOW = Date.parse(AT)
const demand = (cpu: string, memory: string, storage: string, pods: number): Demand => ({
  ...{ cpu: parseQuantity(cpu), memory: parseQuantity(memory), storage: parseQuantity(storage), pods },
})
const SOME = demand('1500m', '1Gi', '5Gi', 2)

describe('grants of a quota', () => {
  it('hold what was granted, in the words of Kubernetes', () => {
    expect(grantOf(SOME, AT)).to.deep.equal({ cpu: '1500m', memory: '1Gi', storage: '5Gi', pods: 2, at: AT })
    expect(demandOfGrant(grantOf(SOME, AT))).to.deep.equal(SOME)
    expect(demandOfGrant(grantOf(undefined, AT))).to.deep.equal(demand('0', '0', '0', 0))
  })

  it('have keys that tell kind, group and name apart', () => {
    const key = grantKey('vectorclusters', 'shop', 'orders')
    expect(key).to.not.equal(grantKey('vectorclusters', 'shop', 'sales'))
    expect([pluralOfGrant(key), groupOfGrant(key), isGroupGrant(key)]).to.deep.equal(['vectorclusters', 'shop', false])
    expect(isGroupGrant(groupGrantKey('shop'))).to.equal(true)
  })

  const more: [string, Demand, boolean][] = [
    ['the same', SOME, true],
    ['more cpu', demand('1501m', '1Gi', '5Gi', 2), false],
    ['more memory', demand('1500m', '1025Mi', '5Gi', 2), false],
    ['more storage', demand('1500m', '1Gi', '6Gi', 2), false],
    ['another pod', demand('1500m', '1Gi', '5Gi', 3), false],
    ['less of everything', demand('0', '0', '0', 0), true],
  ]
  for (const [what, wanted, expected] of more)
    it(`${expected ? 'cover' : 'do not cover'} ${what}`, () => expect(coversDemand(SOME, wanted)).to.equal(expected))

  it('are reduced to what is used, but keep the storage of stopped pods', () => {
    const less = demand('1', '2Gi', '1Gi', 1)
    expect(remainingDemand(less, SOME)).to.deep.equal(demand('1', '1Gi', '1Gi', 1))
    expect(remainingDemand(demand('0', '0', '0', 0), SOME)).to.deep.equal(demand('0', '0', '5Gi', 0))
  })

  it('count unseen for 30 seconds, and expire after that unless they are seen', () => {
    const grants = { 'jobs/shop/seen': grantOf(SOME, AT), 'jobs/shop/unseen': grantOf(SOME, AT) }
    const isSeen = (key: string) => key === 'jobs/shop/seen'
    const user = { key: 'jobs/shop/unseen', createdAt: AT, resourceGroup: 'shop', demand: SOME, isGranted: true }
    expect(unseenUsers(grants, isSeen, NOW + 29_999)).to.deep.equal([user])
    expect(expiredGrants(grants, isSeen, NOW + 29_999)).to.deep.equal([])
    expect(unseenUsers(grants, isSeen, NOW + 30_000)).to.deep.equal([])
    expect(expiredGrants(grants, isSeen, NOW + 30_000)).to.deep.equal(['jobs/shop/unseen'])
  })
})

describe('usersAgainst', () => {
  const user = (change: Partial<SeenUser> = {}): SeenUser => ({
    ...{ key: 'jobs/shop/one', createdAt: AT, resourceGroup: 'shop', demand: SOME, wasReady: false, hasPlan: true },
    ...change,
  })
  const HELD = demand('4', '4Gi', '4Gi', 4)
  const grants = { 'jobs/shop/one': grantOf(HELD, AT) }
  const [NEW, READY] = [{ wasReady: false }, { wasReady: true }]
  const cases: [string, SeenUser, Pick<SeenUser, 'wasReady' | 'held'>, QuotaGrants, unknown][] = [
    ['counts a waiting resource with what it requests', user(), NEW, {}, [SOME, false]],
    ['counts a granted one with what it holds', user(), NEW, grants, [HELD, true]],
    ['puts one that ran before the limit ahead of a new one', user(READY), NEW, {}, [SOME, true]],
    ['puts it ahead of one that grows', user(READY), { ...READY, held: SOME }, {}, [SOME, true]],
    ['puts neither ahead of two that ran before the limit', user(READY), READY, {}, [SOME, false]],
    ['counts one without a plan only if it was granted', user({ hasPlan: false }), NEW, grants, [HELD, true]],
    ['leaves out one without a plan', user({ hasPlan: false }), NEW, {}, undefined],
  ]
  for (const [sentence, given, subject, granted, expected] of cases)
    it(sentence, () => {
      const [found] = usersAgainst([given], subject, granted)
      expect(found && [found.demand, found.isGranted]).to.deep.equal(expected)
      if (found !== undefined) expect(found.key).to.equal(given.key)
    })
})
