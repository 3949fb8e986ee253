import { expect } from 'chai'
import type { BoundaryDto } from '../../src/api/boundaries/record.ts'
import type { ResourceGroupDto } from '../../src/api/resourcegroups/record.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { namespace } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import {
  call,
  expectCall,
  expectRemoved,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type Summary = { name: string; collection: string; resourceGroup: string; href: string }
type Validation = {
  isValid: boolean
  isAvailable: boolean
  violations: { code: string }[]
  takenBy: { name: string }[]
}

describe('resource groups', () => {
  let admin: KubeClient
  let boundary: BoundaryDto
  before(async () => {
    admin = await administrator()
    boundary = await makeBoundary()
  })
  after(() => admin.close())

  const at = (rest: string) => `/boundaries/${boundary.id}${rest}`
  const stop = (group: string, name: string, more: object = {}) =>
    admin.create(VectorCluster.resource, {
      apiVersion: VectorCluster.apiVersion,
      kind: VectorCluster.kind,
      metadata: { name, namespace: groupNamespace(boundary.id, group) },
      // Runs nothing: these tests are about the record.
      spec: { running: false, replicas: 0, ...more },
    })

  it('creates the namespace with the group, and returns 200 for the same POST again', async () => {
    const path = at('/resourcegroups/again')
    const first = await call<ResourceGroupDto>('POST', path)
    expect(first.status, first.text).to.equal(201)
    expect(first.body).to.deep.include({
      name: 'again',
      boundaryId: boundary.id,
      boundary: boundary.displayName,
      namespace: groupNamespace(boundary.id, 'again'),
      scope: path,
      resourceCount: 0,
    })
    await admin.get(namespace, { name: first.body.namespace })
    const second = await call<ResourceGroupDto>('POST', path, {})
    expect([second.status, second.body.id]).to.deep.equal([200, first.body.id])
    expect((await call('POST', path, { tags: {} })).status).to.equal(400)
    await until('it runs', async () => (await call<ResourceGroupDto>('GET', path)).body.status === 'Running')
  })

  for (const name of ['config', 'validate', 'vectorclusters', 'Upper', '-x', 'x'.repeat(53)]) {
    it(`rejects the name ${name.slice(0, 20)}`, async () => {
      const { status, body } = await call('POST', at(`/resourcegroups/${name}`))
      expect([status, body.code]).to.deep.equal([400, 'BAD_REQUEST'])
    })
  }

  it('returns 404 for missing groups and for names that are invalid', async () => {
    for (const name of ['nowhere', 'Upper', 'x'.repeat(53)]) {
      expect((await call('GET', at(`/resourcegroups/${name}`))).status, name).to.equal(404)
    }
    const missing = '00000000-0000-4000-8000-000000000000'
    expect((await call('POST', `/boundaries/${missing}/resourcegroups/x`)).status).to.equal(404)
  })

  it('returns 422 QUOTA_EXCEEDED beyond the quota of the boundary', async () => {
    const { id } = await makeBoundary()
    const quota = { resourceGroups: 1 }
    const { body: limited } = await expectCall<BoundaryDto>(200, 'PUT', `/boundaries/${id}/quota`, quota)
    expect(limited.quota).to.include(quota)
    const { spec } = (await admin.get(Boundary.resource, { name: id })) as unknown as Boundary
    expect(spec.quota).to.deep.equal(quota)
    await expectCall(201, 'POST', `/boundaries/${id}/resourcegroups/first`)
    const { status, body } = await call<Record<string, unknown>>('POST', `/boundaries/${id}/resourcegroups/second`)
    expect(status).to.equal(422)
    expect(body).to.deep.include({ code: 'QUOTA_EXCEEDED', quota: 'resourceGroups', limit: 1, used: 1, requested: 1 })
  })

  it('counts functions with their maximum of copies, also on start and for another plan', async () => {
    const { id } = await makeBoundary()
    const { scope } = await makeGroup(id)
    const limit = (quota: object) => expectCall(200, 'PUT', `/boundaries/${id}/quota`, quota)
    const home = `${scope}/resources/functionnamespaces/shop`
    const refused = async (method: 'POST' | 'PUT' | 'PATCH', path: string, body: object, told: object) => {
      const { status, body: problem } = await call<object>(method, path, body)
      expect(status).to.equal(422)
      expect(problem).to.deep.include({ code: 'QUOTA_EXCEEDED', ...told })
    }
    await limit({ pods: 5, resources: 1 })
    await expectCall(201, 'POST', home, { runtime: 'nodejs' })
    await expectCall(201, 'POST', `${home}/functions/one`, { handler: 'index', maxReplicas: 3 })
    const bigger = { handler: 'index', minReplicas: 20, maxReplicas: 20 }
    const full = { quota: 'pods', limit: 5, used: 3 }
    await refused('POST', `${home}/functions/two`, bigger, { ...full, requested: 20 })
    await refused('PUT', `${home}/functions/one`, bigger, { ...full, requested: 17 })
    const usage = async (path: string) => (await expectCall<BoundaryDto>(200, 'GET', path)).body.usage
    for (const path of [scope, `/boundaries/${id}`])
      await until('it is seen', async () => (await usage(path)).pods === 3 && (await usage(path)).resources === 1)
    expect(await itemsOf<Summary>(`${scope}/resources`)).to.have.length(1)

    const { cpu } = await usage(scope)
    await limit({ cpu })
    await refused('PATCH', home, { computePlan: 'function-large' }, { quota: 'cpu', limit: cpu, used: cpu })
    const other = `${scope}/resources/functionnamespaces/other`
    await limit({ pods: 5 })
    await expectCall(201, 'POST', other, { runtime: 'nodejs' })
    await expectCall(202, 'PUT', `${other}/actions/stop`)
    await expectCall(201, 'POST', `${other}/functions/two`, { handler: 'index', maxReplicas: 3 })
    await refused('PUT', `${other}/actions/start`, {}, { ...full, requested: 3 })
    await expectRemoved(`${home}/functions/one`)
    await expectCall(202, 'PUT', `${other}/actions/start`)
    await until('it counts', async () => (await usage(scope)).pods === 3)
  })

  it('changes tags and quota by PATCH, visible to kubectl at once', async () => {
    const { name } = await makeGroup(boundary.id)
    const change = { tags: { team: 'search' }, quota: { pods: 3 } }
    const { body } = await expectCall<{ tags: object; quota: object }>(
      200,
      'PATCH',
      at(`/resourcegroups/${name}`),
      change,
    )
    expect([body.tags, body.quota]).to.deep.equal([
      change.tags,
      { cpu: null, memory: null, storage: null, resourceGroups: null, resources: null, pods: 3 },
    ])
    const ref = { namespace: boundaryNamespace(boundary.id), name }
    expect(((await admin.get(ResourceGroup.resource, ref)) as unknown as ResourceGroup).spec).to.deep.equal(change)
  })

  it('lists resources by group, kind and tag, as far as the caller may read', async () => {
    const [left, right] = [await makeGroup(boundary.id), await makeGroup(boundary.id)]
    await stop(left.name, 'index', { tags: { team: 'search' } })
    await stop(left.name, 'other')
    await stop(right.name, 'index')
    const names = async (path: string, token?: string) =>
      (await itemsOf<Summary>(path, token === undefined ? {} : { token })).map(
        ({ name, resourceGroup }) => `${resourceGroup}/${name}`,
      )
    const inLeft = at(`/resourcegroups/${left.name}/resources`)
    await until('all are seen', async () => (await names(at('/resources'))).length >= 3)
    expect(await names(inLeft)).to.deep.equal([`${left.name}/index`, `${left.name}/other`])
    expect(await names(`${inLeft}?filter=tags.team:eq:search`)).to.deep.equal([`${left.name}/index`])
    expect(await names(at('/resources?search=index'))).to.have.length(2)
    const reader = await makeCaller({ Reader: at(`/resourcegroups/${left.name}`) })
    expect(await names(at('/resources'), reader.token)).to.deep.equal([`${left.name}/index`, `${left.name}/other`])
    const groups = await itemsOf<ResourceGroupDto>(at('/resourcegroups'), { token: reader.token })
    expect(groups.map(({ name, resourceCounts }) => [name, resourceCounts])).to.deep.equal([
      [left.name, { vectorclusters: 2 }],
    ])
    const [summary] = await itemsOf<Summary>(inLeft)
    expect((await call('GET', summary?.href ?? '')).status).to.equal(200)
  })

  it('returns the same 404 for a boundary that the caller may not read as for a missing one', async () => {
    const stranger = await makeCaller()
    const missing = '00000000-0000-4000-8000-000000000000'
    for (const rest of ['resourcegroups', 'resourcegroups/config', 'resources', 'resources/config']) {
      const hidden = await call('GET', at(`/${rest}`), undefined, { token: stranger.token })
      const absent = await call('GET', `/boundaries/${missing}/${rest}`, undefined, { token: stranger.token })
      expect([hidden.status, absent.status], rest).to.deep.equal([404, 404])
      expect(hidden.body.error.replace(boundary.id, missing)).to.equal(absent.body.error)
      expect((await call('GET', at(`/${rest}`))).status, rest).to.equal(200)
    }
  })

  it('validates whether a name is valid and available', async () => {
    const { name: group } = await makeGroup(boundary.id)
    await stop(group, 'taken')
    const ask = async (name: string) => {
      const path = at(`/resourcegroups/${group}/resources/${name}/validate`)
      return (await expectCall<Validation>(200, 'GET', path)).body
    }
    await until('the resource is seen', async () => !(await ask('taken')).isAvailable)
    expect(await ask('free-name')).to.deep.include({ isValid: true, isAvailable: true, violations: [], takenBy: [] })
    expect((await ask('taken')).takenBy.map(({ name }) => name)).to.deep.equal(['taken'])
    expect((await ask('config')).violations.map(({ code }) => code)).to.deep.equal(['Reserved'])
    expect((await ask('Not_OK')).violations.map(({ code }) => code)).to.deep.equal(['BadCharacter'])
  })

  it('validates that a platform-wide name is taken in another group, without naming it', async () => {
    const [one, other] = [await makeGroup(boundary.id), await makeGroup(boundary.id)]
    const name = uniqueName('vault')
    await expectCall(201, 'POST', `${one.scope}/resources/secretvaults/${name}`, {})
    const ask = async (scope: string, query = '') =>
      (await expectCall<Validation>(200, 'GET', `${scope}/resources/${name}/validate${query}`)).body
    const there = await ask(other.scope)
    expect(there).to.deep.include({ isValid: true, isAvailable: false, takenBy: [] })
    expect(there.violations.map(({ code }) => code)).to.deep.equal(['TakenElsewhere'])
    expect(await ask(other.scope, '?collection=vectorclusters')).to.deep.include({ isAvailable: true, violations: [] })
    expect((await ask(one.scope)).violations).to.deep.equal([])
    expect((await call('GET', `${one.scope}/resources/${name}/validate?collection=shoes`)).status).to.equal(400)
  })

  it('finds a group by its namespace for readers, and returns the same 403 to others for any name', async () => {
    const group = await makeGroup(boundary.id)
    const find = (name: string, token?: string) =>
      call<Record<string, unknown>>(
        'GET',
        `/resourcegroups/by-namespace/${name}`,
        undefined,
        token === undefined ? {} : { token },
      )
    expect((await find(group.namespace)).body).to.deep.include({ boundaryId: boundary.id, resourceGroup: group.name })
    expect((await find(boundaryNamespace(boundary.id))).body).to.deep.include({ resourceGroup: null })
    expect((await find('kube-system')).status).to.equal(404)
    const reader = await makeCaller({ Reader: group.scope })
    expect((await find(group.namespace, reader.token)).status).to.equal(200)
    const refusalOf = async (name: string) => {
      const { status, body } = await find(name, reader.token)
      const { correlationId: _own, traceId: _too, ...told } = body
      return { status, ...told }
    }
    const refused = await refusalOf(boundaryNamespace(boundary.id))
    expect(refused).to.include({ status: 403, scope: '/' })
    expect(await refusalOf('kube-system')).to.deep.equal(refused)
  })

  it('deletes a group with its resources and namespace', async () => {
    const group = await makeGroup(boundary.id)
    const path = at(`/resourcegroups/${group.name}`)
    await stop(group.name, 'inside')
    await until('the resource is seen', async () => {
      return (await call<ResourceGroupDto>('GET', path)).body.resourceCount === 1
    })
    await expectCall(202, 'DELETE', path)
    const during = await call<ResourceGroupDto & { code: string }>('GET', path)
    if (during.status === 200) expect(during.body.status).to.equal('Deleting')
    await until('the group is deleted', async () => (await call('GET', path)).status === 404)
    const left = await admin.get(namespace, { name: group.namespace }).catch((error: unknown) => error)
    expect(isKubeError(left, 'NotFound'), String(left)).to.equal(true)
    // The name is free again.
    await expectCall(201, 'POST', path)
  })

  it('returns 409 for a group with a resource that retains its volumes', async () => {
    const group = await makeGroup(boundary.id)
    const path = at(`/resourcegroups/${group.name}`)
    await stop(group.name, 'kept', { onDelete: 'Retain' })
    await until('the resource is seen', async () => {
      return (await call<ResourceGroupDto>('GET', path)).body.resourceCount === 1
    })
    const { status, body } = await call<{ code: string; resources: string[] }>('DELETE', path)
    expect([status, body.code]).to.deep.equal([409, 'DELETION_PROTECTED'])
    expect(body.resources).to.deep.equal(['vectorclusters/kept'])
  })

  it('serves a group that kubectl created like any other', async () => {
    await admin.create(ResourceGroup.resource, {
      apiVersion: ResourceGroup.apiVersion,
      kind: ResourceGroup.kind,
      metadata: { name: 'by-kubectl', namespace: boundaryNamespace(boundary.id) },
      spec: { tags: { team: 'search' } },
    })
    const path = at('/resourcegroups/by-kubectl')
    const { body } = await until('it runs', async () => {
      const answer = await call<ResourceGroupDto>('GET', path)
      return answer.status === 200 && answer.body.status === 'Running' && answer
    })
    expect(body.tags).to.deep.equal({ team: 'search' })
    expect((await call('POST', path)).body.code).to.equal('ALREADY_EXISTS')
  })
})
