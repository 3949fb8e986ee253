import { expect } from 'chai'
import { computePlans } from '../../../test/make/vector.ts'
import { formatBytes, formatCores } from '../quantity.ts'
import { demandOf, type Sizable } from './demand.ts'

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
