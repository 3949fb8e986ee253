import { expect } from 'chai'
import { CLUSTER } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { encodeVectorKeys, vectorNames } from '../../contracts/vector.ts'
import { groupNamespace } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { secret } from '../../kube/builtin.ts'

const READER = '33333333-3333-4333-8333-333333333333'
const STRANGER = '44444444-4444-4444-8444-444444444444'
const RG = `/boundaries/${B}/resourcegroups/shop/resources`
const NAMESPACE = groupNamespace(B, 'shop')

describe('vector databases over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.grant(READER, 'Reader', `/boundaries/${B}`)
    server.client.calls.length = 0
  })
  afterEach(() => server.stop())

  const call = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string, as = OWNER) =>
    server.ask(method, path, as)
  const create = (name = 'orders', body: object = {}) => call('post', `${RG}/vectorclusters/${name}`).send(body)

  it('creates a database from an empty body with one get and one create', async () => {
    const answer = await create()
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    expect(answer.body).to.include({
      name: 'orders',
      boundary: 'Shop',
      boundaryId: B,
      resourceGroup: 'shop',
      collection: 'vectorclusters',
      clusterId: CLUSTER,
      clusterName: 'Own',
      region: 'north',
      status: 'Pending',
      phase: null,
      computePlan: 'vector-dev',
      resourcePlanId: 'vector-dev',
      storageSize: '5Gi',
      replicas: 1,
      apiKeyEnabled: true,
    })
    expect(answer.headers.etag).to.match(/^"1-\d+-\w+"$/)
    expect(server.client.calls.map(({ verb }) => verb)).to.deep.equal(['get', 'create'])
    const stored = await server.client.get(VectorCluster.resource, { namespace: NAMESPACE, name: 'orders' })
    expect(stored.spec).to.not.have.any.keys('storageSize', 'cpuRequest')
    expect(stored.metadata.annotations).to.include({ 'freehold.dev/actor': `1 ${OWNER}` })
  })

  it('applies the sizes of a new plan with one patch', async () => {
    await create()
    server.client.calls.length = 0
    const answer = await call('patch', `${RG}/vectorclusters/orders`).send({ computePlan: 'vector-medium' })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(answer.body).to.include({
      computePlan: 'vector-medium',
      resourcePlanId: 'vector-medium',
      memoryRequest: '4Gi',
      replicas: 1,
    })
    expect(server.client.calls.map(({ verb }) => verb)).to.deep.equal(['patch'])
  })

  it('stores all sizes that are given without a plan, also those that the default plan has', async () => {
    const sizes = { cpuRequest: '250m', cpuLimit: '1', memoryRequest: '1Gi', memoryLimit: '2Gi', storageSize: '5Gi' }
    const none = { computePlan: null, resourcePlanId: null }
    expect((await create('orders', sizes)).body).to.include({ ...sizes, ...none })
    const ref = { namespace: NAMESPACE, name: 'orders' }
    expect((await server.client.get(VectorCluster.resource, ref)).spec).to.include(sizes)
    // What only the default plan says stays with it.
    const { storageSize: _size, ...compute } = sizes
    await create('small', compute)
    for (const method of ['patch', 'put'] as const) {
      const { body: read } = await call('get', `${RG}/vectorclusters/small`)
      await call(method, `${RG}/vectorclusters/small`).send(method === 'patch' ? { tags: { a: 'b' } } : read)
      const { spec } = await server.client.get(VectorCluster.resource, { ...ref, name: 'small' })
      expect(spec).to.include(compute).and.to.not.have.any.keys('storageSize', 'computePlan')
    }
    // Also when a record that was read is sent back without its plan.
    const { body } = await create('index')
    const answer = await call('put', `${RG}/vectorclusters/index`).send({ ...body, ...none })
    expect(answer.body).to.include({ ...none, cpuLimit: '1', storageSize: '5Gi' })
  })

  it('sets the default plan for null in a merge patch', async () => {
    await create('orders', { computePlan: 'vector-medium' })
    const answer = await call('patch', `${RG}/vectorclusters/orders`).send({ computePlan: null, storageSize: '20Gi' })
    expect(answer.body).to.include({ computePlan: 'vector-dev', cpuLimit: '1', storageSize: '20Gi' })
  })

  it('applies the sizes of a new plan if the record is read, changed and sent back with PUT', async () => {
    await create()
    const { body } = await call('get', `${RG}/vectorclusters/orders`)
    const changed = { ...body, computePlan: 'vector-medium', resourcePlanId: 'vector-medium' }
    const answer = await call('put', `${RG}/vectorclusters/orders`).send(changed)
    expect(answer.body).to.include({ memoryRequest: '4Gi', storageSize: '20Gi' })
  })

  for (const method of ['patch', 'put'] as const) {
    it(`rejects another version by ${method.toUpperCase()} while an upgrade is in progress`, async () => {
      await create('orders', { vectorVersion: '1.17.1' })
      const ref = { namespace: NAMESPACE, name: 'orders' }
      const runs = (vectorVersion: string) => {
        const edited = server.client.edit<VectorCluster>(VectorCluster.resource, ref, (object) => {
          object.status = { ...object.status, vectorVersion } as never
        })
        server.caches.get(VectorCluster.resource).observeWrite(edited)
      }
      const change = async (body: object) => (await call(method, `${RG}/vectorclusters/orders`).send(body)).body
      runs('1.16.3')
      expect(await change({ vectorVersion: '1.18.2' })).to.deep.include({
        ...{ code: 'INVALID_STATE', status: 'Updating', phase: 'RollingOut' },
        error: '"orders" is being upgraded from 1.16.3 to 1.17.1; change vectorVersion after that.',
      })
      const others = [{ vectorVersion: '1.17.1' }, { tags: { team: 'books' } }]
      for (const body of others) expect(await change(body)).to.include({ vectorVersion: '1.17.1' })
      runs('1.17.1')
      expect(await change({ vectorVersion: '1.18.2' })).to.include({ vectorVersion: '1.18.2' })
    })
  }

  const refusals: [string, object, number, string][] = [
    ['an unknown plan', { computePlan: 'none' }, 422, 'PLAN_NOT_FOUND'],
    ['a plan of another family', { computePlan: 'app-small' }, 400, 'BAD_REQUEST'],
    ['a deprecated plan', { computePlan: 'vector-old' }, 422, 'PLAN_DEPRECATED'],
    ['two plans at once', { computePlan: 'vector-dev', resourcePlanId: 'vector-medium' }, 400, 'BAD_REQUEST'],
    ['a cluster that is not projected', { clusterId: B }, 422, 'CLUSTER_NOT_PROJECTED'],
    ['a custom image', { imageName: 'docker.io/me/qdrant' }, 422, 'IMAGE_NOT_ALLOWED'],
    ['an unknown version', { vectorVersion: '0.1.0' }, 400, 'BAD_REQUEST'],
    ['a limit below the request', { cpuRequest: '2', cpuLimit: '1' }, 400, 'BAD_REQUEST'],
    ['a CIDR with host bits in allowedCidrs', { allowedCidrs: '10.0.0.1/8' }, 400, 'BAD_REQUEST'],
    [
      'an ingress host outside of the domain',
      { enableIngress: true, ingressHost: 'x.example.org' },
      400,
      'BAD_REQUEST',
    ],
    ['a string as replicas', { replicas: '3' }, 400, 'MODEL_BINDING_FAILED'],
    ['1.5 replicas', { replicas: 1.5 }, 400, 'MODEL_BINDING_FAILED'],
    ['100 replicas', { replicas: 100 }, 400, 'BAD_REQUEST'],
    ['a number as the name', { name: 7 }, 400, 'MODEL_BINDING_FAILED'],
    ['a number as vectorVersion', { vectorVersion: 3 }, 400, 'MODEL_BINDING_FAILED'],
    ['a boundaryId that is not a UUID', { boundaryId: 'shop' }, 400, 'MODEL_BINDING_FAILED'],
    ['a negative storageSize', { storageSize: '-1Gi' }, 400, 'BAD_REQUEST'],
  ]
  for (const [sentence, body, status, code] of refusals) {
    it(`rejects ${sentence} without a call to the API server`, async () => {
      const answer = await create('orders', body)
      expect([answer.status, answer.body.code], JSON.stringify(answer.body)).to.deep.equal([status, code])
      expect(server.client.calls).to.have.length(0)
    })
  }

  it('lists the available plans without deprecated ones for an unknown plan', async () => {
    const { body } = await create('orders', { computePlan: 'none' })
    expect(body).to.deep.include({ field: 'computePlan', value: 'none', available: ['vector-dev', 'vector-medium'] })
  })

  it('shows changes of the boundary, the plan and the status at once', async () => {
    await create()
    const read = async () => (await call('get', `${RG}/vectorclusters/orders`)).body
    expect(await read()).to.include({ boundary: 'Shop', cpuLimit: '1', status: 'Pending' })
    const later = <T extends { spec: object }>(
      kind: AnyKind,
      ref: { namespace?: string; name: string },
      change: (object: T) => void,
    ) => server.caches.get(kind.resource).observeWrite(server.client.edit(kind.resource, ref, change as never))
    later<Boundary>(Boundary, { name: B }, (object) => {
      object.spec.displayName = 'Store'
    })
    expect((await read()).boundary).to.equal('Store')
    later<ComputePlan>(ComputePlan, { name: 'vector-dev' }, (object) => {
      object.spec.cpuLimit = '4'
    })
    expect((await read()).cpuLimit).to.equal('4')
    later<VectorCluster>(VectorCluster, { namespace: NAMESPACE, name: 'orders' }, (object) => {
      object.status = {
        replicas: 1,
        readyReplicas: 1,
        conditions: [{ type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: '' }],
      }
    })
    expect(await read()).to.include({ status: 'Running', readyReplicas: 1 })
    const { body } = await call('get', `${RG}/vectorclusters`)
    expect(body.items[0]).to.deep.equal(await read())
  })

  it('rejects a smaller volume, by storageSize or by plan', async () => {
    await create('orders', { computePlan: 'vector-medium' })
    for (const body of [{ storageSize: '10Gi' }, { computePlan: 'vector-dev' }]) {
      const answer = await call('patch', `${RG}/vectorclusters/orders`).send(body)
      expect([answer.status, answer.body.code]).to.deep.equal([422, 'STORAGE_CANNOT_SHRINK'])
    }
  })

  it('returns QUOTA_EXCEEDED beyond the quota of the group', async () => {
    server.group(B, 'small', { quota: { resources: 1 } })
    const path = `/boundaries/${B}/resourcegroups/small/resources/vectorclusters`
    expect((await call('post', `${path}/one`).send({})).status).to.equal(201)
    const answer = await call('post', `${path}/two`).send({})
    expect([answer.status, answer.body.code, answer.body.quota]).to.deep.equal([422, 'QUOTA_EXCEEDED', 'resources'])
  })

  it('returns 409 for If-Match with the ETag of an earlier database of the same name', async () => {
    const { headers } = await create()
    const path = `${RG}/vectorclusters/orders`
    const first = await server.client.get(VectorCluster.resource, { namespace: NAMESPACE, name: 'orders' })
    server.client.edit(VectorCluster.resource, { namespace: NAMESPACE, name: 'orders' }, ({ metadata }) => {
      metadata.finalizers = []
    })
    await server.client.remove(VectorCluster.resource, { namespace: NAMESPACE, name: 'orders' })
    const anew = await create()
    expect(anew.status).to.equal(201)
    const tagged = (method: 'patch' | 'delete') => call(method, path).set('if-match', headers.etag ?? '')
    const answers = [await tagged('patch').send({ replicas: 2 }), await tagged('delete')]
    for (const { status, body } of answers) {
      expect([status, body.code, body.currentVersion]).to.deep.equal([409, 'CONFLICT', anew.headers.etag])
    }
    const second = await server.client.get(VectorCluster.resource, { namespace: NAMESPACE, name: 'orders' })
    expect([first.metadata.generation, second.metadata.generation]).to.deep.equal([1, 1])
    expect(second.metadata.uid).to.not.equal(first.metadata.uid)
  })

  it('retries a PATCH after a write conflict', async () => {
    await create()
    const ref = { namespace: NAMESPACE, name: 'orders' }
    server.client.fail('patch', VectorCluster.resource, 'Conflict')
    const answer = await call('patch', `${RG}/vectorclusters/orders`).send({ replicas: 2 })
    expect(answer.status).to.equal(200)
    expect((await server.client.get(VectorCluster.resource, ref)).spec).to.include({ replicas: 2 })
  })

  it('patches the object before its deletion with keepData=true', async () => {
    await create()
    await call('delete', `${RG}/vectorclusters/orders?keepData=true`)
    expect(server.client.calls.map(({ verb }) => verb).slice(-2)).to.deep.equal(['patch', 'delete'])
  })

  it('filters by tag and sorts by name', async () => {
    for (const name of ['c', 'a', 'b']) await create(name, { tags: { team: name === 'b' ? 'x' : 'y' } })
    const filtered = await call('get', `${RG}/vectorclusters?filter=tags.team:eq:y&sort=-name`)
    expect(filtered.body.items.map(({ name }: { name: string }) => name)).to.deep.equal(['c', 'a'])
  })

  it('returns actions, plans, sort fields and reserved names in config', async () => {
    const sizes = { cpuRequest: '1', cpuLimit: '1', memoryRequest: '16Gi', memoryLimit: '16Gi' }
    server.put(ComputePlan, 'vector-big', { family: 'Vector', displayName: 'Big', storageSize: '5Gi', ...sizes })
    const { body, status } = await call('get', `${RG}/vectorclusters/config`, READER)
    expect(status).to.equal(200)
    expect(body.actions).to.deep.equal(['vectorcluster/read'])
    // In the order of the list of plans: the smallest first.
    const offered = body.plans.map(({ id }: { id: string }) => id)
    expect(offered).to.deep.equal(['vector-dev', 'vector-medium', 'vector-big'])
    const { body: listed } = await call('get', `/boundaries/${B}/resources/vectorcomputeplans`)
    const ids: string[] = listed.items.map(({ id }: { id: string }) => id)
    expect(ids.filter((id) => id !== 'vector-old')).to.deep.equal(offered)
    expect(body.sorts).to.include.members(['name', 'vectorVersion', 'storageSize'])
    expect(body.names.reserved).to.include('config')
  })

  it('returns 403 for the API keys to a Reader', async () => {
    await create()
    expect((await call('get', `${RG}/vectorclusters/orders/apikey`, READER)).status).to.equal(403)
  })

  it('lists the plans for callers who can read the boundary, and returns 404 to others', async () => {
    const path = `/boundaries/${B}/resources/vectorcomputeplans`
    const { body } = await call('get', path, READER)
    expect(body.items.map(({ id }: { id: string }) => id)).to.deep.equal(['vector-dev', 'vector-old', 'vector-medium'])
    expect(body.items[0]).to.include({ verdict: 'Unknown', isProductionReady: false })
    expect((await call('get', `${path}/vector-medium`, READER)).body).to.include({ id: 'vector-medium', replicas: 3 })
    expect((await call('get', `${path}/app-small`, READER)).status).to.equal(404)
    expect((await call('get', path, STRANGER)).status).to.equal(404)
  })

  it('returns keys, connection info and external address', async () => {
    await create()
    const early = await call('get', `${RG}/vectorclusters/orders/apikey`)
    expect([early.status, early.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    const key = { version: 1, id: 'k1', apiKey: 'the-key', readOnlyApiKey: 'the-other' }
    const data = encodeVectorKeys({
      current: key,
      pending: undefined,
      retired: undefined,
      createdAt: '2026-01-01T00:00:00Z',
      rotatedAt: undefined,
    })
    const metadata = { name: vectorNames('orders').keys, namespace: NAMESPACE }
    server.client.seed(secret, { apiVersion: 'v1', kind: 'Secret', metadata, data })
    const answer = await call('get', `${RG}/vectorclusters/orders/apikey`)
    expect(answer.body).to.deep.equal({
      ...{ apiKey: 'the-key', pendingApiKey: null, readOnlyApiKey: 'the-other', version: 1, rotationState: 'Applied' },
      ...{ createdAt: '2026-01-01T00:00:00Z', rotatedAt: null },
    })
    expect(answer.headers['cache-control']).to.equal('no-store')
    const info = await call('get', `${RG}/vectorclusters/orders/connectioninfo`)
    expect(info.body).to.include({ restPort: 6333, grpcPort: 6334, apiKeyHeader: 'api-key', apiKeyRequired: true })
    const address = await call('get', `${RG}/vectorclusters/orders/external-ip`)
    expect(address.body).to.include({ enabled: false, status: 'Disabled' })
    await call('patch', `${RG}/vectorclusters/orders`).send({ apiKeyEnabled: false })
    expect((await call('get', `${RG}/vectorclusters/orders/apikey`)).body.code).to.equal('API_KEY_DISABLED')
  })
})
