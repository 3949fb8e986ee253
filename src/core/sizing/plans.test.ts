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

describe('the plan that a resource gets', () => {
  it('is the default of its family if none is named', () => {
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
    ['takes a named plan', { computePlan: 'vector-large' }, { name: 'vector-large', memoryLimit: '16Gi', replicas: 3 }],
    [
      'lets the spec win over the plan',
      { cpuLimit: '3', storageClass: 'fast' },
      { cpuLimit: '3', storageClass: 'fast', cpuRequest: '250m' },
    ],
  ]
  for (const [sentence, spec, expected] of cases) {
    it(sentence, () => expect(chosen(spec)).to.include(expected as object))
  }

  const refusals: [sentence: string, spec: PlanOverrides, from: readonly ComputePlan[], expected: RegExp][] = [
    ['refuses a plan that does not exist', { computePlan: 'nope' }, plans, /^PlanNotFound: .*"nope"/],
    ['refuses a plan of another family', { computePlan: 'app-small' }, plans, /^PlanNotFound: .*App.*Vector/],
    ['refuses where no plan is the default', {}, [], /^PlanNotFound: .*default/],
    [
      'refuses a request above the plan’s limit',
      { cpuRequest: '2' },
      plans,
      /^ConfigurationInvalid: cpuRequest 2 .*"vector-dev"/,
    ],
    [
      'refuses a limit below the plan’s request',
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
    ['is the older default if there are two', [made('a', recent), made('b', old), ...others], 'b'],
    ['is the first by name of two defaults of one age', [made('b', old), made('a', old)], 'a'],
    ['is a default that is still offered', [made('a', old, { deprecated: true }), made('b', recent)], 'b'],
    ['is a default that agrees with itself', [made('a', old, { memoryLimit: '1' }), made('b', recent)], 'b'],
    ['is a deprecated default if there is no other', [made('a', old, { deprecated: true })], 'a'],
  ]
  for (const [sentence, from, name] of defaults) {
    it(sentence, () => expect(chosen({}, from)).to.include({ name }))
  }
})
