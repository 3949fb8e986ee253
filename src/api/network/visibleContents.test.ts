import { expect } from 'chai'
import type { Flow } from '../../adapters/flows/port.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { GroupResource } from '../resources/contents.ts'
import { knownEnd } from './flows.ts'
import { listDeclaredEdges, listReferenceEdges } from './graph.ts'
import type { NetworkPolicy } from './policy/kubernetes.ts'
import { visibleContents } from './visibleContents.ts'

const COUNT = 200
const REFERENCES = 20

/** A resource that counts how often its name is read. */
function counted(at: number, count: () => void): GroupResource {
  const env = Array.from({ length: REFERENCES }, (_, step) => {
    const output = { collection: 'containerinstances', name: `c${(at + step * 7) % COUNT}`, output: 'publicUrl' }
    return { name: `V${step}`, output }
  })
  const metadata = {
    namespace: 'home',
    get name() {
      count()
      return `c${at}`
    },
  }
  return {
    kind: ContainerInstance,
    resourceGroup: 'shop',
    object: { metadata, spec: { components: [{ env }] } },
  } as never
}

const policyOf = (at: number): NetworkPolicy => {
  const labels = ownerSelector('ContainerInstance', `c${at}`)
  const metadata = { name: `cti-c${at}`, namespace: 'home', labels }
  const ingress = [{ from: [{ podSelector: { matchLabels: labels } }, { podSelector: {} }], ports: [{ port: 80 }] }]
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: { ingress } }
}

const numbers = Array.from({ length: COUNT }, (_, at) => at)

describe('visibleContents', () => {
  let reads = 0
  const resources = numbers.map((at) => counted(at, () => (reads += 1)))
  const [shown, hidden] = [resources.slice(0, COUNT / 2), resources.slice(COUNT / 2)]
  const groups = [{ name: 'shop', namespace: 'home' }]
  beforeEach(() => {
    reads = 0
  })

  it('finds the resources of policies and references by name', () => {
    const contents = visibleContents({ groups, resources, hidden: [] })
    const declared = listDeclaredEdges(numbers.map(policyOf), contents)
    expect(declared).to.have.length(COUNT)
    expect(listReferenceEdges(contents, declared)).to.have.length(COUNT * REFERENCES)
    expect(reads).to.be.below(COUNT * REFERENCES * 10)
  })

  it('finds the resources of flows by name, hidden ones too', () => {
    const contents = visibleContents({ groups, resources: shown, hidden })
    const ends = numbers.map((at) => {
      const end = { namespace: 'home', labels: ownerSelector('ContainerInstance', `c${at}`) } as unknown as Flow['from']
      return knownEnd(end, contents, 'freehold-system').kind
    })
    expect(ends.slice(0, COUNT / 2)).to.have.members(shown.map(() => 'Resource'))
    expect(ends.slice(COUNT / 2)).to.have.members(hidden.map(() => 'Cluster'))
    expect(reads).to.be.below(COUNT * 10)
  })
})
