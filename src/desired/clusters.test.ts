import { expect } from 'chai'
import type { KubeObject } from '../core/object.ts'
import { type Capability, isBalanced, observedCluster } from './clusters.ts'

const object = (kind: string, name: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  ...more,
})

const bare = () => false

describe('isBalanced', () => {
  const given = { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } }
  const cases: [sentence: string, type: string, status: object | undefined, expected: boolean][] = [
    ['accepts a load balancer with an address', 'LoadBalancer', given, true],
    ['ignores one without an address', 'LoadBalancer', { loadBalancer: {} }, false],
    ['ignores one that nothing has looked at', 'LoadBalancer', undefined, false],
    ['ignores what remains of a former one', 'ClusterIP', given, false],
  ]
  for (const [sentence, type, status, expected] of cases)
    it(sentence, () => expect(isBalanced(object('Service', 'web', { spec: { type }, status }))).to.equal(expected))
})

describe('observedCluster', () => {
  it('names what is installed, by name', () => {
    const installed: Capability[] = ['Velero', 'CertManager']
    expect(observedCluster([], [], (one) => installed.includes(one)).capabilities).to.deep.equal([
      'CertManager',
      'Velero',
    ])
  })

  it('sums the capacity of nodes and sorts storage classes by name', () => {
    const capacity = { cpu: '1500m', memory: '2Gi' }
    const conditions = [{ type: 'Ready', status: 'True' }]
    const nodes = [
      object('Node', 'a', { status: { capacity, conditions } }),
      object('Node', 'b', { status: { capacity } }),
    ]
    expect(observedCluster(nodes, [object('StorageClass', 'z'), object('StorageClass', 'a')], bare)).to.deep.equal({
      capabilities: [],
      nodeCount: 2,
      readyNodeCount: 1,
      cpuCapacity: '3',
      memoryCapacity: '4Gi',
      storageClasses: ['a', 'z'].map((name) => ({ name, isDefault: false, isExpandable: false, survivesNode: false })),
    })
  })

  const provisioners: [provisioner: string, survivesNode: boolean][] = [
    ['ebs.csi.aws.com', true],
    ['rancher.io/local-path', false],
    ['kubernetes.io/no-provisioner', false],
    ['freehold.dev/node-folder', false],
  ]
  for (const [provisioner, survivesNode] of provisioners)
    it(`reports that volumes of ${provisioner} ${survivesNode ? 'survive' : 'do not survive'} their node`, () => {
      const [found] = observedCluster([], [object('StorageClass', 'a', { provisioner })], bare).storageClasses
      expect(found?.survivesNode).to.equal(survivesNode)
    })

  it('bounds and sanitizes what an untrusted cluster reports', () => {
    const capacity = { cpu: '9'.repeat(1_000), memory: 'a lot' }
    const classes = Array.from({ length: 1_000 }, (_, index) =>
      object('StorageClass', `s\u001b[2J${index}${'x'.repeat(500)}`),
    )
    const { cpuCapacity, memoryCapacity, storageClasses } = observedCluster(
      [object('Node', 'a', { status: { capacity } })],
      classes,
      bare,
    )
    expect([cpuCapacity, memoryCapacity]).to.deep.equal(['0', '0'])
    expect(storageClasses).to.have.length(50)
    for (const { name } of storageClasses) expect(name).to.match(/^[ -~]{1,253}$/)
  })
})
