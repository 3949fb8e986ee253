import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { namespace as namespaces } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { POSTGRESQL_RESOURCES, postgresqlCluster } from '../../src/kube/postgresql.ts'
import { until } from '../make/until.ts'
import { isReady, objectOf } from '../worlds/fleet.ts'
import { kubectl as runKubectl } from '../worlds/kubectl.ts'
import { makeBoundary, makeGroup } from '../worlds/platform.ts'
import { administrator, bindEdit, clientWithToken, makeServiceAccount } from '../worlds/tenant.ts'

describe('relational databases with kubectl', () => {
  let admin: KubeClient
  let boundaryId: string
  let group: string
  let home: string
  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    home = groupNamespace(boundaryId, group)
  })
  after(() => admin.close())

  const kubectl = (...words: string[]) => runKubectl(['-n', home, ...words])
  const ready = (name: string, resource = RelationalCluster.resource) =>
    until(`${name} is ready`, async () => isReady(await admin.get(resource, { namespace: home, name })))
  const create = (kind: typeof RelationalCluster | typeof RelationalSnapshot, name: string, spec: object) =>
    admin.create(kind.resource, objectOf(kind, name, home, spec))

  it('shows the main columns, and scales', async () => {
    await create(RelationalCluster, 'orders', { computePlan: 'relational-small' })
    await kubectl('wait', '--for=condition=Ready', 'relc/orders', '--timeout=2m')
    const shown = /^orders\s+True\s+Running\s+relational-small\s+2\s+2\s+17\s+relc-orders-1\s+Healthy/m
    const table = await until('it shows all', async () => {
      const said = await kubectl('get', 'relc')
      return expect(said).to.match(shown) && said
    })
    const [head = ''] = table.split('\n')
    expect(head.split(/\s{2,}/).slice(0, 9)).to.deep.equal([
      'NAME',
      'READY',
      'STATUS',
      'PLAN',
      'REPLICAS',
      'READY REPLICAS',
      'VERSION',
      'PRIMARY',
      'ARCHIVING',
    ])
    await kubectl('scale', 'relationalcluster', 'orders', '--replicas=4')
    await until('the engine has four instances', async () => {
      const { spec } = await admin.get<KubeObject & { spec: { instances: number } }>(postgresqlCluster, {
        namespace: home,
        name: 'relc-orders',
      })
      return spec.instances === 4
    })
    await ready('orders')
  })

  it('reverts and recreates altered and deleted children', async () => {
    const ref = { namespace: home, name: 'relc-orders' }
    await admin.mergePatch(postgresqlCluster, ref, { spec: { enableSuperuserAccess: true } })
    await until('the change is undone', async () => {
      const { spec } = await admin.get<KubeObject & { spec: { enableSuperuserAccess?: boolean } }>(
        postgresqlCluster,
        ref,
      )
      return spec.enableSuperuserAccess === false
    })
    const names = async () =>
      (await Promise.all(POSTGRESQL_RESOURCES.map((resource) => admin.list(resource, { namespace: home })))).flatMap(
        ({ items }) => items.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
      )
    const before = (await names()).sort()
    await kubectl('delete', 'objectstore.barmancloud.cnpg.io,scheduledbackup.postgresql.cnpg.io', '--all')
    await until('all are there again', async () => (await names()).sort().join() === before.join())
  })

  it('lets a tenant with edit rights take snapshots, but not restore them', async () => {
    const tenant = await makeServiceAccount(admin)
    await bindEdit(admin, home, tenant.clientId)
    const client = await clientWithToken(tenant.token)
    try {
      const id = randomUUID()
      const taken = objectOf(RelationalSnapshot, id, home, { clusterName: 'orders', name: 'by-hand' })
      await until(
        'the binding counts',
        async () => (await client.create(RelationalSnapshot.resource, taken)) !== undefined,
      )
      await ready(id, RelationalSnapshot.resource)
      const copy = { restoreFrom: { clusterName: 'orders', snapshotId: id } }
      const refused = await client
        .create(RelationalCluster.resource, objectOf(RelationalCluster, 'stolen', home, copy))
        .catch((error: unknown) => error)
      expect(isKubeError(refused, 'Forbidden'), String(refused)).to.equal(true)
      await create(RelationalCluster, 'copy', copy)
      await ready('copy')
    } finally {
      await client.close()
    }
  })

  it('is deleted with its group and namespace', async () => {
    await admin.remove(ResourceGroup.resource, { namespace: boundaryNamespace(boundaryId), name: group })
    await until('the namespace is deleted', async () => {
      try {
        await admin.get(namespaces, { name: home })
        return false
      } catch (error) {
        return isKubeError(error, 'NotFound')
      }
    })
  })
})
