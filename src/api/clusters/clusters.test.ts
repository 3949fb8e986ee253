import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, CLUSTER, startFacade } from '../../../test/worlds/facadeServer.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { BoundaryProjection } from '../../crds/projections.ts'

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'

describe('clusters over REST', () => {
  const owner = randomUUID()
  let facade: Awaited<ReturnType<typeof startFacade>>
  before(async () => {
    const requested = () => ({ cpu: 1500n, memory: 2n * 1024n ** 3n * 1000n })
    facade = await startFacade({}, { capacity: { freeNodeCapacities: () => [], requested } })
    facade.grant(owner, 'Platform Owner', '/')
    facade.boundary(BOUNDARY)
  })
  after(() => facade.stop())

  const call = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string, body?: object) =>
    request(facade.app)[method](path).set('authorization', bearer(owner)).send(body)
  const made = async (name: string) => (await call('post', '/clusters', { name })).body as { id: string }
  const stored = async (name: string) =>
    (await facade.client.get(PlatformCluster.resource, { name })) as unknown as PlatformCluster

  it('creates a cluster once per name, and returns 200 for the same request and 409 for another', async () => {
    const first = await call('post', '/clusters', { name: 'north', region: 'n' })
    expect(first.status).to.equal(201)
    expect(first.body).to.include({ name: 'north', status: 'AwaitingJoin', ingressDomain: 'north.example.test' })
    expect((await call('post', '/clusters', { name: 'north', region: 'n' })).status).to.equal(200)
    const other = await call('post', '/clusters', { name: 'north', region: 's' })
    expect([other.status, other.body.code]).to.deep.equal([409, 'already-exists'])
  })

  it('accepts the record as read in a PUT, and resets missing fields to defaults', async () => {
    const { id } = await made('east')
    const { body } = await call('get', `/clusters/${id}`)
    const again = await call('put', `/clusters/${id}`, { ...body, region: 'e', labels: { team: 'a' } })
    expect([again.status, again.body.region, again.body.labels]).to.deep.equal([200, 'e', { team: 'a' }])
    const renamed = await call('put', `/clusters/${id}`, { ...body, name: 'other' })
    expect([renamed.status, renamed.body.errors]).to.deep.equal([
      400,
      [{ field: 'name', message: 'cannot be changed after creation' }],
    ])
    const shown = { ...body, region: 'e', labels: { team: 'a' }, status: 'Odd', createdAt: 'now', storageClasses: 5 }
    expect((await call('put', `/clusters/${id}`, shown)).status, 'read-only fields').to.equal(200)
    const bare = await call('put', `/clusters/${id}`, {})
    expect([bare.body.region, bare.body.labels, bare.body.displayName]).to.deep.equal(['', {}, 'east'])
  })

  it('stores only hashes of join tokens, and shortens the life of the earlier token', async () => {
    const { id } = await made('west')
    const one = await call('post', `/clusters/${id}/join-token`)
    const two = await call('post', `/clusters/${id}/join-token`, { expiresInMinutes: 30, reusable: true })
    expect([one.status, two.status, one.headers['cache-control']]).to.deep.equal([201, 201, 'no-store'])
    expect(two.body.command).to.contain(two.body.token)
    // An agent that joined before reads the new token when it starts.
    expect(two.body.command).to.match(/ && kubectl -n freehold-system rollout restart deployment\/freehold-agent$/)
    const { joinTokens } = (await stored(id)).spec
    expect(JSON.stringify(joinTokens)).not.to.contain(one.body.token)
    expect(joinTokens.map(({ reusable }) => reusable)).to.deep.equal([false, true])
    expect(Date.parse(joinTokens[0]?.expiresAt ?? '')).to.be.lessThan(Date.parse(one.body.expiresAt))
    expect((await call('post', `/clusters/${id}/join-token`, { expiresInMinutes: 4 })).status).to.equal(400)
  })

  it('revokes an agent and its tokens once, and then rejects projections', async () => {
    const { id } = await made('south')
    await call('post', `/clusters/${id}/join-token`)
    const first = await call('post', `/clusters/${id}/agent/revoke`)
    expect([first.status, first.body.status]).to.deep.equal([200, 'Revoked'])
    const { joinTokens, revokedAt } = (await stored(id)).spec
    expect(joinTokens).to.deep.equal([])
    expect((await call('post', `/clusters/${id}/agent/revoke`)).status).to.equal(200)
    expect((await stored(id)).spec.revokedAt).to.equal(revokedAt)
    const projected = await call('post', `/boundaries/${BOUNDARY}/projections`, { clusterId: id })
    expect([projected.status, projected.body.code]).to.deep.equal([409, 'INVALID_STATE'])
  })

  it('revokes an agent again that joined in the second after its revocation', async () => {
    const { id } = await made('again')
    await call('post', `/clusters/${id}/agent/revoke`)
    // A certificate is valid again from the next second on.
    const joinedAt = new Date(Date.parse((await stored(id)).spec.revokedAt ?? '') + 1000).toISOString()
    const status = { agent: { joinedAt } }
    await facade.client.mergePatch(PlatformCluster.resource, { name: id }, { status }, { subresource: 'status' })
    expect((await call('post', `/clusters/${id}/agent/revoke`)).body.status).to.equal('Revoked')
  })

  it('rejects another clusterId for a projection', async () => {
    const { id } = await made('firm')
    const path = `/boundaries/${BOUNDARY}/projections`
    const first = await call('post', path, { clusterId: id })
    expect(first.status).to.equal(201)
    const moved = await call('patch', `${path}/${first.body.id}`, { clusterId: randomUUID() })
    expect([moved.status, moved.body.errors?.[0]?.field]).to.deep.equal([400, 'clusterId'])
    expect((await call('patch', `${path}/${first.body.id}`, first.body)).status).to.equal(200)
  })

  it('rejects the deletion of a used cluster, and the deletion, revocation and tokens of the local one', async () => {
    const { id } = await made('used')
    facade.put(BoundaryProjection, id, { clusterId: id }, `boundary-${BOUNDARY}`)
    const used = await call('delete', `/clusters/${id}`)
    expect([used.status, used.body.code, used.body.projectionCount]).to.deep.equal([409, 'in-use', 1])
    for (const [method, path] of [
      ['delete', ''],
      ['post', '/agent/revoke'],
      ['post', '/join-token'],
    ] as const) {
      const { status, body } = await call(method, `/clusters/${CLUSTER}${path}`)
      expect([status, body.code], path).to.deep.equal([409, 'cluster-is-local'])
    }
    expect((await call('get', `/clusters/${randomUUID()}`)).status).to.equal(404)
    expect((await call('get', '/clusters/far')).body.detail).to.equal(
      'Cluster "far" was not found. Use its id, not its name.',
    )
  })

  it("shows what pods of the platform's own cluster request, and nothing for others", async () => {
    const { id } = await made('there')
    const requestedOn = async (cluster: string) => {
      const { cpuRequested, memoryRequested } = (await call('get', `/clusters/${cluster}`)).body
      return [cpuRequested, memoryRequested]
    }
    expect(await requestedOn(CLUSTER)).to.deep.equal(['1500m', '2Gi'])
    expect(await requestedOn(id)).to.deep.equal([null, null])
  })

  it('filters clusters by isLocal and status', async () => {
    const { body } = await call('get', '/clusters?filter=isLocal:eq:true')
    expect(body.items.map((each: { name: string; isDefault: boolean }) => [each.name, each.isDefault])).to.deep.equal([
      ['local', true],
    ])
    const awaited = await call('get', '/clusters?filter=status:eq:awaitingjoin')
    expect(awaited.body.items.length).to.be.greaterThan(0)
  })
})
