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

describe('recommendation', () => {
  const usage: Usage = { p95: 50, maximum: 60, limit: 100, request: 100, seconds: 7 * 86_400 }
  const cases: [sentence: string, change: Partial<Usage>, kind: string, computePlan: string | null][] = [
    ['returns None for moderate usage', {}, 'None', null],
    ['returns ScaleUp for a p95 of 90 %', { p95: 90 }, 'ScaleUp', 'large'],
    ['returns ScaleDown for a maximum of 20 %', { p95: 5, maximum: 20 }, 'ScaleDown', 'small'],
    ['returns None for low usage over an hour only', { p95: 5, maximum: 20, seconds: 3_600 }, 'None', null],
    ['returns None for a low p95 with a maximum of 90 %', { p95: 5, maximum: 90 }, 'None', null],
    ['returns None without a limit', { p95: 90, maximum: 90, limit: null, request: null }, 'None', null],
  ]
  for (const [sentence, change, kind, computePlan] of cases)
    it(sentence, () => {
      const given = recommendation({ ...usage, ...change }, plans, 'memoryLimit', medium)
      expect([given.kind, given.computePlan]).to.deep.equal([kind, computePlan])
    })

  it('returns no plan without a larger plan, a field or a current plan', () => {
    const full = { ...usage, p95: 100 }
    expect(recommendation(full, plans, 'memoryLimit', large).computePlan).to.equal(null)
    expect(recommendation(full, plans, undefined, medium)).to.include({ kind: 'ScaleUp', computePlan: null })
    expect(recommendation(full, plans, 'memoryLimit', undefined).computePlan).to.equal(null)
  })

  it('never returns ScaleDown for storageSize', () => {
    const little = { ...usage, p95: 5, maximum: 5 }
    expect(recommendation(little, plans, 'storageSize', medium).kind).to.equal('None')
  })
})
