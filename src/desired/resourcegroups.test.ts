import { expect } from 'chai'
import { metadataNetworks } from '../core/metadataServices.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../core/namespaces.ts'
import type { Boundary } from '../crds/boundaries.ts'
import { initialOwnerAssignment } from './boundaries.ts'
import { closedNetworkPolicy, groupNetworkPolicy } from './isolation.ts'
import { groupLimitRange, groupResourceQuota, secretBindings } from './resourcegroups.ts'

const ID = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const OWNER = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a11'

const boundary = (spec: Partial<Boundary['spec']> = {}): Boundary => ({
  apiVersion: 'freehold.dev/v1alpha1',
  kind: 'Boundary',
  metadata: { name: ID, uid: 'uid-1', annotations: { 'freehold.dev/incarnation': 'inc-1' } },
  spec: { displayName: 'Shop', quota: {}, tags: {}, ...spec },
})

describe('objects of a boundary', () => {
  it('start with a namespace with owner labels and without an owner reference', () => {
    expect(boundaryNamespaceObject(boundary())).to.deep.equal({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: `boundary-${ID}`,
        labels: {
          'pod-security.kubernetes.io/enforce': 'restricted',
          'pod-security.kubernetes.io/enforce-version': 'latest',
          'pod-security.kubernetes.io/warn': 'restricted',
          'app.kubernetes.io/managed-by': 'freehold',
          'freehold.dev/boundary': ID,
          'freehold.dev/owner-kind': 'Boundary',
          'freehold.dev/owner-name': ID,
        },
        annotations: { 'freehold.dev/incarnation-of-owner': 'inc-1' },
      },
    })
  })

  it('deny all traffic in the boundary namespace', () => {
    expect(closedNetworkPolicy('n')).to.deep.equal({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'freehold-default', namespace: 'n' },
      spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
    })
  })

  it('assign Owner to the initial owner with a name derived from the incarnation', () => {
    const initialOwner = { principalId: OWNER, principalType: 'User' } as const
    const assignment = initialOwnerAssignment(boundary({ initialOwner }), 'inc-1')
    expect(assignment).to.deep.equal({
      apiVersion: 'iam.freehold.dev/v1alpha1',
      kind: 'RoleAssignment',
      metadata: { name: assignment?.metadata.name, namespace: `boundary-${ID}` },
      spec: {
        principalId: OWNER,
        principalType: 'User',
        roleDefinitionName: 'Owner',
        scope: `/boundaries/${ID}`,
        scopeIncarnation: 'inc-1',
      },
    })
    expect(assignment?.metadata.name).to.match(/^[0-9a-f-]{36}$/)
    expect(initialOwnerAssignment(boundary({ initialOwner }), 'inc-1')).to.deep.equal(assignment)
    expect(initialOwnerAssignment(boundary({ initialOwner }), 'inc-2')?.metadata.name).not.to.equal(
      assignment?.metadata.name,
    )
  })

  it('include no assignment without an initial owner', () => {
    expect(initialOwnerAssignment(boundary(), 'inc-1')).to.equal(undefined)
  })
})

describe('objects of a resource group', () => {
  it('start with a namespace of the incarnation of the group', () => {
    const { metadata } = groupNamespaceObject(ID, 'orders', 'inc-2')
    expect(metadata.name).to.match(/^orders-[0-9a-f]{10}$/)
    expect(metadata.labels).to.deep.equal({
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/enforce-version': 'latest',
      'pod-security.kubernetes.io/warn': 'restricted',
      'app.kubernetes.io/managed-by': 'freehold',
      'freehold.dev/boundary': ID,
      'freehold.dev/resource-group': 'orders',
      'freehold.dev/owner-kind': 'ResourceGroup',
      'freehold.dev/owner-name': 'orders',
    })
    expect(metadata.annotations).to.deep.equal({
      'freehold.dev/incarnation-of-owner': 'inc-2',
      'freehold.dev/owner-namespace': `boundary-${ID}`,
    })
    expect(metadata.ownerReferences).to.equal(undefined)
  })

  it('bind Secret roles to the accounts of controllers and facade', () => {
    const account = (name: string) => [{ kind: 'ServiceAccount', name, namespace: 'freehold-system' }]
    const role = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name })
    const binding = (name: string, roleName: string, accountName: string) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name, namespace: 'n' },
      roleRef: role(roleName),
      subjects: account(accountName),
    })
    expect(secretBindings('n')).to.deep.equal([
      binding('freehold-controllers-secrets', 'freehold-secrets', 'freehold-controllers'),
      binding('freehold-facade-secrets', 'freehold-facade-secrets', 'freehold-facade'),
    ])
  })

  it('let pods reach their group, the platform, name servers and addresses outside, and be reached by the first two', () => {
    const own = [
      { podSelector: {} },
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'freehold-system' } } },
    ]
    const nameServers = [
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
      { ipBlock: { cidr: '169.254.20.10/32' } },
    ]
    const dns = [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
    ]
    const outside = [
      { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', ...metadataNetworks(4), '10.96.0.1/32'] } },
      { ipBlock: { cidr: '::/0', except: ['fe80::/10', ...metadataNetworks(6), 'fd00::1/128'] } },
    ]
    expect(groupNetworkPolicy('n', ['10.96.0.1/32', 'fd00::1/128'])).to.deep.equal({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'freehold-default', namespace: 'n' },
      spec: {
        podSelector: {},
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: own }],
        egress: [{ to: own }, { to: nameServers, ports: dns }, { to: outside }],
      },
    })
  })

  it('deny egress to link-local networks and to every metadata service of a cloud', () => {
    const { egress } = groupNetworkPolicy('n').spec as { egress: { to: { ipBlock?: { except: string[] } }[] }[] }
    const closed = egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock?.except ?? []))
    expect(closed).to.have.members(['169.254.0.0/16', 'fe80::/10', ...metadataNetworks(4), ...metadataNetworks(6)])
  })

  it('limit requests by the quota and set default requests', () => {
    const quota = { cpu: '4', memory: '8Gi', storage: '100Gi', pods: 20, resources: 5 }
    expect(groupResourceQuota('n', quota)?.spec).to.deep.equal({
      hard: { 'requests.cpu': '4', 'requests.memory': '8Gi', 'requests.storage': '100Gi', pods: '20' },
    })
    const share = { limit: '4Gi', request: '128Mi' }
    expect(groupLimitRange('n', quota, share).spec).to.deep.equal({
      limits: [
        {
          type: 'Container',
          default: { 'ephemeral-storage': '4Gi' },
          defaultRequest: { cpu: '10m', memory: '32Mi', 'ephemeral-storage': '128Mi' },
        },
      ],
    })
  })

  it('include no ResourceQuota if the quota limits nothing that Kubernetes counts', () => {
    expect(groupResourceQuota('n', { resources: 5 })).to.equal(undefined)
  })

  it('set default disk requests and limits without a disk quota', () => {
    expect(groupLimitRange('n', { pods: 5 }, { limit: '1Gi', request: '2Gi' }).spec).to.deep.equal({
      limits: [
        {
          type: 'Container',
          default: { 'ephemeral-storage': '1Gi' },
          defaultRequest: { 'ephemeral-storage': '1Gi' },
        },
      ],
    })
  })
})
