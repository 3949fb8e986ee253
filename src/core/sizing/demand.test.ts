import { expect } from 'chai'
import { computePlans } from '../../../test/make/vector.ts'
import { formatBytes, formatCores } from '../quantity.ts'
import { copiesWithin, demandOf, demandUnderPlans, type PartOwner, type Sizable } from './demand.ts'
import type { SizingPlan } from './plans.ts'

const plan = computePlans().find(({ metadata }) => metadata.name === 'vector-medium')

describe('demandOf', () => {
  const shown = (resource: Sizable, of: typeof plan) => {
    const { cpu, memory, storage, pods } = demandOf(resource, of)
    return `${formatCores(cpu)} cpu, ${formatBytes(memory)}, ${formatBytes(storage)} stored, ${pods} pods`
  }
  const cases: [sentence: string, resource: Sizable, expected: string][] = [
    ['multiplies the plan by the replicas', { spec: { replicas: 2 } }, '2 cpu, 8Gi, 100Gi stored, 2 pods'],
    ["uses the plan's replicas without own ones", { spec: {} }, '3 cpu, 12Gi, 150Gi stored, 3 pods'],
    [
      'prefers own sizes to the plan',
      { spec: { replicas: 1, cpuRequest: '250m' } },
      '250m cpu, 4Gi, 50Gi stored, 1 pods',
    ],
    ['adds a second volume', { spec: { replicas: 1, walStorageSize: '5Gi' } }, '1 cpu, 4Gi, 55Gi stored, 1 pods'],
    ['counts only storage while stopped', { spec: { replicas: 2, running: false } }, '0 cpu, 0, 100Gi stored, 0 pods'],
    [
      'counts only storage after the end',
      { spec: { replicas: 1 }, status: { completedAt: '2026-01-01T00:00:00Z' } },
      '0 cpu, 0, 50Gi stored, 0 pods',
    ],
    ['is zero for a resource created with no replicas', { spec: { replicas: 0 } }, '0 cpu, 0, 0 stored, 0 pods'],
    [
      'adds up components and Persistent volumes',
      {
        spec: {
          components: [{ replicas: 2, cpuRequest: '250m' }, { memoryRequest: '1Gi' }],
          volumes: [
            { kind: 'Persistent', size: '3Gi' },
            { kind: 'Ephemeral', size: '9Gi' },
          ],
        },
      },
      '1500m cpu, 9Gi, 3Gi stored, 3 pods',
    ],
    [
      'counts an Ephemeral volume per running replica that mounts it',
      {
        spec: {
          components: [{ replicas: 2, mounts: [{ volume: 'cache' }, { volume: 'data' }] }, { replicas: 3 }],
          volumes: [
            { name: 'data', kind: 'Persistent', size: '3Gi' },
            { name: 'cache', kind: 'Ephemeral', size: '9Gi' },
            { name: 'scratch', kind: 'Ephemeral', size: '1Gi' },
            { name: 'unsized', kind: 'Ephemeral' },
          ],
        },
      },
      '5 cpu, 20Gi, 21Gi stored, 5 pods',
    ],
    [
      'counts no Ephemeral volume of a stopped component',
      {
        spec: {
          running: false,
          components: [{ replicas: 2, mounts: [{ volume: 'cache' }] }],
          volumes: [{ name: 'cache', kind: 'Ephemeral', size: '9Gi' }],
        },
      },
      '0 cpu, 0, 0 stored, 0 pods',
    ],
    [
      'counts Ephemeral volumes for the maximum of autoscaled replicas',
      {
        spec: {
          ...{ replicas: 1, maxReplicas: 3, storageSize: '0' },
          volumes: [{ name: 'cache', kind: 'Ephemeral', size: '2Gi' }],
        },
      },
      '3 cpu, 12Gi, 6Gi stored, 3 pods',
    ],
    [
      'counts a Persistent volume once, an Ephemeral one per replica',
      {
        spec: {
          ...{ replicas: 2, storageSize: '0' },
          volumes: [
            { name: 'data', kind: 'Persistent', size: '3Gi' },
            { name: 'cache', kind: 'Ephemeral', size: '2Gi' },
          ],
        },
      },
      '2 cpu, 8Gi, 7Gi stored, 2 pods',
    ],
    [
      'counts only the volumes of stopped components',
      { spec: { running: false, components: [{ replicas: 2 }], volumes: [{ kind: 'Persistent', size: '3Gi' }] } },
      '0 cpu, 0, 3Gi stored, 0 pods',
    ],
    [
      'counts the volumes that are kept at zero replicas',
      { spec: { replicas: 0 }, status: { volumes: 3, replicas: 0 } },
      '0 cpu, 0, 150Gi stored, 0 pods',
    ],
    [
      'counts the earlier volumes until the controller has observed zero replicas',
      { spec: { replicas: 0 }, status: { replicas: 3 } },
      '0 cpu, 0, 150Gi stored, 0 pods',
    ],
  ]
  for (const [sentence, resource, expected] of cases) {
    it(sentence, () => expect(shown(resource, plan)).to.equal(expected))
  }
  it('is zero without a plan and own sizes', () => {
    expect(shown({ spec: { replicas: 3 } }, undefined)).to.equal('0 cpu, 0, 0 stored, 3 pods')
  })
})

describe('demandUnderPlans', () => {
  const planned = (name: string, cpuRequest: string, isDefault = false): SizingPlan => ({
    metadata: { name },
    spec: {
      ...{ family: 'Function', cpuRequest, cpuLimit: '4', memoryRequest: '128Mi', memoryLimit: '1Gi' },
      ...{ storageClass: '', replicas: 1, isDefault, deprecated: false },
    },
  })
  const plans = [planned('small', '100m', true), planned('medium', '500m'), planned('large', '2'), ...computePlans()]
  const part = { sized: 'Function', isPart: true } as const
  const shown = (spec: Sizable['spec'], holder: PartOwner['spec'] | undefined) => {
    const demand = demandUnderPlans(part, { spec }, plans, holder && { spec: holder })
    return demand && `${formatCores(demand.cpu)} cpu, ${demand.pods} pods`
  }
  const large = { computePlan: 'large' }
  const cases: [sentence: string, spec: Sizable['spec'], holder: PartOwner['spec'] | undefined, expected?: string][] = [
    [
      'multiplies its own plan by the maximum of copies',
      { ...large, maxReplicas: 3 },
      { computePlan: 'small' },
      '6 cpu, 3 pods',
    ],
    [
      'uses the plan of the resource without an own one',
      { maxReplicas: 3 },
      { computePlan: 'medium' },
      '1500m cpu, 3 pods',
    ],
    ['uses the default plan without any', { maxReplicas: 3 }, {}, '300m cpu, 3 pods'],
    ['is zero while it is disabled', { ...large, maxReplicas: 3, enabled: false }, {}, '0 cpu, 0 pods'],
    ['is zero while the resource is stopped', { ...large, maxReplicas: 3 }, { running: false }, '0 cpu, 0 pods'],
    [
      'is zero if it is enabled and the resource is stopped',
      { maxReplicas: 3, enabled: true },
      { running: false },
      '0 cpu, 0 pods',
    ],
    ['is undefined without the resource', { ...large, maxReplicas: 3 }, undefined],
    ['is undefined without its plan', { computePlan: 'none', maxReplicas: 3 }, large],
    ['is undefined without the plan of the resource', { maxReplicas: 3 }, { computePlan: 'none' }],
    ['is undefined for a plan of another family', { computePlan: 'vector-dev', maxReplicas: 3 }, large],
  ]
  for (const [sentence, spec, holder, expected] of cases)
    it(sentence, () => expect(shown(spec, holder)).to.equal(expected))

  const ready = { firstReadyAt: '2026-01-01T00:00:00Z' }
  const whole: [sentence: string, spec: Sizable['spec'], status: Sizable['status'], cpu?: string][] = [
    ['counts with the last plan of a resource that was ready', {}, { ...ready, computePlan: 'large' }, '2'],
    ['counts nothing of a last plan that is gone', {}, { ...ready, computePlan: 'none' }, '0'],
    ['is undefined if the resource was never ready', {}, { computePlan: 'large' }],
    ['is undefined if the last plan is not known', {}, ready],
    ['counts each component with its plan', { components: [{ computePlan: 'large' }, {}] }, undefined, '2100m'],
    ['is undefined if a component names no plan that exists', { components: [{ computePlan: 'none' }, {}] }, undefined],
    [
      'is undefined if a component names a plan of another family',
      { components: [{ computePlan: 'vector-dev' }] },
      undefined,
    ],
    [
      'counts a component without its plan with the last one of a resource that was ready',
      { components: [{ computePlan: 'none' }, {}] },
      { ...ready, computePlan: 'large' },
      '4',
    ],
  ]
  for (const [sentence, spec, status, cpu] of whole)
    it(sentence, () => {
      const named = spec.components === undefined ? { replicas: 1, computePlan: 'gone' } : {}
      const demand = demandUnderPlans({ sized: 'Function' }, { spec: { ...named, ...spec }, status }, plans)
      expect(demand && formatCores(demand.cpu)).to.equal(cpu)
    })

  it('counts own sizes of a resource whose kind has no plans', () => {
    const demand = demandUnderPlans({}, { spec: { replicas: 2, cpuRequest: '1' } }, plans)
    expect([demand && formatCores(demand.cpu), demandUnderPlans({}, { spec: {} }, plans)?.pods]).to.deep.equal(['2', 0])
  })

  it('is zero for the resource itself, if its plan exists', () => {
    const demandFor = (computePlan: string) =>
      demandUnderPlans({ sized: 'Function', sizesParts: true }, { spec: { computePlan } }, plans)
    expect(demandFor('large')).to.deep.equal({ cpu: 0n, memory: 0n, storage: 0n, pods: 0 })
    expect(demandFor('none')).to.equal(undefined)
  })
})

describe('copiesWithin', () => {
  const disk = (size: string) => ({ volumes: [{ kind: 'Ephemeral', size }] })
  const demand = (spec: Sizable['spec']) => demandOf({ spec: { replicas: 1, ...spec } }, undefined)
  const granted = demand({ replicas: 4, cpuRequest: '500m', memoryRequest: '1Gi', ...disk('1Gi') })
  const cases: [sentence: string, each: Sizable['spec'], copies: number][] = [
    ['returns all granted copies', { cpuRequest: '500m', memoryRequest: '1Gi' }, 4],
    ['returns no more copies if each is smaller', { cpuRequest: '100m', memoryRequest: '1Gi' }, 4],
    ['returns fewer copies if each needs more CPU', { cpuRequest: '600m', memoryRequest: '1Gi' }, 3],
    ['returns fewer copies if each needs more memory', { cpuRequest: '500m', memoryRequest: '3Gi' }, 1],
    ['returns fewer copies if each needs more disk', { cpuRequest: '500m', memoryRequest: '1Gi', ...disk('2Gi') }, 2],
    ['returns 0 if one copy is too large', { cpuRequest: '3', memoryRequest: '1Gi' }, 0],
    ['returns all granted copies without requests', {}, 4],
  ]
  for (const [sentence, each, copies] of cases)
    it(sentence, () => expect(copiesWithin(granted, demand(each))).to.equal(copies))
})
