import { expect } from 'chai'
import type { VectorClusterDto } from '../../src/client/generated.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeCaller,
  makeGroupPlace,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type KeyDto = { apiKey: string; pendingApiKey: string | null; version: number; rotationState: string }

describe('vector databases over REST', () => {
  let admin: KubeClient
  let boundaryId: string
  let group: string
  let base: string
  let reader: TestCaller
  before(async () => {
    admin = await administrator()
    const place = await makeGroupPlace()
    boundaryId = place.boundaryId
    group = place.group
    base = place.resources('vectorclusters')
    reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
  })
  after(async () => {
    await call('DELETE', `/boundaries/${boundaryId}/resourcegroups/${group}`)
    await admin.close()
  })

  const read = async (name: string) => (await expectCall<VectorClusterDto>(200, 'GET', `${base}/${name}`)).body
  const reaches = (name: string, status: string) =>
    until(`${name} is ${status}`, async () => {
      const dto = await read(name)
      if (dto.status === status) return dto
      throw new Error(`${dto.status} ${dto.phase}: ${dto.statusMessage}`)
    })

  it('creates from an empty body, stops, starts, scales and deletes', async () => {
    const name = uniqueName('vec')
    const made = await expectCall<VectorClusterDto>(201, 'POST', `${base}/${name}`, {})
    expect(made.body).to.include({ name, boundaryId, resourceGroup: group, computePlan: 'vector-dev', replicas: 1 })
    expect((await read(name)).id).to.equal(made.body.id)
    const running = await reaches(name, 'Running')
    expect(running.readyReplicas).to.equal(1)
    expect((await expectCall(202, 'PUT', `${base}/${name}/actions/stop`)).body).to.include({
      action: 'stop',
      changed: true,
    })
    await reaches(name, 'Stopped')
    await expectCall(202, 'PUT', `${base}/${name}/actions/start`)
    await reaches(name, 'Running')
    await expectCall(202, 'POST', `${base}/${name}/scale`, { targetScale: 3 })
    await until('three are ready', async () => (await read(name)).readyReplicas === 3)
    const scale = await expectCall<{ targetScale: number }>(200, 'GET', `${base}/${name}/scale`)
    expect(scale.body).to.include({ targetScale: 3, minScale: 0, maxScale: 99 })
    const { status } = await call('DELETE', `${base}/${name}`)
    expect([202, 204]).to.include(status)
    await until('it is deleted', async () => (await call('GET', `${base}/${name}`)).status === 404)
  })

  it('rejects fields that kubectl rejects, and stores nothing', async () => {
    const cases: [object, number, string][] = [
      [{ cpuRequest: '2', cpuLimit: '1500m' }, 400, 'BAD_REQUEST'],
      [{ allowedCidrs: '10.0.0.1/8' }, 400, 'BAD_REQUEST'],
      [{ tags: { 'freehold.dev/x': 'y' } }, 400, 'BAD_REQUEST'],
      [{ vectorVersion: '9.9.9' }, 400, 'BAD_REQUEST'],
      [{ computePlan: 'nothing' }, 422, 'PLAN_NOT_FOUND'],
      [{ color: 'blue' }, 400, 'MODEL_BINDING_FAILED'],
    ]
    for (const [body, status, code] of cases) {
      const answer = await call('POST', `${base}/never`, body)
      expect([answer.status, answer.body.code], JSON.stringify(body)).to.deep.equal([status, code])
    }
    const stored = await admin.list(VectorCluster.resource, { namespace: groupNamespace(boundaryId, group) })
    expect(stored.items.map(({ metadata }) => metadata.name)).to.not.include('never')
  })

  it('replaces and patches under If-Match, and returns 409 for a stale one', async () => {
    const name = uniqueName('vec')
    await expectCall(201, 'POST', `${base}/${name}`, { tags: { team: 'search' } })
    const before = await expectCall<VectorClusterDto>(200, 'GET', `${base}/${name}`)
    const etag = before.headers.get('etag') ?? ''
    const put = await call<VectorClusterDto>(
      'PUT',
      `${base}/${name}`,
      { ...before.body, tags: { team: 'shop' } },
      { headers: { 'if-match': etag } },
    )
    expect([put.status, put.body.tags]).to.deep.equal([200, { team: 'shop' }])
    const stale = await call('PATCH', `${base}/${name}`, { tags: { team: 'x' } }, { headers: { 'if-match': etag } })
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'CONFLICT'])
    const patched = await call<VectorClusterDto>('PATCH', `${base}/${name}`, { tags: { cost: 'low' } })
    expect([patched.status, patched.body.tags]).to.deep.equal([200, { team: 'shop', cost: 'low' }])
    const metadata = (await admin.get(VectorCluster.resource, { namespace: groupNamespace(boundaryId, group), name }))
      .metadata
    expect(metadata.annotations?.['freehold.dev/actor']).to.match(/^3 [0-9a-f-]{36}$/)
  })

  it('shows an object of kubectl with its defaults', async () => {
    const name = uniqueName('vec')
    const namespace = groupNamespace(boundaryId, group)
    await admin.create(VectorCluster.resource, {
      apiVersion: VectorCluster.apiVersion,
      kind: VectorCluster.kind,
      metadata: { name, namespace },
      spec: { computePlan: 'vector-small', tags: { from: 'kubectl' } },
    })
    const shown = await until('REST shows it', async () => {
      const { status, body } = await call<VectorClusterDto>('GET', `${base}/${name}`)
      return status === 200 && body
    })
    expect(shown).to.include({ computePlan: 'vector-small', storageSize: '20Gi' })
    const listed = await itemsOf<VectorClusterDto>(
      `/boundaries/${boundaryId}/resources/vectorclusters?filter=tags.from:eq:kubectl`,
    )
    expect(listed.map((item) => item.name)).to.deep.equal([name])
  })

  it('returns and rotates keys for callers with the permission', async () => {
    const name = uniqueName('vec')
    await expectCall(201, 'POST', `${base}/${name}`, {})
    await reaches(name, 'Running')
    const first = await until('the key is there', async () => {
      const { status, body } = await call<KeyDto>('GET', `${base}/${name}/apikey`)
      return status === 200 && body
    })
    expect(first).to.include({ version: 1, rotationState: 'Applied', pendingApiKey: null })
    const rotated = await expectCall<KeyDto>(200, 'POST', `${base}/${name}/apikey/rotate`)
    const nextKey = rotated.body.pendingApiKey ?? rotated.body.apiKey
    expect(nextKey).to.be.a('string').and.not.equal(first.apiKey)
    const second = await until('the new key works', async () => {
      const { body } = await expectCall<KeyDto>(200, 'GET', `${base}/${name}/apikey`)
      return body.version === 2 && body.rotationState === 'Applied' && body
    })
    expect(second.apiKey).to.equal(nextKey)
    for (const [method, path] of [
      ['GET', 'apikey'],
      ['POST', 'apikey/rotate'],
    ] as const) {
      expect((await call(method, `${base}/${name}/${path}`, undefined, { token: reader.token })).status).to.equal(403)
    }
    const health = await expectCall<{ status: string; checks: { name: string }[] }>(
      200,
      'GET',
      `${base}/${name}/health`,
    )
    expect(health.body.checks.map((check) => check.name)).to.include.members([
      'Pods',
      'Readiness',
      'Consensus',
      'Collections',
      'Disk',
    ])
    const info = await expectCall<{ host: string }>(200, 'GET', `${base}/${name}/connectioninfo`)
    expect(info.body.host).to.match(/\.svc$/)
    await expectCall(200, 'GET', `${base}/${name}/external-ip`)
  })

  it('lets a Reader read, and returns 403 for each write', async () => {
    const name = uniqueName('vec')
    const { token } = reader
    await expectCall(201, 'POST', `${base}/${name}`, {})
    expect((await call('GET', `${base}/${name}`, undefined, { token })).status).to.equal(200)
    for (const [method, path, body] of [
      ['POST', `${base}/other`, {}],
      ['PUT', `${base}/${name}`, {}],
      ['PATCH', `${base}/${name}`, {}],
      ['DELETE', `${base}/${name}`, undefined],
      ['PUT', `${base}/${name}/actions/stop`, undefined],
      ['POST', `${base}/${name}/scale`, { targetScale: 2 }],
    ] as const) {
      expect((await call(method, path, body, { token })).status, `${method} ${path}`).to.equal(403)
    }
  })

  it('takes snapshots one at a time, by REST and by kubectl', async () => {
    const name = uniqueName('vec')
    const path = `${base}/${name}/snapshots`
    await expectCall(201, 'POST', `${base}/${name}`, {})
    await reaches(name, 'Running')
    type Snapshot = { name: string; status: string }
    const completes = (snapshot: string) =>
      until(`${snapshot} is complete`, async () => {
        const { body } = await expectCall<Snapshot>(200, 'GET', `${path}/${snapshot}`, undefined, reader)
        return body.status === 'Completed'
      })
    await expectCall(403, 'POST', path, {}, reader)
    expect((await expectCall<Snapshot>(202, 'POST', path, { name: 'first' })).body.name).to.equal('first')
    await completes('first')
    await expectCall(409, 'POST', path, { name: 'first' })
    const namespace = groupNamespace(boundaryId, group)
    const spec = { snapshots: [{ name: 'first' }, { name: 'second' }] }
    await admin.mergePatch(VectorCluster.resource, { namespace, name }, { spec })
    await until('it is known', async () => (await itemsOf(path)).length === 2)
    await completes('second')
    await expectCall(202, 'DELETE', `${path}/first`)
    await until('it is deleted', async () => (await call('GET', `${path}/first`)).status === 404)
    expect((await itemsOf<Snapshot>(path)).map((one) => one.name)).to.deep.equal(['second'])
    expect((await read(name)).status).to.equal('Running')
    await call('DELETE', `${base}/${name}`)
  })

  it('lists plans with a verdict', async () => {
    type Plan = { id: string; verdict: string; verdictReason: string | null }
    const plans = await itemsOf<Plan>(`/boundaries/${boundaryId}/resources/vectorcomputeplans`)
    expect(plans.map(({ id }) => id)).to.include.members(['vector-dev', 'vector-small', 'vector-medium'])
    for (const { verdict, verdictReason } of plans) {
      expect(['Fits', 'Tight', 'DoesNotFit', 'Unknown']).to.include(verdict)
      expect(verdictReason === null).to.equal(verdict === 'Fits')
    }
    const small = await expectCall<Plan>(
      200,
      'GET',
      `/boundaries/${boundaryId}/resources/vectorcomputeplans/vector-small`,
    )
    expect(small.body.id).to.equal('vector-small')
  })

  it('returns the configuration of its list', async () => {
    const { body } = await expectCall<{ columns: { key: string }[] }>(200, 'GET', `${base}/config`)
    expect(body).to.be.an('object').and.not.empty
  })
})
