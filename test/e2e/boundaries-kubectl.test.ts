import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { ServerlessFunction } from '../../src/crds/functions.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import {
  deployment,
  limitRange,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  resourceQuota,
  roleBinding,
} from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { until } from '../make/until.ts'
import { kubectl as runKubectl } from '../worlds/kubectl.ts'
import { administrator, removeGroups } from '../worlds/tenant.ts'

describe('boundaries and resource groups with kubectl', () => {
  const made: string[] = []
  let admin: KubeClient

  const kubectl = (...words: string[]) => runKubectl(words)
  const apply = (input: object) => runKubectl(['apply', '-f', '-'], { input })
  const boundary = (name: string, spec: object = {}) => ({
    apiVersion: Boundary.apiVersion,
    kind: 'Boundary',
    metadata: { name },
    spec: { displayName: 'By kubectl', ...spec },
  })
  const group = (boundaryId: string, name: string, spec: object = {}) => ({
    apiVersion: ResourceGroup.apiVersion,
    kind: 'ResourceGroup',
    metadata: { name, namespace: boundaryNamespace(boundaryId) },
    spec,
  })
  const ready = (kind: string, name: string, ...where: string[]) =>
    kubectl(...where, 'wait', '--for=condition=Ready', '--timeout=2m', `${kind}/${name}`)

  async function makeBoundary(spec: object = {}): Promise<string> {
    const id = randomUUID()
    made.push(id)
    await apply(boundary(id, spec))
    await ready('boundary', id)
    return id
  }
  const isGone = async (resource: typeof namespace, name: string) =>
    (await admin.list(resource, { fieldSelector: `metadata.name=${name}` })).items.length === 0

  before(async () => {
    admin = await administrator()
  })
  after(async () => {
    await Promise.all(made.map((id) => removeGroups(admin, id)))
    await admin.close()
  })

  it('creates the namespace of a boundary, and sets Ready', async () => {
    const id = await makeBoundary()
    const home = await admin.get(namespace, { name: boundaryNamespace(id) })
    expect(home.metadata.labels).to.include({
      [BOUNDARY_LABEL]: id,
      'pod-security.kubernetes.io/enforce': 'restricted',
    })
    expect((await admin.list(networkPolicy, { namespace: boundaryNamespace(id) })).items).to.have.length(1)
  })

  it('makes the initial owner Owner of this incarnation of the boundary', async () => {
    const initialOwner = { principalId: randomUUID(), principalType: 'User' }
    const id = await makeBoundary({ initialOwner })
    const assignments = (await admin.list(RoleAssignment.resource, { namespace: boundaryNamespace(id) })).items
    const { metadata } = await admin.get(Boundary.resource, { name: id })
    expect(assignments.map(({ spec }) => spec)).to.deep.equal([
      {
        ...initialOwner,
        roleDefinitionName: 'Owner',
        scope: `/boundaries/${id}`,
        scopeIncarnation: metadata.annotations?.['freehold.dev/incarnation'],
      },
    ])
  })

  it('creates the namespace of a group with its quota, limits, network policy and role bindings', async () => {
    const id = await makeBoundary()
    await apply(group(id, 'orders', { quota: { cpu: '4', pods: 9 } }))
    await ready('resourcegroup', 'orders', '-n', boundaryNamespace(id))
    const space = groupNamespace(id, 'orders')
    const inside = { namespace: space }
    expect((await admin.list(roleBinding, inside)).items).to.have.length(2)
    expect((await admin.list(networkPolicy, inside)).items).to.have.length(1)
    const [quota] = (await admin.list(resourceQuota, inside)).items
    expect(quota?.spec).to.deep.equal({ hard: { 'requests.cpu': '4', pods: '9' } })
    expect((await admin.list(limitRange, inside)).items).to.have.length(1)

    await apply(group(id, 'orders', { quota: {} }))
    await until('the limits are gone', async () => (await admin.list(resourceQuota, inside)).items.length === 0)
  })

  it('recreates a deleted network policy', async () => {
    const id = await makeBoundary()
    await kubectl('-n', boundaryNamespace(id), 'delete', 'networkpolicy', '--all')
    await until('the policy is back', async () => {
      const { items } = await admin.list(networkPolicy, { namespace: boundaryNamespace(id) })
      return items.length === 1
    })
  })

  it('stalls a group beyond the quota of the boundary until another one is deleted', async () => {
    const id = await makeBoundary({ quota: { resourceGroups: 1 } })
    const home = boundaryNamespace(id)
    await apply(group(id, 'first'))
    await ready('resourcegroup', 'first', '-n', home)
    await apply(group(id, 'second'))
    await kubectl('-n', home, 'wait', '--for=condition=Stalled', '--timeout=2m', 'resourcegroup/second')
    const { status } = (await admin.get(ResourceGroup.resource, { namespace: home, name: 'second' })) as ResourceGroup
    expect(status?.phase).to.equal('QuotaExceeded')
    await kubectl('-n', home, 'delete', 'resourcegroup', 'first')
    await ready('resourcegroup', 'second', '-n', home)
  })

  it('applies the quota of storage to a stopped vector database', async () => {
    const id = await makeBoundary({ quota: { storage: '15Gi' } })
    await apply(group(id, 'orders'))
    await ready('resourcegroup', 'orders', '-n', boundaryNamespace(id))
    const home = groupNamespace(id, 'orders')
    const { apiVersion, kind } = VectorCluster
    const spec = { computePlan: 'vector-dev', replicas: 1, storageSize: '5Gi' }
    await apply({ apiVersion, kind, metadata: { name: 'products', namespace: home }, spec })
    await ready('vectorcluster', 'products', '-n', home)
    const patch = async (change: object) =>
      kubectl('-n', home, 'patch', 'vectorcluster/products', '--type=merge', '-p', JSON.stringify({ spec: change }))
    const says = (message: RegExp) =>
      until(`it says ${message}`, async () => {
        const found = await admin.get<VectorCluster>(VectorCluster.resource, { namespace: home, name: 'products' })
        return found.status?.phase === 'Stopped' && message.test(found.status.statusMessage ?? '')
      })
    const sizes = async () => {
      const { items } = await admin.list(persistentVolumeClaim, { namespace: home })
      return items.map(
        (one) => (one.spec as { resources: { requests: { storage: string } } }).resources.requests.storage,
      )
    }
    await patch({ storageSize: '40Gi', running: false })
    await says(/quota of storage is 15Gi; 5Gi is used and 35Gi more was requested/)
    expect(await sizes()).to.deep.equal(['5Gi'])
    await kubectl(
      'patch',
      'boundary',
      id,
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { quota: { storage: '50Gi' } } }),
    )
    await says(/^(?!.*quota)/)
    expect(await sizes()).to.deep.equal(['40Gi'])
  })

  it('gives functions copies only within the quota, and keeps what already runs', async () => {
    const id = await makeBoundary({ quota: { pods: 4 } })
    await apply(group(id, 'orders'))
    await ready('resourcegroup', 'orders', '-n', boundaryNamespace(id))
    const home = groupNamespace(id, 'orders')
    const { apiVersion } = ServerlessFunction
    const make = (kind: string, name: string, spec: object) =>
      apply({ apiVersion, kind, metadata: { name, namespace: home }, spec })
    const function_ = (functionName: string, more: object) =>
      make(ServerlessFunction.kind, `shop.${functionName}`, {
        ...{ namespaceName: 'shop', functionName, handler: 'index', image: 'docker.io/library/hello:1', ...more },
      })
    const phaseOf = async (name: string) => {
      const ref = { namespace: home, name: `shop.${name}` }
      return (await admin.get<ServerlessFunction & KubeObject>(ServerlessFunction.resource, ref)).status?.phase
    }
    const says = (name: string, phase: string) =>
      until(`${name} is ${phase}`, async () => (await phaseOf(name)) === phase)
    const copies = async (name: string) => {
      const { items } = await admin.list(deployment, { namespace: home })
      const found = items.find(({ metadata }) => metadata.name.includes(name))
      return (found?.spec as { replicas?: number } | undefined)?.replicas
    }
    await make('FunctionNamespace', 'shop', { runtime: 'nodejs', running: false })
    for (const name of ['one', 'two']) {
      await function_(name, { minReplicas: 2, maxReplicas: 3 })
      await says(name, 'Stopped')
    }
    await kubectl('-n', home, 'patch', 'fnns/shop', '--type=merge', '-p', '{"spec":{"running":true}}')
    const first = await until('one of them fits and the other waits', async () => {
      const phases = await Promise.all(['one', 'two'].map(phaseOf))
      return phases.toSorted().join() === 'Available,QuotaExceeded' && ['one', 'two'][phases.indexOf('Available')]
    })
    const second = first === 'one' ? 'two' : 'one'
    expect([await copies(first), (await copies(second)) ?? 0]).to.deep.equal([2, 0])
    await function_(first, { minReplicas: 20, maxReplicas: 20 })
    await says(first, 'QuotaExceeded')
    await until('it has what it was granted', async () => (await copies(first)) === 3)
    await kubectl('-n', home, 'delete', `sfn/shop.${first}`, '--timeout=2m')
    await says(second, 'Available')
    expect(await copies(second)).to.equal(2)
  })

  it('deletes the namespace of a deleted group', async () => {
    const id = await makeBoundary()
    await apply(group(id, 'orders'))
    await ready('resourcegroup', 'orders', '-n', boundaryNamespace(id))
    await kubectl('-n', boundaryNamespace(id), 'delete', 'resourcegroup', 'orders', '--timeout=2m')
    expect(await isGone(namespace, groupNamespace(id, 'orders'))).to.equal(true)
  })

  it('deletes the namespaces of a boundary that is deleted after its groups', async () => {
    const id = await makeBoundary({ initialOwner: { principalId: randomUUID(), principalType: 'User' } })
    await apply(group(id, 'orders'))
    await ready('resourcegroup', 'orders', '-n', boundaryNamespace(id))
    await kubectl('-n', boundaryNamespace(id), 'delete', 'resourcegroup', 'orders', '--timeout=2m')
    await until('no group holds the boundary', async () => {
      const { status } = (await admin.get(Boundary.resource, { name: id })) as Boundary
      return status?.heldBy?.length === 0
    })
    await kubectl('delete', 'boundary', id)
    for (const name of [groupNamespace(id, 'orders'), boundaryNamespace(id)]) {
      await until(`namespace ${name} is gone`, () => isGone(namespace, name))
    }
  })

  it('does not adopt an existing namespace', async () => {
    const id = randomUUID()
    made.push(id)
    await kubectl('create', 'namespace', boundaryNamespace(id))
    await apply(boundary(id))
    await kubectl('wait', '--for=condition=Stalled', '--timeout=2m', `boundary/${id}`)
    const { status } = (await admin.get(Boundary.resource, { name: id })) as Boundary
    expect(status).to.include({ status: 'Failed', phase: 'NameOccupied' })
    await kubectl('delete', 'namespace', boundaryNamespace(id))
    await ready('boundary', id)
  })
})
