import { expect } from 'chai'
import { computePlans } from '../../../test/make/vector.ts'
import { formatBytes, formatCores } from '../quantity.ts'
import { copiesWithin, demandOf, demandUnderPlans, type PartOwner, type Sizable } from './demand.ts'
import type { SizingPlan } from './plans.ts'

const plan = computePlans().find(({ metadata }) => metadata.name === 'vector-medium')

describe('what a resource asks for', () => {
  const shown = (resource: Sizable, of: typeof plan) => {
    const { cpu, memory, storage, pods } = demandOf(resource, of)
    return `${formatCores(cpu)} cpu, ${formatBytes(memory)}, ${formatBytes(storage)} stored, ${pods} pods`
  }
  const cases: [sentence: string, resource: Sizable, expected: string][] = [
    ['is its plan times its replicas', { spec: { replicas: 2 } }, '2 cpu, 8Gi, 100Gi stored, 2 pods'],
    ["is the plan's replicas if it names none", { spec: {} }, '3 cpu, 12Gi, 150Gi stored, 3 pods'],
    [
      'is its own size before the plan',
      { spec: { replicas: 1, cpuRequest: '250m' } },
      '250m cpu, 4Gi, 50Gi stored, 1 pods',
    ],
    ['counts a second volume', { spec: { replicas: 1, walStorageSize: '5Gi' } }, '1 cpu, 4Gi, 55Gi stored, 1 pods'],
    [
      'is only storage while it is stopped',
      { spec: { replicas: 2, running: false } },
      '0 cpu, 0, 100Gi stored, 0 pods',
    ],
    ['is nothing if it was made with no replicas', { spec: { replicas: 0 } }, '0 cpu, 0, 0 stored, 0 pods'],
    [
      'is the sum of its components, with sizes of their own or of the plan, and of its Persistent volumes',
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
      'counts an Ephemeral volume for each copy that mounts it and runs',
      {
        spec: {
          components: [{ replicas: 2, mounts: [{ volume: 'cache' }, { volume: 'data' }] }, { replicas: 3 }],
          volumes: [
            { name: 'data', kind: 'Persistent', size: '3Gi' },
            { name: 'cache', kind: 'Ephemeral', size: '9Gi' },
            { name: 'scratch', kind: 'Ephemeral' },
          ],
        },
      },
      '5 cpu, 20Gi, 21Gi stored, 5 pods',
    ],
    [
      'counts none of a component that is stopped',
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
      'counts those of what follows the load for the most copies',
      {
        spec: {
          ...{ replicas: 1, maxReplicas: 3, storageSize: '0' },
          volumes: [{ name: 'cache', kind: 'Ephemeral', size: '2Gi' }],
        },
      },
      '3 cpu, 12Gi, 6Gi stored, 3 pods',
    ],
    [
      'is only the volumes of components that are stopped',
      { spec: { running: false, components: [{ replicas: 2 }], volumes: [{ kind: 'Persistent', size: '3Gi' }] } },
      '0 cpu, 0, 3Gi stored, 0 pods',
    ],
    [
      'counts the volumes that it keeps at zero replicas',
      { spec: { replicas: 0 }, status: { volumes: 3, replicas: 0 } },
      '0 cpu, 0, 150Gi stored, 0 pods',
    ],
    [
      'counts the volumes that it had before the controller has seen zero replicas',
      { spec: { replicas: 0 }, status: { replicas: 3 } },
      '0 cpu, 0, 150Gi stored, 0 pods',
    ],
  ]
  for (const [sentence, resource, expected] of cases) {
    it(sentence, () => expect(shown(resource, plan)).to.equal(expected))
  }
  it('is nothing without a plan and sizes of its own', () => {
    expect(shown({ spec: { replicas: 3 } }, undefined)).to.equal('0 cpu, 0, 0 stored, 3 pods')
  })
})

describe('what a part of a resource asks for', () => {
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
    ['is its own plan times its most copies', { ...large, maxReplicas: 3 }, { computePlan: 'small' }, '6 cpu, 3 pods'],
    [
      'is the plan of the resource if it names none',
      { maxReplicas: 3 },
      { computePlan: 'medium' },
      '1500m cpu, 3 pods',
    ],
    ['is the default plan if neither names one', { maxReplicas: 3 }, {}, '300m cpu, 3 pods'],
    ['is nothing while it is switched off', { ...large, maxReplicas: 3, enabled: false }, {}, '0 cpu, 0 pods'],
    ['is nothing while the resource is stopped', { ...large, maxReplicas: 3 }, { running: false }, '0 cpu, 0 pods'],
    [
      'is nothing where it is on and the resource is not',
      { maxReplicas: 3, enabled: true },
      { running: false },
      '0 cpu, 0 pods',
    ],
    ['is not known without the resource', { ...large, maxReplicas: 3 }, undefined],
    ['is not known without its plan', { computePlan: 'none', maxReplicas: 3 }, large],
    ['is not known without the plan of the resource', { maxReplicas: 3 }, { computePlan: 'none' }],
    ['is not known by a plan of another family', { computePlan: 'vector-dev', maxReplicas: 3 }, large],
  ]
  for (const [sentence, spec, holder, expected] of cases)
    it(sentence, () => expect(shown(spec, holder)).to.equal(expected))

  it('leaves the resource without copies, whose plan must exist nevertheless', () => {
    const demandFor = (computePlan: string) =>
      demandUnderPlans({ sized: 'Function', sizesParts: true }, { spec: { computePlan } }, plans)
    expect(demandFor('large')).to.deep.equal({ cpu: 0n, memory: 0n, storage: 0n, pods: 0 })
    expect(demandFor('none')).to.equal(undefined)
  })
})

describe('copies within what was granted', () => {
  const disk = (size: string) => ({ volumes: [{ kind: 'Ephemeral', size }] })
  const demand = (spec: Sizable['spec']) => demandOf({ spec: { replicas: 1, ...spec } }, undefined)
  const granted = demand({ replicas: 4, cpuRequest: '500m', memoryRequest: '1Gi', ...disk('1Gi') })
  const cases: [sentence: string, each: Sizable['spec'], copies: number][] = [
    ['are all of those that it was granted for', { cpuRequest: '500m', memoryRequest: '1Gi' }, 4],
    ['are no more where each is smaller', { cpuRequest: '100m', memoryRequest: '1Gi' }, 4],
    ['are fewer where each has more cores', { cpuRequest: '600m', memoryRequest: '1Gi' }, 3],
    ['are fewer where each has more memory', { cpuRequest: '500m', memoryRequest: '3Gi' }, 1],
    ['are fewer where each has more disk', { cpuRequest: '500m', memoryRequest: '1Gi', ...disk('2Gi') }, 2],
    ['are none where one is too many', { cpuRequest: '3', memoryRequest: '1Gi' }, 0],
    ['are counted where they request nothing', {}, 4],
  ]
  for (const [sentence, each, copies] of cases)
    it(sentence, () => expect(copiesWithin(granted, demand(each))).to.equal(copies))
})
