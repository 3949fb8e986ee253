import { INTERNET_ADDRESSES, IPV4, parseNetworks } from '../../src/api/network/policy/addresses.ts'
import type { CiliumPolicy } from '../../src/api/network/policy/cilium.ts'
import type { NetworkPolicy } from '../../src/api/network/policy/kubernetes.ts'
import type { ConnectionQuestion, Direction, End, Pod } from '../../src/api/network/policy/question.ts'
import { judgeSide, type Verdict } from '../../src/api/network/policy/verdict.ts'

/** Short builders of pods, ends and policies for verdicts. */

export const labels = (name: string) => ({ 'kubernetes.io/metadata.name': name })

export function pod(change: Partial<Pod> = {}): Pod {
  const namespace = change.namespace ?? 'shop'
  return {
    ...{ kind: 'pod', name: 'web-0', namespace, namespaceLabels: labels(namespace), labels: { app: 'web' } },
    addresses: parseNetworks('10.0.0.5'),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ...change,
  }
}
export const outside = (...cidrs: string[]): End => ({
  kind: 'outside',
  addresses: parseNetworks(...cidrs),
  isInternet: false,
})
export const host = (name: string): End => ({ kind: 'host', host: name, addresses: IPV4 })
export const internet: End = { kind: 'outside', addresses: INTERNET_ADDRESSES, isInternet: true }

export const kubernetes = (spec: NetworkPolicy['spec'], name = 'p', namespace = 'shop') =>
  ({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name, namespace }, spec }) as NetworkPolicy
export const cilium = (spec: CiliumPolicy['spec']) =>
  ({
    ...{ apiVersion: 'cilium.io/v2', kind: 'CiliumNetworkPolicy', metadata: { name: 'c', namespace: 'shop' } },
    spec,
  }) as CiliumPolicy
export const clusterwide = (spec: CiliumPolicy['spec']): CiliumPolicy => ({
  ...cilium(spec),
  kind: 'CiliumClusterwideNetworkPolicy',
  metadata: { name: 'c' },
})

export type Policy = NetworkPolicy | CiliumPolicy
export const ALL = { podSelector: {} }
export const [CLUSTER, EVERYBODY] = [{ fromEntities: ['cluster'] }, { fromEntities: ['all'] }]
export const db = pod({ name: 'db-0', labels: { app: 'db' }, addresses: parseNetworks('10.0.0.9') })
export const stranger = pod({
  name: 'x-0',
  namespace: 'other',
  labels: { app: 'web' },
  addresses: parseNetworks('10.0.7.7'),
})

export const block = (cidr: string, ...except: string[]) => ({ ipBlock: { cidr, except } })
export const expressed = (key: string, operator: string, values?: string[]) => ({
  podSelector: { matchExpressions: [{ key, operator, values }] },
})
export const OTHER = { namespaceSelector: { matchLabels: labels('other') } }
export const fromPeers = (...from: object[]) => kubernetes({ ...ALL, ingress: [{ from }] })
export const onPorts = (...ports: object[]) => kubernetes({ ...ALL, ingress: [{ ports }] })
export const admits = (...ingress: object[]) => cilium({ endpointSelector: {}, ingress } as CiliumPolicy['spec'])
export const sends = (...egress: object[]) => cilium({ endpointSelector: {}, egress } as CiliumPolicy['spec'])
export const denies = (deny: object, ...ingress: object[]) =>
  cilium({ endpointSelector: {}, ingress, ingressDeny: [deny] } as CiliumPolicy['spec'])

export const ofCluster = (operator: string, values: string[] = []) => ({
  matchExpressions: [{ key: 'io.cilium.k8s.policy.cluster', operator, values }],
})

const isCilium = (policy: Policy): policy is CiliumPolicy => policy.apiVersion === 'cilium.io/v2'

export function judged(
  policies: readonly Policy[],
  question: Partial<ConnectionQuestion> = {},
  direction: Direction = 'ingress',
) {
  const asked: ConnectionQuestion = {
    from: pod(),
    to: db,
    port: 8080,
    protocol: 'TCP',
    blocksTakePods: true,
    ...question,
  }
  const kubernetesOnes = policies.filter((policy) => !isCilium(policy)) as NetworkPolicy[]
  return judgeSide(direction, asked, { kubernetes: kubernetesOnes, cilium: policies.filter(isCilium) })
}

/** Of the shop's web pod with its database on TCP 8080. `rule` is the name and the index of what decides, or its kind. */
export type Case = readonly [
  says: string,
  gives: Verdict,
  policies: readonly Policy[],
  more?: Partial<ConnectionQuestion> & { rule?: string },
]
