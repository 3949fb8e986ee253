import { expect } from 'chai'
import { type NetworkPolicy, type Pod, rulesOf } from './networkPolicies.ts'

const namespaces = ['a', 'b'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
}))
const pod = (namespace: string, name: string, podIP: string, more: Partial<Pod> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, labels: { app: name } },
  spec: { containers: [{ ports: [{ name: 'http', containerPort: 8080 }] }] },
  status: { phase: 'Running', podIP },
  ...more,
})
const policy = (spec: NetworkPolicy['spec'], namespace = 'a'): NetworkPolicy => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'p', namespace },
  spec,
})
const web = pod('a', 'web', '10.244.0.2')
const worker = pod('a', 'worker', '10.244.0.3')
const foreign = pod('b', 'web', '10.244.0.4')

/** The rules of a chain; undefined without the chain, which lets everything pass. */
function chain(name: string, policies: NetworkPolicy[], pods: Pod[] = [web, worker, foreign]): string[] | undefined {
  const found = new RegExp(`chain ${name} \\{\\n([^}]*(?:\\{[^}]*\\}[^}]*)*?)\\n  \\}`).exec(
    rulesOf({ policies, pods, namespaces }),
  )
  return found?.[1]?.split('\n').map((line) => line.trim())
}

describe('nftables rules of NetworkPolicies', () => {
  const cases: [string, NetworkPolicy[], string, string[] | undefined][] = [
    ['have no chain for a pod without a policy', [], 'to_10_244_0_2', undefined],
    ['allow nothing for a policy without rules', [policy({})], 'to_10_244_0_2', []],
    ['have no egress chain for an ingress policy', [policy({})], 'from_10_244_0_2', undefined],
    ['ignore a policy of another namespace', [policy({}, 'b')], 'to_10_244_0_2', undefined],
    [
      'have no chain for a pod that no policy selects',
      [policy({ podSelector: { matchLabels: { app: 'web' } } })],
      'to_10_244_0_3',
      undefined,
    ],
    [
      'allow pods of the namespace for an empty selector',
      [policy({ ingress: [{ from: [{ podSelector: {} }] }] })],
      'to_10_244_0_2',
      ['ip saddr 10.244.0.2 return', 'ip saddr 10.244.0.3 return'],
    ],
    [
      'allow pods of a namespace by its labels',
      [
        policy({
          ingress: [{ from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'b' } } }] }],
        }),
      ],
      'to_10_244_0_2',
      ['ip saddr 10.244.0.4 return'],
    ],
    [
      'allow pods that match both selectors',
      [policy({ ingress: [{ from: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'worker' } } }] }] })],
      'to_10_244_0_2',
      ['ip saddr 10.244.0.3 return'],
    ],
    [
      'allow a port by its name in the pod',
      [policy({ ingress: [{ ports: [{ port: 'http' }] }] })],
      'to_10_244_0_2',
      ['tcp dport 8080 return'],
    ],
    [
      'allow nothing for an unknown port name',
      [policy({ ingress: [{ ports: [{ port: 'admin' }] }] })],
      'to_10_244_0_2',
      [],
    ],
    [
      'allow a range of ports',
      [policy({ ingress: [{ ports: [{ protocol: 'UDP', port: 53, endPort: 60 }] }] })],
      'to_10_244_0_2',
      ['udp dport 53-60 return'],
    ],
    [
      'allow an IP block without its exceptions',
      [
        policy({
          policyTypes: ['Egress'],
          egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', '10.96.0.1/32'] } }] }],
        }),
      ],
      'from_10_244_0_2',
      ['ip daddr 0.0.0.0/0 ip daddr != 169.254.0.0/16 ip daddr != 10.96.0.1/32 return'],
    ],
    [
      'allow nothing for an IP block with more exceptions than a rule supports',
      [
        policy({
          policyTypes: ['Egress'],
          egress: [
            {
              to: [
                { ipBlock: { cidr: '0.0.0.0/0', except: Array.from({ length: 33 }, (_, at) => `10.0.${at}.0/24`) } },
              ],
            },
          ],
        }),
      ],
      'from_10_244_0_2',
      [],
    ],
    ['allow everything for an empty rule', [policy({ ingress: [{}] })], 'to_10_244_0_2', ['return']],
    [
      'allow what any of two policies allows',
      [policy({}), policy({ ingress: [{ ports: [{ port: 80 }] }] })],
      'to_10_244_0_2',
      ['tcp dport 80 return'],
    ],
    [
      'match a pod without the label for NotIn',
      [policy({ podSelector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['front'] }] } })],
      'to_10_244_0_2',
      [],
    ],
  ]
  for (const [title, policies, name, expected] of cases) {
    it(title, () => {
      const rules = chain(name, policies)
      expect(rules?.slice(0, -1)).to.deep.equal(expected)
      if (rules !== undefined) expect(rules.at(-1)).to.match(/^counter drop/)
      // A set is empty for packets while the table is replaced.
      for (const rule of rules ?? []) expect(rule).to.not.match(/!= \{.*return$/)
    })
  }

  it('drop packets of pod addresses that are not known yet', () => {
    const text = rulesOf({ policies: [], pods: [web], namespaces })
    for (const side of ['saddr', 'daddr'])
      expect(text).to.contain(`ip ${side} 10.244.0.0/22 ip ${side} != { 10.244.0.2 } counter drop`)
  })

  it('ignore completed pods and pods with hostNetwork', () => {
    const ended = pod('a', 'x', '10.244.0.5', { status: { phase: 'Succeeded', podIP: '10.244.0.5' } })
    const own = pod('a', 'y', '10.200.0.1', { spec: { hostNetwork: true } })
    const text = rulesOf({ policies: [policy({})], pods: [ended, own], namespaces })
    expect(text).to.not.contain('jump')
  })
})
