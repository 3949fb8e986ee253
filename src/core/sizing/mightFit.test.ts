import { expect } from 'chai'
import type { Demand } from './demand.ts'
import { evaluateQuota, mightFit, type QuotaUser, usageOf } from './quota.ts'

const GIB = 1024n ** 3n * 1000n
const demand = (cores: number, gib: number, pods = 1): Demand => ({
  cpu: BigInt(cores) * 1000n,
  memory: BigInt(gib) * GIB,
  storage: BigInt(gib) * GIB,
  pods,
})
const user = (key: string, wanted: Demand, more: Partial<QuotaUser> = {}): QuotaUser => ({
  key: `vectorclusters/shop/${key}`,
  createdAt: '2026-01-01T00:00:00Z',
  resourceGroup: 'shop',
  demand: wanted,
  ...more,
})

describe('mightFit', () => {
  const granted = [user('a', demand(2, 4), { isGranted: true }), user('b', demand(1, 2), { isGranted: true })]
  const cases: [title: string, boundary: object, shop: object, subject: QuotaUser, fits: boolean][] = [
    ['accepts what is left', { cpu: '4' }, {}, user('c', demand(1, 1)), true],
    ['refuses more than is left in the boundary', { cpu: '4' }, {}, user('c', demand(2, 1)), false],
    ['refuses more than is left in the group', {}, { memory: '7Gi' }, user('c', demand(1, 2)), false],
    ['counts resources', { resources: 2 }, {}, user('c', demand(0, 0)), false],
    ['does not count what it holds itself', { cpu: '4' }, {}, user('a', demand(3, 4), { held: demand(2, 4) }), true],
    ['refuses growth beyond what is left', { cpu: '4' }, {}, user('a', demand(4, 4), { held: demand(2, 4) }), false],
    ['accepts what is not more than it holds', { cpu: '1' }, {}, user('a', demand(2, 4), { held: demand(2, 4) }), true],
    ['accepts anything without a limit', {}, {}, user('c', demand(100, 100)), true],
  ]
  for (const [title, boundary, shop, subject, fits] of cases)
    it(title, () => {
      const limits = { boundary, groups: new Map([['shop', shop]]) }
      expect(mightFit(limits, usageOf(granted), subject)).to.equal(fits)
      // What is refused here is refused by the verdict, too, whatever else waits.
      const verdict = evaluateQuota({ ...limits, subject, others: granted })
      if (!fits) expect(verdict.kind).to.equal('exceeded')
    })
})
