import { expect } from 'chai'
import type { KubeObject } from '../../../core/object.ts'
import { parseNetworks } from './addresses.ts'
import { judgePairs } from './pairs.ts'
import type { Pod } from './question.ts'

const COUNT = 20
const POLICIES = 500

describe('judgePairs', () => {
  const pods = Array.from({ length: COUNT }, (_, at): Pod => {
    const place = { kind: 'pod', namespace: 'home', namespaceLabels: {}, ports: undefined } as const
    return { ...place, name: `pod-${at}`, labels: { app: `a${at}` }, addresses: parseNetworks(`10.0.0.${at}`) }
  })
  let reads = 0
  const kubernetes = Array.from({ length: POLICIES }, (_, at) => {
    const metadata = { name: `p${at}`, namespace: 'home' }
    const spec = {
      get podSelector() {
        reads += 1
        return { matchLabels: { app: `a${at}` } }
      },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'a1' } } }] }],
    }
    return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec } as KubeObject
  })
  const asked = { port: 80, protocol: 'TCP', blocksTakePods: true } as const

  it('compares each policy once with each pod, not once per pair', () => {
    reads = 0
    const side = judgePairs('ingress', { from: pods, to: pods }, asked, { kubernetes, cilium: [] })
    expect(side).to.include({ verdict: 'Unknown', isolated: true })
    expect(reads).to.be.below(COUNT * POLICIES * 2)
  })

  it('judges ingress at the target and egress at the source', () => {
    const [from, to] = [pods.slice(1, 2), pods.slice(0, 1)]
    const of = (direction: 'ingress' | 'egress') =>
      judgePairs(direction, { from, to }, asked, { kubernetes, cilium: [] }).rule?.name
    expect([of('ingress'), of('egress')]).to.deep.equal(['p0', undefined])
  })
})
