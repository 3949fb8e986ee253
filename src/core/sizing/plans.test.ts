import { expect } from 'chai'
import { computePlans } from '../../../test/make/vector.ts'
import type { ComputePlan } from '../../crds/plans.ts'
import { choosePlan, type PlanOverrides } from './plans.ts'

const VECTOR_PLANS = computePlans()

const appPlan = { ...(VECTOR_PLANS[0] as ComputePlan), metadata: { name: 'app-small' } }
const plans: ComputePlan[] = [...VECTOR_PLANS, { ...appPlan, spec: { ...appPlan.spec, family: 'App' } }]

function chosen(spec: PlanOverrides, from: readonly ComputePlan[] = plans) {
  const choice = choosePlan('Vector', spec, from)
  return choice.kind === 'plan' ? { name: choice.name, ...choice.plan } : `${choice.reason}: ${choice.message}`
}

describe('choosePlan', () => {
  it('returns the default plan of the family', () => {
    expect(chosen({})).to.deep.equal({
      name: 'vector-dev',
      cpuRequest: '250m',
      cpuLimit: '500m',
      memoryRequest: '512Mi',
      memoryLimit: '1Gi',
      storageSize: '5Gi',
      storageClass: '',
      replicas: 1,
    })
  })

  const cases: [sentence: string, spec: PlanOverrides, expected: unknown][] = [
    [
      'returns a named plan',
      { computePlan: 'vector-large' },
      { name: 'vector-large', memoryLimit: '16Gi', replicas: 3 },
    ],
    [
      'prefers fields of the spec to the plan',
      { cpuLimit: '3', storageClass: 'fast' },
      { cpuLimit: '3', storageClass: 'fast', cpuRequest: '250m' },
    ],
  ]
  for (const [sentence, spec, expected] of cases) {
    it(sentence, () => expect(chosen(spec)).to.include(expected as object))
  }

  const refusals: [sentence: string, spec: PlanOverrides, from: readonly ComputePlan[], expected: RegExp][] = [
    ['rejects a plan that does not exist', { computePlan: 'nope' }, plans, /^PlanNotFound: .*"nope"/],
    ['rejects a plan of another family', { computePlan: 'app-small' }, plans, /^PlanNotFound: .*App.*Vector/],
    ['rejects a family without a default plan', {}, [], /^PlanNotFound: .*default/],
    [
      "rejects a request above the plan's limit",
      { cpuRequest: '2' },
      plans,
      /^ConfigurationInvalid: cpuRequest 2 .*"vector-dev"/,
    ],
    [
      "rejects a limit below the plan's request",
      { memoryLimit: '256Mi' },
      plans,
      /^ConfigurationInvalid: memoryRequest 512Mi/,
    ],
  ]
  for (const [sentence, spec, from, expected] of refusals) {
    it(sentence, () => expect(chosen(spec, from)).to.match(expected))
  }

  const [dev, ...others] = VECTOR_PLANS as [ComputePlan, ...ComputePlan[]]
  const made = (name: string, on: string, spec: Partial<ComputePlan['spec']> = {}): ComputePlan => ({
    ...dev,
    metadata: { name, creationTimestamp: on },
    spec: { ...dev.spec, isDefault: true, ...spec },
  })
  const [old, recent] = ['2026-01-01T00:00:00Z', '2026-06-01T00:00:00Z']
  const defaults: [sentence: string, plans: ComputePlan[], name: string][] = [
    ['prefers the older of two default plans', [made('a', recent), made('b', old), ...others], 'b'],
    ['prefers the first by name of two default plans of the same age', [made('b', old), made('a', old)], 'a'],
    ['prefers a default plan that is not deprecated', [made('a', old, { deprecated: true }), made('b', recent)], 'b'],
    ['prefers a consistent default plan', [made('a', old, { memoryLimit: '1' }), made('b', recent)], 'b'],
    ['returns a deprecated default plan without another', [made('a', old, { deprecated: true })], 'a'],
  ]
  for (const [sentence, from, name] of defaults) {
    it(sentence, () => expect(chosen({}, from)).to.include({ name }))
  }
})
