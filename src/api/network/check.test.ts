import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { namespace, networkPolicy, pod } from '../../kube/builtin.ts'
import { ciliumNetworkPolicy } from '../../kube/cilium.ts'
import type { FakeKubeClient } from '../../kube/fake.ts'

const FAR = '88888888-8888-4888-8888-888888888888'
const HOME = groupNamespace(BOUNDARY, 'shop')
const PATH = `/boundaries/${BOUNDARY}/network/check`
const search = { kind: 'Resource', name: 'search', resourceGroup: 'shop' }
const shop = { kind: 'Pods', resourceGroup: 'shop', labels: { app: 'web' } }

type Server = Awaited<ReturnType<typeof startShop>>

/** Seeds the namespace of a group with the NetworkPolicy of the platform and a pod. */
function seedNamespace(client: FakeKubeClient, labels: Record<string, string>): void {
  const metadata = (name: string) => ({ name, namespace: HOME })
  client.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME, labels: {} } })
  const ingress = [{ from: [{ podSelector: {} }] }]
  const closed = { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress, egress: [{}] }
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }
  client.seed(networkPolicy, { ...policy, metadata: metadata('freehold-default'), spec: closed })
  client.seed(pod, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata('vc-search-0'), labels } },
    status: { phase: 'Running', podIP: '10.0.0.9' },
  })
}

describe('POST {B}/network/check', () => {
  let server: Server
  const ask = async (body: object) => {
    const answer = await server.ask('post', PATH).send({ from: shop, to: search, port: 6333, protocol: 'Tcp', ...body })
    return { status: answer.status, ...answer.body }
  }
  beforeEach(async () => {
    server = await startShop()
    server.put(VectorCluster, 'search', {}, HOME)
    seedNamespace(server.client, ownerSelector('VectorCluster', 'search'))
  })
  afterEach(() => server.stop())

  it('returns the verdict, both sides and the matching pods', async () => {
    const answer = await ask({})
    expect(answer).to.include({ status: 200, allowed: true, verdict: 'Allowed' })
    expect(answer.decidedBy).to.include({ kind: 'NetworkPolicy', name: 'freehold-default', ruleIndex: 0 })
    expect(answer.egress).to.include({ verdict: 'Allowed', isolated: true })
    expect(answer).to.deep.include({ fromMatches: [], toMatches: ['vc-search-0'] })
  })

  it('returns Denied by PlatformDefault if no rule allows it', async () => {
    const answer = await ask({ from: { kind: 'Internet' } })
    expect(answer).to.include({ allowed: false, verdict: 'Denied' })
    expect(answer.decidedBy).to.include({ kind: 'PlatformDefault', effect: 'Deny', text: 'no rule allows it' })
  })

  it('applies the allowedCidrs of a resource', async () => {
    server.put(VectorCluster, 'search', { enableLoadBalancer: true, allowedCidrs: '203.0.113.0/24' }, HOME)
    const answer = await ask({ from: { kind: 'Cidr', value: '198.51.100.0/24' } })
    expect(answer.decidedBy).to.include({ kind: 'AllowedCidrs', name: 'search', effect: 'Deny' })
  })

  it('returns Unknown for a resource without pods', async () => {
    server.put(VectorCluster, 'idle', {}, HOME)
    const answer = await ask({ to: { ...search, name: 'idle' } })
    expect(answer).to.include({ allowed: false, verdict: 'Unknown' })
    expect(answer.egress.message).to.match(/"idle" has no pods/)
  })

  it('returns Unknown for a host that no rule names', async () => {
    server.client.seed(networkPolicy, {
      ...{
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'freehold-default', namespace: HOME },
      },
      spec: { podSelector: {}, policyTypes: ['Egress'], egress: [] },
    })
    expect(await ask({ from: search, to: { kind: 'Host', value: 'api.example.com' } })).to.include({
      verdict: 'Unknown',
    })
  })

  it('evaluates CiliumNetworkPolicies', async () => {
    server.client.seed(ciliumNetworkPolicy, {
      ...{ apiVersion: 'cilium.io/v2', kind: 'CiliumNetworkPolicy', metadata: { name: 'no', namespace: HOME } },
      spec: { endpointSelector: {}, ingressDeny: [{ fromEntities: ['all'] }] },
    })
    expect((await ask({})).decidedBy).to.include({ kind: 'CiliumNetworkPolicy', name: 'no', effect: 'Deny' })
  })

  it('returns Unknown with a warning for a cluster that cannot be queried', async () => {
    const record = { name: 'far', displayName: 'Far', domain: 'far.test' }
    server.put(PlatformCluster, FAR, record)
    server.put(BoundaryProjection, FAR, { clusterId: FAR }, boundaryNamespace(BOUNDARY))
    const answer = await ask({ clusterId: FAR })
    expect(answer).to.include({ status: 200, verdict: 'Unknown', clusterId: FAR })
    expect(answer.warnings.join()).to.match(/Cluster "Far" cannot be queried: it is AwaitingJoin/)
  })

  for (const [title, body, status, code, field] of [
    ['a missing name', { to: { kind: 'Resource', resourceGroup: 'shop' } }, 400, 'BAD_REQUEST', 'to.name'],
    ['a field that the kind does not use', { to: { kind: 'Internet', value: 'x' } }, 400, 'BAD_REQUEST', 'to.value'],
    ['a network with host bits', { to: { kind: 'Cidr', value: '10.0.0.1/8' } }, 400, 'BAD_REQUEST', 'to.value'],
    ['an empty network', { to: { kind: 'Cidr', value: '' } }, 400, 'BAD_REQUEST', 'to.value'],
    ['an empty host', { to: { kind: 'Host', value: '' } }, 400, 'BAD_REQUEST', 'to.value'],
    ['an invalid host', { to: { kind: 'Host', value: 'a b' } }, 400, 'BAD_REQUEST', 'to.value'],
    [
      'two ends outside of the cluster',
      { from: { kind: 'Internet' }, to: { kind: 'Internet' } },
      400,
      'BAD_REQUEST',
      'to.kind',
    ],
    ['port 0', { port: 0 }, 400, 'BAD_REQUEST', 'port'],
    ['an unknown protocol', { protocol: 'Icmp' }, 400, 'BAD_REQUEST', 'protocol'],
    ['an unknown group', { to: { ...shop, resourceGroup: 'none' } }, 422, 'REFERENCE_NOT_FOUND', 'to.resourceGroup'],
    ['an unknown resource', { to: { ...search, name: 'none' } }, 422, 'REFERENCE_NOT_FOUND', 'to.name'],
    ['a cluster without a projection of the boundary', { clusterId: FAR }, 422, 'CLUSTER_NOT_PROJECTED', 'clusterId'],
  ] as const)
    it(`rejects ${title} with ${status}`, async () => {
      const answer = await ask(body)
      expect(answer).to.include({ status, code })
      expect(answer.field ?? answer.errors[0].field).to.equal(field)
    })
})
