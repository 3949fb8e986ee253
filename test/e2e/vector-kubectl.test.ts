import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { NameClaim } from '../../src/crds/nameclaims.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import {
  ingress,
  networkPolicy,
  persistentVolumeClaim,
  pod,
  secret,
  service,
  statefulSet,
} from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { until } from '../make/until.ts'
import { kubectl as runKubectl } from '../worlds/kubectl.ts'
import { administrator, removeGroups } from '../worlds/tenant.ts'

describe('vector databases with kubectl', () => {
  const boundaryId = randomUUID()
  const namespace = groupNamespace(boundaryId, 'search')
  let client: KubeClient

  const kubectl = (...words: string[]) => runKubectl(words)
  const apply = (input: object) => runKubectl(['apply', '-f', '-'], { input })
  const cluster = (name: string, spec: object = {}) => ({
    apiVersion: VectorCluster.apiVersion,
    kind: 'VectorCluster',
    metadata: { name, namespace },
    spec,
  })
  const patch = (name: string, spec: object) =>
    kubectl('-n', namespace, 'patch', 'vc', name, '--type=merge', '-p', JSON.stringify({ spec }))

  async function stored(name: string): Promise<VectorCluster> {
    return (await client.get(VectorCluster.resource, { namespace, name })) as unknown as VectorCluster
  }
  /** Waits until the controller has finished with the newest generation and says this. */
  const says = (name: string, phase: string) =>
    until(`${name} is ${phase}`, async () => {
      const { metadata, status } = await stored(name)
      if (status?.observedGeneration === metadata.generation && status?.phase === phase) return status
      throw new Error(`${status?.status} ${status?.phase}: ${status?.statusMessage}`)
    })
  const isGone = async (resource: Parameters<KubeClient['get']>[0], ref: { namespace?: string; name: string }) => {
    try {
      await client.get(resource, ref)
      return false
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return true
      throw error
    }
  }
  const claims = async (name: string) =>
    (await client.list(persistentVolumeClaim, { namespace })).items
      .map(({ metadata }) => metadata.name)
      .filter((each) => each.startsWith(`storage-vc-${name}-`))
      .sort()

  before(async () => {
    client = await administrator()
    await apply({
      apiVersion: Boundary.apiVersion,
      kind: 'Boundary',
      metadata: { name: boundaryId },
      spec: { displayName: 'Vector test' },
    })
    await kubectl('wait', '--for=condition=Ready', `boundary/${boundaryId}`, '--timeout=2m')
    await apply({
      apiVersion: ResourceGroup.apiVersion,
      kind: 'ResourceGroup',
      metadata: { name: 'search', namespace: boundaryNamespace(boundaryId) },
    })
    await kubectl('-n', boundaryNamespace(boundaryId), 'wait', '--for=condition=Ready', 'rg/search', '--timeout=2m')
  })

  after(async () => {
    await removeGroups(client, boundaryId)
    await client?.close()
  })

  it('becomes ready from an empty spec', async () => {
    await apply(cluster('empty'))
    await kubectl('-n', namespace, 'wait', '--for=condition=Ready', 'vc/empty', '--timeout=2m')
    const { spec, status } = await stored('empty')
    expect(spec).to.include({ replicas: 1, running: true, apiKeyVersion: 1 })
    expect(status).to.include({ readyReplicas: 1, status: 'Running', apiKeyVersion: 1 })
    const keys = (await client.get(secret, { namespace, name: 'vc-empty-apikey' })).data as Record<string, string>
    expect(Buffer.from(keys['api-key'] ?? '', 'base64').toString()).to.match(/^[A-Za-z0-9_-]{43}$/)
  })

  it('rotates its keys', async () => {
    const before = (await client.get(secret, { namespace, name: 'vc-empty-apikey' })).data as Record<string, string>
    await patch('empty', { apiKeyVersion: 2 })
    await until('the new key works', async () => (await stored('empty')).status?.apiKeyVersion === 2)
    await says('empty', 'Available')
    const after = (await client.get(secret, { namespace, name: 'vc-empty-apikey' })).data as Record<string, string>
    expect(after['api-key']).not.to.equal(before['api-key'])
    expect(Object.keys(after)).to.include('api-key.v2').and.not.include('api-key.v1')
  })

  it('scales with kubectl scale, up and down to one peer with one volume', async () => {
    await kubectl('-n', namespace, 'scale', 'vc/empty', '--replicas=3')
    await until('three peers are ready', async () => (await stored('empty')).status?.readyReplicas === 3)
    await says('empty', 'Available')
    expect(await claims('empty')).to.have.length(3)
    await kubectl('-n', namespace, 'scale', 'vc/empty', '--replicas=1')
    await until('one volume is left', async () => (await claims('empty')).length === 1)
    await says('empty', 'Available')
    expect((await client.list(pod, { namespace })).items.map(({ metadata }) => metadata.name)).to.include('vc-empty-0')
  })

  it('stops, starts and restarts', async () => {
    await patch('empty', { running: false })
    expect(await says('empty', 'Stopped')).to.include({ status: 'Stopped', readyReplicas: 0 })
    expect(await claims('empty')).to.have.length(1)
    const restartedAt = '2026-11-21T10:00:00Z'
    await patch('empty', { running: true, restartedAt })
    await until('it was restarted', async () => (await stored('empty')).status?.restartedAt === restartedAt)
    await says('empty', 'Available')
  })

  it('claims a host and an address on demand, and releases both', async () => {
    await patch('empty', { enableIngress: true, enableLoadBalancer: true, allowedCidrs: '203.0.113.0/24' })
    const status = await until('it has an address', async () => {
      const condition = await says('empty', 'Available')
      return condition.externalAddresses?.length === 1 && condition
    })
    expect(status.ingressHost).to.match(/^empty-[0-9a-f]{8}\./)
    const held = async () =>
      (await client.list(NameClaim.resource)).items.filter(
        (claim) => (claim as unknown as NameClaim).spec.value === status.ingressHost,
      )
    expect(await held()).to.have.length(1)
    await patch('empty', { enableIngress: false, enableLoadBalancer: false })
    await until('the host is free', async () => (await held()).length === 0)
    await until('the Service is deleted', () => isGone(service, { namespace, name: 'vcpublic-empty' }))
  })

  it('restricts networks and rotates keys also while its plan is missing', async () => {
    const ways = async () => {
      const lists = await Promise.all([ingress, service, networkPolicy].map((type) => client.list(type, { namespace })))
      return JSON.stringify(
        lists.flatMap(({ items }) => items.filter(({ metadata }) => /narrowed$/.test(metadata.name))),
      )
    }
    const allowedCidrs = '203.0.113.0/24,198.51.100.0/24'
    await apply(cluster('narrowed', { enableIngress: true, enableLoadBalancer: true, allowedCidrs }))
    await says('narrowed', 'Available')
    expect(await ways()).to.include('198.51.100.0/24')
    await patch('narrowed', { computePlan: 'absent', allowedCidrs: '203.0.113.0/24' })
    await says('narrowed', 'PlanNotFound')
    expect(await ways())
      .to.include('203.0.113.0/24')
      .and.not.include('198.51.100.0/24')
    await patch('narrowed', { apiKeyVersion: 2 })
    await until('the new key works, and the former one is rejected', async () => {
      const { data } = await client.get(secret, { namespace, name: 'vc-narrowed-apikey' })
      return 'api-key.v2' in (data as object) && !('api-key.v1' in (data as object))
    })
    await says('narrowed', 'PlanNotFound')
    await patch('narrowed', { computePlan: 'vector-dev', allowedCidrs: null })
    await says('narrowed', 'Available')
    expect(await ways())
      .to.not.include('203.0.113.0/24')
      .and.not.include('narrowed":"true"')
  })

  it('gives a host to one database, and to the other when it is free', async () => {
    const { ingressHost = '' } = await (async () => {
      await apply(cluster('holder', { enableIngress: true }))
      return says('holder', 'Available')
    })()
    const shared = ingressHost.replace(/^[^.]+/, `shared-${boundaryId.slice(0, 8)}`)
    await patch('holder', { ingressHost: shared })
    await until('the host is held', async () => (await stored('holder')).status?.ingressHost === shared)
    await apply(cluster('loser', { enableIngress: true, ingressHost: shared }))
    expect((await says('loser', 'NameOccupied')).status).to.equal('Failed')
    await kubectl('-n', namespace, 'delete', 'vc', 'holder', '--timeout=2m')
    await says('loser', 'Available')
    await kubectl('-n', namespace, 'delete', 'vc', 'loser', '--timeout=2m')
  })

  it('is rejected by the API server with impossible changes', async () => {
    const cases: [object, RegExp][] = [
      [{ storageSize: '1Gi' }, /storageSize may grow but not shrink/],
      [{ apiKeyVersion: 9 }, /apiKeyVersion grows by one/],
      [{ allowedCidrs: '10.0.0.1/8' }, /canonical networks/],
      [{ vectorVersion: '1.13.6' }, /cannot go back/],
      [{ replicas: 100 }, /replicas/],
    ]
    await patch('empty', { storageSize: '5Gi' })
    for (const [spec, words] of cases) {
      const refusal = await patch('empty', spec).then(
        () => 'accepted',
        (error: { stderr?: string }) => error.stderr ?? '',
      )
      expect(refusal, JSON.stringify(spec)).to.match(words).and.not.equal('accepted')
    }
  })

  it('grows its volume without a restart', async () => {
    const before = (await client.get(pod, { namespace, name: 'vc-empty-0' })).metadata.uid
    await patch('empty', { storageSize: '7Gi' })
    await says('empty', 'Available')
    const { status } = await client.get(persistentVolumeClaim, { namespace, name: 'storage-vc-empty-0' })
    expect((status as { capacity: object }).capacity).to.deep.equal({ storage: '7Gi' })
    expect((await client.get(pod, { namespace, name: 'vc-empty-0' })).metadata.uid).to.equal(before)
    const workload = await client.get(statefulSet, { namespace, name: 'vc-empty' })
    expect(workload.spec).to.have.nested.property('volumeClaimTemplates[0].spec.resources.requests.storage', '7Gi')
  })

  it('reports a missing plan, and becomes ready with another one', async () => {
    await apply(cluster('planless', { computePlan: 'vector-of-nobody' }))
    expect((await says('planless', 'PlanNotFound')).statusMessage).to.equal(
      'There is no compute plan "vector-of-nobody".',
    )
    await patch('planless', { computePlan: null })
    await says('planless', 'Available')
    await kubectl('-n', namespace, 'delete', 'vc', 'planless', '--timeout=2m')
    expect(await claims('planless')).to.deep.equal([])
  })

  it('recreates a deleted StatefulSet', async () => {
    const before = (await client.get(statefulSet, { namespace, name: 'vc-empty' })).metadata.uid
    await client.remove(statefulSet, { namespace, name: 'vc-empty' })
    await until('there is another one', async () => {
      const found = await client.get<KubeObject>(statefulSet, { namespace, name: 'vc-empty' })
      return found.metadata.uid !== before
    })
    await until('it is ready', async () => (await stored('empty')).status?.phase === 'Available')
  })

  it('retains its volume on request, and a new database of the name uses it again', async () => {
    await patch('empty', { onDelete: 'Retain' })
    const name = 'storage-vc-empty-0'
    const before = (await client.get(persistentVolumeClaim, { namespace, name })).metadata.uid
    await kubectl('-n', namespace, 'delete', 'vc', 'empty', '--timeout=2m')
    const kept = (await client.get(persistentVolumeClaim, { namespace, name })).metadata
    expect(kept.annotations?.['freehold.dev/retained-for']).to.equal('VectorCluster/empty')
    await apply(cluster('empty', { storageSize: '7Gi' }))
    await says('empty', 'Available')
    expect((await client.get(persistentVolumeClaim, { namespace, name })).metadata.uid).to.equal(before)
    await kubectl('-n', namespace, 'delete', 'vc', 'empty', '--timeout=2m')
    expect(await claims('empty')).to.deep.equal([])
  })
})
