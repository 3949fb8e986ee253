import { expect } from 'chai'
import { ComputePlan } from '../../crds/plans.ts'
import { recommendation, type Usage } from './recommendation.ts'

const plan = (name: string, memory: string, more: object = {}) => ({
  apiVersion: ComputePlan.apiVersion,
  kind: ComputePlan.kind,
  metadata: { name },
  spec: ComputePlan.spec.parse({
    ...{ family: 'Vector', displayName: name, cpuRequest: '1', cpuLimit: '1' },
    ...{ memoryRequest: memory, memoryLimit: memory, ...more },
  }),
})
const [small, medium, large] = [plan('small', '1Gi'), plan('medium', '2Gi'), plan('large', '4Gi')] as const
const plans = [large, small, medium, plan('old', '3Gi', { deprecated: true }), plan('app', '3Gi', { family: 'App' })]

describe('a recommendation', () => {
  const usage: Usage = { p95: 50, maximum: 60, limit: 100, request: 100, seconds: 7 * 86_400 }
  const cases: [sentence: string, change: Partial<Usage>, kind: string, computePlan: string | null][] = [
    ['is none where it fits', {}, 'None', null],
    ['is more where it is nearly all used', { p95: 90 }, 'ScaleUp', 'large'],
    ['is less where little is ever used', { p95: 5, maximum: 20 }, 'ScaleDown', 'small'],
    ['is not less after an hour', { p95: 5, maximum: 20, seconds: 3_600 }, 'None', null],
    ['is not less because of one that is rarely needed', { p95: 5, maximum: 90 }, 'None', null],
    ['is none without a limit', { p95: 90, maximum: 90, limit: null, request: null }, 'None', null],
  ]
  for (const [sentence, change, kind, computePlan] of cases)
    it(sentence, () => {
      const given = recommendation({ ...usage, ...change }, plans, 'memoryLimit', medium)
      expect([given.kind, given.computePlan]).to.deep.equal([kind, computePlan])
    })

  it('names no plan where there is none, and none for what no plan says', () => {
    const full = { ...usage, p95: 100 }
    expect(recommendation(full, plans, 'memoryLimit', large).computePlan).to.equal(null)
    expect(recommendation(full, plans, undefined, medium)).to.include({ kind: 'ScaleUp', computePlan: null })
    expect(recommendation(full, plans, 'memoryLimit', undefined).computePlan).to.equal(null)
  })

  it('never takes space from volumes, which cannot shrink', () => {
    const little = { ...usage, p95: 5, maximum: 5 }
    expect(recommendation(little, plans, 'storageSize', medium).kind).to.equal('None')
  })
})
