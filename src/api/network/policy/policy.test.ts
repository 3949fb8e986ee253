import { expect } from 'chai'
import {
  ALL,
  admits,
  block,
  type Case,
  CLUSTER,
  cilium,
  clusterwide,
  db,
  denies,
  EVERYBODY,
  expressed,
  fromPeers,
  host,
  internet,
  judged,
  kubernetes,
  labels,
  OTHER,
  ofCluster,
  onPorts,
  outside,
  pod,
  sends,
  stranger,
} from '../../../../test/make/networkPolicies.ts'
import { metadataNetworks } from '../../../core/metadataServices.ts'
import { POSSIBLE_POD_ADDRESSES } from './addresses.ts'
import type { CiliumPolicy } from './cilium.ts'

const INGRESS: readonly Case[] = [
  ['a pod without policies', 'Allowed', [], { rule: 'none' }],
  ['a policy that selects other pods', 'Allowed', [kubernetes({ podSelector: { matchLabels: { app: 'web' } } })]],
  ['a policy of another namespace', 'Allowed', [kubernetes(ALL, 'p', 'other')]],
  ['a policy without rules', 'Denied', [kubernetes(ALL)], { rule: 'PlatformDefault' }],
  ['a policy of type Egress', 'Allowed', [kubernetes({ ...ALL, policyTypes: ['Egress'] })]],
  ['a rule without peers and ports', 'Allowed', [kubernetes({ ...ALL, ingress: [{}] })], { rule: 'p 0' }],
  ['an empty list of peers', 'Allowed', [fromPeers()]],
  ['a pod of the namespace and a peer without namespaceSelector', 'Allowed', [fromPeers({ podSelector: {} })]],
  [
    'a pod of another namespace and a peer without namespaceSelector',
    'Denied',
    [fromPeers({ podSelector: {} })],
    { from: stranger },
  ],
  ['a namespaceSelector with the labels of the namespace', 'Allowed', [fromPeers(OTHER)], { from: stranger }],
  [
    'a peer that matches the namespace but not the pod',
    'Denied',
    [fromPeers({ namespaceSelector: { matchLabels: labels('other') }, podSelector: { matchLabels: { app: 'no' } } })],
    { from: stranger },
  ],
  [
    'two peers of which one matches',
    'Allowed',
    [fromPeers(OTHER, { podSelector: { matchLabels: { app: 'no' } } })],
    { from: stranger },
  ],
  ['an empty namespaceSelector', 'Allowed', [fromPeers({ namespaceSelector: {} })], { from: stranger }],
  ['an expression In with the value of the label', 'Allowed', [fromPeers(expressed('app', 'In', ['web', 'api']))]],
  ['an expression NotIn without the label', 'Allowed', [fromPeers(expressed('tier', 'NotIn', ['x']))]],
  ['an expression Exists without the label', 'Denied', [fromPeers(expressed('tier', 'Exists'))]],
  ['an expression DoesNotExist with the label', 'Denied', [fromPeers(expressed('app', 'DoesNotExist'))]],
  ['an unknown operator', 'Denied', [fromPeers(expressed('app', 'Like', ['web']))]],
  ['an expression Exists with an inherited property', 'Denied', [fromPeers(expressed('constructor', 'Exists'))]],
  ['another port', 'Denied', [onPorts({ port: 8081 })]],
  ['UDP and a port without protocol', 'Denied', [onPorts({ port: 8080 })], { protocol: 'UDP' }],
  ['a protocol without port', 'Allowed', [onPorts({ protocol: 'UDP' })], { protocol: 'UDP' }],
  ['the last port of a range', 'Allowed', [onPorts({ port: 8000, endPort: 8080 })]],
  ['the port after a range', 'Denied', [onPorts({ port: 8000, endPort: 8079 })]],
  ['a named port of the pod', 'Allowed', [onPorts({ port: 'http' })]],
  ['a named port that the pod does not have', 'Denied', [onPorts({ port: 'grpc' })]],
  ['a named port if no pod runs', 'Unknown', [onPorts({ port: 'http' })], { to: { ...db, ports: undefined } }],
  [
    'a second policy that allows everything',
    'Allowed',
    [kubernetes(ALL, 'a'), kubernetes({ ...ALL, ingress: [{}] }, 'b')],
    { rule: 'b 0' },
  ],
  ['an ipBlock with the address of the pod', 'Allowed', [fromPeers(block('10.0.0.0/24'))]],
  [
    'an ipBlock with the address of the pod on Cilium',
    'Denied',
    [fromPeers(block('10.0.0.0/24'))],
    { blocksTakePods: false },
  ],
  [
    'an ipBlock and a pod with an unknown address',
    'Unknown',
    [fromPeers(block('10.0.0.0/24'))],
    { from: pod({ addresses: POSSIBLE_POD_ADDRESSES }) },
  ],
  [
    'a network within an ipBlock',
    'Allowed',
    [fromPeers(block('203.0.113.0/24'))],
    { from: outside('203.0.113.128/25') },
  ],
  [
    'a network larger than the ipBlock',
    'Unknown',
    [fromPeers(block('203.0.113.0/24'))],
    { from: outside('203.0.112.0/23') },
  ],
  [
    'a network covered by two ipBlocks',
    'Allowed',
    [kubernetes({ ...ALL, ingress: [{ from: [block('203.0.113.0/24')] }, { from: [block('203.0.112.0/24')] }] })],
    { from: outside('203.0.112.0/23') },
  ],
  [
    'an address in the exception of an ipBlock',
    'Denied',
    [fromPeers(block('203.0.113.0/24', '203.0.113.128/25'))],
    { from: outside('203.0.113.200/32') },
  ],
  ['an IPv4 network and an IPv6 ipBlock', 'Denied', [fromPeers(block('::/0'))], { from: outside('203.0.113.0/24') }],
  [
    'an IPv6 network within an ipBlock',
    'Allowed',
    [fromPeers(block('2001:db8::/32'))],
    { from: outside('2001:db8:1::/48') },
  ],
  ['an invalid ipBlock', 'Denied', [fromPeers(block('nonsense'))], { from: outside('0.0.0.0/0') }],
  [
    'the Internet and peers with selectors',
    'Denied',
    [fromPeers({ namespaceSelector: {} }, { podSelector: {} })],
    { from: internet },
  ],
  [
    'the Internet and an ipBlock except private networks',
    'Allowed',
    [fromPeers(block('0.0.0.0/0', '10.0.0.0/8', '169.254.0.0/16'))],
    { from: internet },
  ],
  [
    'the Internet and an ipBlock except a public network',
    'Unknown',
    [fromPeers(block('0.0.0.0/0', '8.0.0.0/8'))],
    { from: internet },
  ],
]

const EGRESS: readonly Case[] = [
  ['a policy without types and with empty egress rules', 'Denied', [kubernetes({ ...ALL, egress: [] })]],
  ['a policy without types and without egress rules', 'Allowed', [kubernetes(ALL)]],
  ['a named port of the target pod', 'Allowed', [kubernetes({ ...ALL, egress: [{ ports: [{ port: 'http' }] }] })]],
  [
    'a named port to the Internet',
    'Denied',
    [kubernetes({ ...ALL, egress: [{ ports: [{ port: 'http' }] }] })],
    { to: internet },
  ],
  [
    'the Internet and what a group may reach',
    'Allowed',
    [kubernetes({ ...ALL, egress: [{ to: [block('0.0.0.0/0', '169.254.0.0/16', ...metadataNetworks(4))] }] })],
    { to: internet },
  ],
  [
    'a host and an ipBlock of most addresses',
    'Unknown',
    [kubernetes({ ...ALL, egress: [{ to: [block('0.0.0.0/0', '169.254.0.0/16')] }] })],
    { to: host('api.example.com') },
  ],
  ['a host that no rule names', 'Unknown', [kubernetes({ ...ALL, egress: [] })], { to: host('api.example.com') }],
  [
    'a host and a rule without peers',
    'Allowed',
    [kubernetes({ ...ALL, egress: [{ ports: [{ port: 8080 }] }] })],
    { to: host('api.example.com') },
  ],
  [
    'a host that toFQDNs names',
    'Allowed',
    [sends({ toFQDNs: [{ matchName: 'API.example.com' }] })],
    { to: host('api.example.com.') },
  ],
  [
    'a host with two labels for the wildcard of toFQDNs',
    'Unknown',
    [sends({ toFQDNs: [{ matchPattern: '*.example.com' }] })],
    { to: host('a.b.example.com') },
  ],
  [
    'a host with one label for the wildcard of toFQDNs',
    'Allowed',
    [sends({ toFQDNs: [{ matchPattern: '*.example.com' }] })],
    { to: host('a.example.com') },
  ],
  [
    'a network and toFQDNs',
    'Unknown',
    [sends({ toFQDNs: [{ matchPattern: '*' }] })],
    { to: outside('203.0.113.0/24') },
  ],
  ['the Internet and the entity world', 'Allowed', [sends({ toEntities: ['world'] })], { to: internet }],
  ['a pod and the entity world', 'Denied', [sends({ toEntities: ['world'] })]],
  [
    'an address and the entity kube-apiserver',
    'Unknown',
    [sends({ toEntities: ['kube-apiserver'] })],
    { to: outside('203.0.113.7/32') },
  ],
  ['toServices', 'Unknown', [sends({ toServices: [{}] })]],
  [
    'an address in the exception of toCIDRSet',
    'Denied',
    [sends({ toCIDRSet: [{ cidr: '203.0.113.0/24', except: ['203.0.113.0/25'] }] })],
    { to: outside('203.0.113.1/32') },
  ],
  ['a toCIDRSet without cidr', 'Unknown', [sends({ toCIDRSet: [{}] })], { to: outside('203.0.113.1/32') }],
]

const CILIUM: readonly Case[] = [
  ['an empty rule', 'Denied', [admits({})]],
  ['an empty list of rules', 'Allowed', [admits()]],
  [
    'a policy with enableDefaultDeny false',
    'Allowed',
    [cilium({ endpointSelector: {}, enableDefaultDeny: { ingress: false }, ingress: [{ fromEntities: ['none'] }] })],
  ],
  ['a pod of the namespace and an empty fromEndpoints selector', 'Allowed', [admits({ fromEndpoints: [{}] })]],
  [
    'a pod of another namespace and an empty fromEndpoints selector',
    'Denied',
    [admits({ fromEndpoints: [{}] })],
    { from: stranger },
  ],
  [
    'an empty fromEndpoints selector in a cluster-wide policy',
    'Allowed',
    [clusterwide({ endpointSelector: {}, ingress: [{ fromEndpoints: [{}] }] })],
    { from: stranger },
  ],
  [
    'a label with the name of the namespace',
    'Allowed',
    [admits({ fromEndpoints: [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'other' } }] })],
    { from: stranger },
  ],
  [
    'labels of the namespace in fromEndpoints',
    'Allowed',
    [
      admits({
        fromEndpoints: [{ matchLabels: { 'io.cilium.k8s.namespace.labels.kubernetes.io/metadata.name': 'other' } }],
      }),
    ],
    { from: stranger },
  ],
  [
    'labels with the prefixes k8s and any',
    'Allowed',
    [
      cilium({
        endpointSelector: { matchLabels: { 'k8s:app': 'db' } },
        ingress: [{ fromEndpoints: [{ matchLabels: { 'any:app': 'web' } }] }],
      }),
    ],
  ],
  [
    'the label of the service account',
    'Allowed',
    [admits({ fromEndpoints: [{ matchLabels: { 'io.cilium.k8s.policy.serviceaccount': 'default' } }] })],
  ],
  [
    'the label of the cluster, whose value is unknown',
    'Unknown',
    [admits({ fromEndpoints: [ofCluster('In', ['a'])] })],
  ],
  [
    'Exists and DoesNotExist of the cluster label',
    'Allowed',
    [
      admits({ fromEndpoints: [ofCluster('Exists')] }),
      denies({ fromEndpoints: [ofCluster('DoesNotExist')] }, EVERYBODY),
    ],
  ],
  [
    'rules for a cluster and for all others',
    'Allowed',
    [admits({ fromEndpoints: [ofCluster('In', ['a'])] }, { fromEndpoints: [ofCluster('NotIn', ['a'])] })],
  ],
  [
    'a cluster label beside a label that does not match',
    'Denied',
    [admits({ fromEndpoints: [{ matchLabels: { 'k8s:io.cilium.k8s.policy.cluster': 'a', app: 'no' } }] })],
  ],
  [
    'a deny with a cluster label',
    'Unknown',
    [denies({ fromEndpoints: [{ matchLabels: { 'io.cilium.k8s.policy.cluster': 'a' } }] }, EVERYBODY)],
  ],
  [
    'a policy that selects by a cluster label',
    'Unknown',
    [cilium({ endpointSelector: ofCluster('In', ['a']), ingress: [{}] })],
  ],
  [
    'a policy that selects by a cluster label, and one that denies',
    'Denied',
    [cilium({ endpointSelector: ofCluster('In', ['a']), ingress: [{}] }), kubernetes(ALL)],
  ],
  ['a rule with ports only', 'Allowed', [admits({ toPorts: [{ ports: [{ port: '8080' }] }] })], { from: stranger }],
  ['port 0', 'Allowed', [admits({ toPorts: [{ ports: [{ port: '0', protocol: 'TCP' }] }] })]],
  ['a port with another protocol', 'Denied', [admits({ toPorts: [{ ports: [{ port: '8080', protocol: 'UDP' }] }] })]],
  ['a rule for ICMP', 'Denied', [admits({ fromEntities: ['all'], icmps: [{}] })]],
  ['a pod and the entity cluster', 'Allowed', [admits(CLUSTER)], { from: stranger }],
  [
    'an address and the entity cluster, whose nodes are unknown',
    'Unknown',
    [admits(CLUSTER)],
    { from: outside('10.9.0.1') },
  ],
  ['the Internet and the entity cluster', 'Denied', [admits(CLUSTER)], { from: internet }],
  [
    'an address and a deny for the entity cluster',
    'Unknown',
    [denies(CLUSTER, EVERYBODY)],
    { from: outside('10.9.0.1') },
  ],
  ['a pod and fromCIDR', 'Denied', [admits({ fromCIDR: ['0.0.0.0/0'] })]],
  [
    'a deny and an allow of Cilium',
    'Denied',
    [denies({ fromEndpoints: [{ matchLabels: { app: 'web' } }] }, { fromEntities: ['all'] })],
    { rule: 'c 0' },
  ],
  [
    'a deny of Cilium and an allow of Kubernetes',
    'Denied',
    [kubernetes({ ...ALL, ingress: [{}] }), clusterwide({ endpointSelector: {}, ingressDeny: [CLUSTER] })],
  ],
  [
    'a deny for another port',
    'Allowed',
    [denies({ fromEntities: ['all'], toPorts: [{ ports: [{ port: '22' }] }] }, { fromEntities: ['all'] })],
  ],
  [
    'a network of which a part is denied',
    'Unknown',
    [denies({ fromCIDR: ['203.0.113.0/25'] }, { fromEntities: ['all'] })],
    { from: outside('203.0.113.0/24') },
  ],
  ['a deny with fromGroups', 'Unknown', [denies({ fromGroups: [{}] }, { fromEntities: ['all'] })]],
  ['a policy of nodes', 'Allowed', [clusterwide({ nodeSelector: {}, ingress: [{}] } as CiliumPolicy['spec'])]],
  [
    'a NetworkPolicy that isolates beside a Cilium policy that allows',
    'Allowed',
    [kubernetes(ALL), admits({ fromEntities: ['all'] })],
    { rule: 'c 0' },
  ],
]

describe('judgeSide', () => {
  for (const [title, cases, direction] of [
    ['for ingress', INGRESS, 'ingress'],
    ['for egress', EGRESS, 'egress'],
    ['with Cilium policies', CILIUM, 'ingress'],
  ] as const)
    describe(title, () => {
      for (const [condition, verdict, policies, { rule, ...question } = {}] of cases)
        it(`returns ${verdict} for ${condition}`, () => {
          const side = judged(policies, question, direction)
          expect(side.verdict, side.message).to.equal(verdict)
          const ref = side.rule === null ? 'none' : `${side.rule.name} ${side.rule.ruleIndex}`
          if (rule !== undefined) expect([ref, side.rule?.kind]).to.include(rule)
        })
    })

  it('returns Allowed without isolation for a target outside of the cluster', () => {
    expect(judged([kubernetes(ALL)], { to: internet })).to.include({ verdict: 'Allowed', isolated: false })
  })

  it('warns of a rule that inspects requests', () => {
    const side = judged([admits({ toPorts: [{ ports: [{ port: '8080' }], rules: { http: [{ method: 'GET' }] } }] })])
    expect(side.verdict).to.equal('Allowed')
    expect(side.warnings.join()).to.match(/inspects requests/)
  })

  it('reports a rule with selectors before one with addresses', () => {
    const ingress = [{ from: [block('10.0.0.0/8')] }, { from: [{ podSelector: {} }] }]
    const side = judged([kubernetes({ ...ALL, ingress })])
    expect(side.rule).to.include({ ruleIndex: 1 })
    expect(side.warnings).to.deep.equal([])
  })
})
