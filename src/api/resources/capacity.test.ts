import { expect } from 'chai'
import type { KubeObject, Resource } from '../../core/object.ts'
import { node, pod } from '../../kube/builtin.ts'
import { createCapacity } from './capacity.ts'

const pending = (cpu: string) => ({ containers: [{ resources: { requests: { cpu, memory: '1Gi' } } }] })
const running = (cpu: string) => ({ ...pending(cpu), nodeName: 'one' })
const podWith = (spec: object, phase = 'Running') => ({ ...object('Pod'), spec, status: { phase } })
const object = (kind: string): KubeObject => ({ apiVersion: 'v1', kind, metadata: { name: 'one' } })

describe('createCapacity', () => {
  const conditions = [{ type: 'Ready', status: 'True' }]
  const nodes = [{ ...object('Node'), status: { allocatable: { cpu: '4', memory: '8Gi' }, conditions } }]
  const capacityOf = (pods: KubeObject[], synced = true) => {
    const lists = new Map<Resource, KubeObject[]>([
      [node, nodes],
      [pod, pods],
    ])
    const caches = { has: () => true, get: (resource: Resource) => ({ list: () => lists.get(resource) ?? [], synced }) }
    return createCapacity(caches as never, { monotonic: () => 0 })
  }
  const gibibyte = 1000n * 1024n ** 3n

  it('adds up what unfinished pods on nodes request', () => {
    const pods = [podWith(running('500m')), podWith(running('1')), podWith(running('2'), 'Succeeded')]
    const { requested, freeNodeCapacities } = capacityOf([...pods, podWith(pending('1'), 'Pending')])
    expect(requested()).to.deep.equal({ cpu: 1500n, memory: 2n * gibibyte })
    expect(freeNodeCapacities()).to.deep.equal([{ cpu: 2500n, memory: 6n * gibibyte }])
  })

  it('says nothing before all pods are known', () => {
    const { requested, freeNodeCapacities } = capacityOf([], false)
    expect([requested(), freeNodeCapacities()]).to.deep.equal([undefined, undefined])
  })
})
