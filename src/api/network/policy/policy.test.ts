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
import { POSSIBLE_POD_ADDRESSES } from './addresses.ts'
import type { CiliumPolicy } from './cilium.ts'

const INGRESS: readonly Case[] = [
  ['what no policy selects is open', 'Allowed', [], { rule: 'none' }],
  ['a policy of other pods closes nothing', 'Allowed', [kubernetes({ podSelector: { matchLabels: { app: 'web' } } })]],
  ['a policy of another namespace closes nothing', 'Allowed', [kubernetes(ALL, 'p', 'other')]],
  ['a policy without rules closes all that comes in', 'Denied', [kubernetes(ALL)], { rule: 'PlatformDefault' }],
  [
    'a policy for what goes out closes nothing that comes in',
    'Allowed',
    [kubernetes({ ...ALL, policyTypes: ['Egress'] })],
  ],
  ['a rule without peers and ports allows all', 'Allowed', [kubernetes({ ...ALL, ingress: [{}] })], { rule: 'p 0' }],
  ['an empty list of peers is everybody', 'Allowed', [fromPeers()]],
  ['pods of the own namespace are meant where no namespace is named', 'Allowed', [fromPeers({ podSelector: {} })]],
  ['pods of another namespace are not', 'Denied', [fromPeers({ podSelector: {} })], { from: stranger }],
  ['a namespace is chosen by its labels', 'Allowed', [fromPeers(OTHER)], { from: stranger }],
  [
    'namespace and pod in one peer have both to fit',
    'Denied',
    [fromPeers({ namespaceSelector: { matchLabels: labels('other') }, podSelector: { matchLabels: { app: 'no' } } })],
    { from: stranger },
  ],
  [
    'in two peers one of them is enough',
    'Allowed',
    [fromPeers(OTHER, { podSelector: { matchLabels: { app: 'no' } } })],
    { from: stranger },
  ],
  [
    'an empty namespace selector is every namespace',
    'Allowed',
    [fromPeers({ namespaceSelector: {} })],
    { from: stranger },
  ],
  ['an expression In takes a listed value', 'Allowed', [fromPeers(expressed('app', 'In', ['web', 'api']))]],
  ['an expression NotIn takes pods without the label', 'Allowed', [fromPeers(expressed('tier', 'NotIn', ['x']))]],
  ['an expression Exists asks for the label', 'Denied', [fromPeers(expressed('tier', 'Exists'))]],
  ['an expression DoesNotExist refuses the label', 'Denied', [fromPeers(expressed('app', 'DoesNotExist'))]],
  ['an operator that nobody knows takes nobody', 'Denied', [fromPeers(expressed('app', 'Like', ['web']))]],
  ['a label named like a property of every object is none', 'Denied', [fromPeers(expressed('constructor', 'Exists'))]],
  ['a port of another number does not fit', 'Denied', [onPorts({ port: 8081 })]],
  ['a port without protocol is TCP', 'Denied', [onPorts({ port: 8080 })], { protocol: 'UDP' }],
  ['a protocol without port is all its ports', 'Allowed', [onPorts({ protocol: 'UDP' })], { protocol: 'UDP' }],
  ['a range of ports holds its last one', 'Allowed', [onPorts({ port: 8000, endPort: 8080 })]],
  ['and nothing behind it', 'Denied', [onPorts({ port: 8000, endPort: 8079 })]],
  ['a port by name is that of the pod', 'Allowed', [onPorts({ port: 'http' })]],
  ['a name that the pod does not have fits nothing', 'Denied', [onPorts({ port: 'grpc' })]],
  [
    'a name tells nothing where no such pod runs',
    'Unknown',
    [onPorts({ port: 'http' })],
    { to: { ...db, ports: undefined } },
  ],
  [
    'a second policy adds to what is allowed',
    'Allowed',
    [kubernetes(ALL, 'a'), kubernetes({ ...ALL, ingress: [{}] }, 'b')],
    { rule: 'b 0' },
  ],
  ['a block of addresses takes a pod by its own', 'Allowed', [fromPeers(block('10.0.0.0/24'))]],
  ['but not where Cilium is', 'Denied', [fromPeers(block('10.0.0.0/24'))], { blocksTakePods: false }],
  [
    'a pod whose address is not known may be in a block or not',
    'Unknown',
    [fromPeers(block('10.0.0.0/24'))],
    { from: pod({ addresses: POSSIBLE_POD_ADDRESSES }) },
  ],
  [
    'a network within a block is allowed',
    'Allowed',
    [fromPeers(block('203.0.113.0/24'))],
    { from: outside('203.0.113.128/25') },
  ],
  [
    'a network that holds more than the block is allowed in part',
    'Unknown',
    [fromPeers(block('203.0.113.0/24'))],
    { from: outside('203.0.112.0/23') },
  ],
  [
    'two blocks together may hold it',
    'Allowed',
    [kubernetes({ ...ALL, ingress: [{ from: [block('203.0.113.0/24')] }, { from: [block('203.0.112.0/24')] }] })],
    { from: outside('203.0.112.0/23') },
  ],
  [
    'an exception is not in the block',
    'Denied',
    [fromPeers(block('203.0.113.0/24', '203.0.113.128/25'))],
    { from: outside('203.0.113.200/32') },
  ],
  [
    'networks of IPv6 are apart from those of IPv4',
    'Denied',
    [fromPeers(block('::/0'))],
    { from: outside('203.0.113.0/24') },
  ],
  [
    'a network of IPv6 fits its block',
    'Allowed',
    [fromPeers(block('2001:db8::/32'))],
    { from: outside('2001:db8:1::/48') },
  ],
  ['a block that is none holds nothing', 'Denied', [fromPeers(block('nonsense'))], { from: outside('0.0.0.0/0') }],
  [
    'selectors take nothing that is outside',
    'Denied',
    [fromPeers({ namespaceSelector: {} }, { podSelector: {} })],
    { from: internet },
  ],
  [
    'the Internet is allowed without networks that no router carries',
    'Allowed',
    [fromPeers(block('0.0.0.0/0', '10.0.0.0/8', '169.254.0.0/16'))],
    { from: internet },
  ],
  [
    'the Internet less a public network is not all of it',
    'Unknown',
    [fromPeers(block('0.0.0.0/0', '8.0.0.0/8'))],
    { from: internet },
  ],
]

const EGRESS: readonly Case[] = [
  ['a policy without types and with rules for it closes what goes out', 'Denied', [kubernetes({ ...ALL, egress: [] })]],
  ['a policy without types and without such rules does not', 'Allowed', [kubernetes(ALL)]],
  [
    'a port by name is that of the pod that is reached',
    'Allowed',
    [kubernetes({ ...ALL, egress: [{ ports: [{ port: 'http' }] }] })],
  ],
  [
    'outside no port has a name',
    'Denied',
    [kubernetes({ ...ALL, egress: [{ ports: [{ port: 'http' }] }] })],
    { to: internet },
  ],
  [
    'a host is not known where blocks allow most addresses',
    'Unknown',
    [kubernetes({ ...ALL, egress: [{ to: [block('0.0.0.0/0', '169.254.0.0/16')] }] })],
    { to: host('api.example.com') },
  ],
  [
    'a host is not known where no rule has its name',
    'Unknown',
    [kubernetes({ ...ALL, egress: [] })],
    { to: host('api.example.com') },
  ],
  [
    'a rule for everybody is for every host',
    'Allowed',
    [kubernetes({ ...ALL, egress: [{ ports: [{ port: 8080 }] }] })],
    { to: host('api.example.com') },
  ],
  [
    'Cilium allows a host by its name',
    'Allowed',
    [sends({ toFQDNs: [{ matchName: 'API.example.com' }] })],
    { to: host('api.example.com.') },
  ],
  [
    'a star in a name stands for no dot',
    'Unknown',
    [sends({ toFQDNs: [{ matchPattern: '*.example.com' }] })],
    { to: host('a.b.example.com') },
  ],
  [
    'a star stands for one part of a name',
    'Allowed',
    [sends({ toFQDNs: [{ matchPattern: '*.example.com' }] })],
    { to: host('a.example.com') },
  ],
  [
    'a name may be an address that is asked about',
    'Unknown',
    [sends({ toFQDNs: [{ matchPattern: '*' }] })],
    { to: outside('203.0.113.0/24') },
  ],
  ['the world is all that is outside', 'Allowed', [sends({ toEntities: ['world'] })], { to: internet }],
  ['the world is no pod', 'Denied', [sends({ toEntities: ['world'] })]],
  [
    'an API server may have the address that is asked about',
    'Unknown',
    [sends({ toEntities: ['kube-apiserver'] })],
    { to: outside('203.0.113.7/32') },
  ],
  ['services are not looked up', 'Unknown', [sends({ toServices: [{}] })]],
  [
    'a block with an exception',
    'Denied',
    [sends({ toCIDRSet: [{ cidr: '203.0.113.0/24', except: ['203.0.113.0/25'] }] })],
    { to: outside('203.0.113.1/32') },
  ],
  ['a group of addresses is not looked up', 'Unknown', [sends({ toCIDRSet: [{}] })], { to: outside('203.0.113.1/32') }],
]

const CILIUM: readonly Case[] = [
  ['an empty rule closes and allows nobody', 'Denied', [admits({})]],
  ['an empty list closes nothing', 'Allowed', [admits()]],
  [
    'a policy may say that it closes nothing',
    'Allowed',
    [cilium({ endpointSelector: {}, enableDefaultDeny: { ingress: false }, ingress: [{ fromEntities: ['none'] }] })],
  ],
  ['an empty selector of peers is the own namespace', 'Allowed', [admits({ fromEndpoints: [{}] })]],
  ['and not another', 'Denied', [admits({ fromEndpoints: [{}] })], { from: stranger }],
  [
    'in a cluster-wide policy it is every namespace',
    'Allowed',
    [clusterwide({ endpointSelector: {}, ingress: [{ fromEndpoints: [{}] }] })],
    { from: stranger },
  ],
  [
    'a namespace is named by a label',
    'Allowed',
    [admits({ fromEndpoints: [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'other' } }] })],
    { from: stranger },
  ],
  [
    'a namespace is chosen by its labels',
    'Allowed',
    [
      admits({
        fromEndpoints: [{ matchLabels: { 'io.cilium.k8s.namespace.labels.kubernetes.io/metadata.name': 'other' } }],
      }),
    ],
    { from: stranger },
  ],
  [
    'a label may say where it is from',
    'Allowed',
    [
      cilium({
        endpointSelector: { matchLabels: { 'k8s:app': 'db' } },
        ingress: [{ fromEndpoints: [{ matchLabels: { 'any:app': 'web' } }] }],
      }),
    ],
  ],
  [
    'a service account is a label',
    'Allowed',
    [admits({ fromEndpoints: [{ matchLabels: { 'io.cilium.k8s.policy.serviceaccount': 'default' } }] })],
  ],
  ['a cluster is a label, whose value is not known', 'Unknown', [admits({ fromEndpoints: [ofCluster('In', ['a'])] })]],
  [
    'every pod has it',
    'Allowed',
    [
      admits({ fromEndpoints: [ofCluster('Exists')] }),
      denies({ fromEndpoints: [ofCluster('DoesNotExist')] }, EVERYBODY),
    ],
  ],
  [
    'it decides nothing where any cluster may',
    'Allowed',
    [admits({ fromEndpoints: [ofCluster('In', ['a'])] }, { fromEndpoints: [ofCluster('NotIn', ['a'])] })],
  ],
  [
    'or where other labels do not fit',
    'Denied',
    [admits({ fromEndpoints: [{ matchLabels: { 'k8s:io.cilium.k8s.policy.cluster': 'a', app: 'no' } }] })],
  ],
  [
    'a deny may be for this cluster',
    'Unknown',
    [denies({ fromEndpoints: [{ matchLabels: { 'io.cilium.k8s.policy.cluster': 'a' } }] }, EVERYBODY)],
  ],
  ['and so may a policy that closes', 'Unknown', [cilium({ endpointSelector: ofCluster('In', ['a']), ingress: [{}] })]],
  [
    'it need not be, where another policy decides',
    'Denied',
    [cilium({ endpointSelector: ofCluster('In', ['a']), ingress: [{}] }), kubernetes(ALL)],
  ],
  [
    'ports alone are for everybody',
    'Allowed',
    [admits({ toPorts: [{ ports: [{ port: '8080' }] }] })],
    { from: stranger },
  ],
  ['port 0 is every port', 'Allowed', [admits({ toPorts: [{ ports: [{ port: '0', protocol: 'TCP' }] }] })]],
  [
    'a protocol of its own does not fit another',
    'Denied',
    [admits({ toPorts: [{ ports: [{ port: '8080', protocol: 'UDP' }] }] })],
  ],
  ['a rule for ICMP is for nothing else', 'Denied', [admits({ fromEntities: ['all'], icmps: [{}] })]],
  ['the cluster is every pod', 'Allowed', [admits(CLUSTER)], { from: stranger }],
  ['and its nodes, whose addresses are not known', 'Unknown', [admits(CLUSTER)], { from: outside('10.9.0.1') }],
  ['none of which is on the Internet', 'Denied', [admits(CLUSTER)], { from: internet }],
  ['a deny may be one of nodes', 'Unknown', [denies(CLUSTER, EVERYBODY)], { from: outside('10.9.0.1') }],
  ['blocks of addresses take no pods', 'Denied', [admits({ fromCIDR: ['0.0.0.0/0'] })]],
  [
    'a deny goes before an allow of Cilium',
    'Denied',
    [denies({ fromEndpoints: [{ matchLabels: { app: 'web' } }] }, { fromEntities: ['all'] })],
    { rule: 'c 0' },
  ],
  [
    'and before one of Kubernetes',
    'Denied',
    [kubernetes({ ...ALL, ingress: [{}] }), clusterwide({ endpointSelector: {}, ingressDeny: [CLUSTER] })],
  ],
  [
    'a deny on another port denies nothing',
    'Allowed',
    [denies({ fromEntities: ['all'], toPorts: [{ ports: [{ port: '22' }] }] }, { fromEntities: ['all'] })],
  ],
  [
    'a deny of a part leaves the rest',
    'Unknown',
    [denies({ fromCIDR: ['203.0.113.0/25'] }, { fromEntities: ['all'] })],
    { from: outside('203.0.113.0/24') },
  ],
  ['a deny that cannot be looked up may hold', 'Unknown', [denies({ fromGroups: [{}] }, { fromEntities: ['all'] })]],
  [
    'a policy of nodes is none of pods',
    'Allowed',
    [clusterwide({ nodeSelector: {}, ingress: [{}] } as CiliumPolicy['spec'])],
  ],
  [
    'a policy of Kubernetes closes beside one of Cilium that allows',
    'Allowed',
    [kubernetes(ALL), admits({ fromEntities: ['all'] })],
    { rule: 'c 0' },
  ],
]

describe('what policies say of a connection', () => {
  for (const [title, cases, direction] of [
    ['coming in', INGRESS, 'ingress'],
    ['going out', EGRESS, 'egress'],
    ['with Cilium', CILIUM, 'ingress'],
  ] as const)
    describe(title, () => {
      for (const [says, gives, policies, { rule, ...asked } = {}] of cases)
        it(`${says}: ${gives}`, () => {
          const side = judged(policies, asked, direction)
          expect(side.verdict, side.message).to.equal(gives)
          const ref = side.rule === null ? 'none' : `${side.rule.name} ${side.rule.ruleIndex}`
          if (rule !== undefined) expect([ref, side.rule?.kind]).to.include(rule)
        })
    })

  it('nothing is closed outside of the cluster', () => {
    expect(judged([kubernetes(ALL)], { to: internet })).to.include({ verdict: 'Allowed', isolated: false })
  })

  it('a rule that inspects requests is told of', () => {
    const side = judged([admits({ toPorts: [{ ports: [{ port: '8080' }], rules: { http: [{ method: 'GET' }] } }] })])
    expect(side.verdict).to.equal('Allowed')
    expect(side.warnings.join()).to.match(/inspects requests/)
  })

  it('a rule by labels is named before one by addresses', () => {
    const ingress = [{ from: [block('10.0.0.0/8')] }, { from: [{ podSelector: {} }] }]
    const side = judged([kubernetes({ ...ALL, ingress })])
    expect(side.rule).to.include({ ruleIndex: 1 })
    expect(side.warnings).to.deep.equal([])
  })
})
