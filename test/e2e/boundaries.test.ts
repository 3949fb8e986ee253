import { expect } from 'chai'
import type { BoundaryDto } from '../../src/api/boundaries/record.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { namespace } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

describe('boundaries', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  const namespaceOf = async (boundaryId: string) => {
    try {
      return await admin.get(namespace, { name: boundaryNamespace(boundaryId) })
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined
      throw error
    }
  }

  it('creates namespace, actor, incarnation and the caller as Owner in one POST', async () => {
    const displayName = uniqueName('Shop')
    const { status, headers, body } = await call<BoundaryDto>('POST', '/boundaries', { displayName })
    expect(status).to.equal(201)
    expect(headers.get('etag')).to.match(/^"1-\d+-\w+"$/)
    expect(body).to.deep.include({
      displayName,
      namespace: boundaryNamespace(body.id),
      createdBy: testPlatform().clientId,
    })
    expect(body.permissions).to.include('boundaries/manage')
    const stored = await admin.get(Boundary.resource, { name: body.id })
    expect(stored.metadata.annotations).to.include.keys('freehold.dev/incarnation', 'freehold.dev/actor')
    expect(stored.metadata.annotations?.['freehold.dev/actor']).to.equal(`1 ${testPlatform().clientId}`)
    const space = await namespaceOf(body.id)
    expect(space?.metadata.labels).to.deep.include({
      'freehold.dev/boundary': body.id,
      'pod-security.kubernetes.io/enforce': 'restricted',
    })
  })

  it('becomes Running, and takes PATCH only with a current If-Match', async () => {
    const made = await makeBoundary()
    const path = `/boundaries/${made.id}`
    const read = await call<BoundaryDto>('GET', path)
    expect(read.body).to.deep.include({ id: made.id, displayName: made.displayName })
    await until('the boundary runs', async () => (await call<BoundaryDto>('GET', path)).body.status === 'Running')
    const etag = read.headers.get('etag') ?? ''
    const renamed = await call<BoundaryDto>(
      'PATCH',
      path,
      { displayName: 'Renamed' },
      { headers: { 'if-match': etag } },
    )
    expect(renamed.status, renamed.text).to.equal(200)
    expect(renamed.body.displayName).to.equal('Renamed')
    const stale = await call('PATCH', path, { displayName: 'Again' }, { headers: { 'if-match': etag } })
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'CONFLICT'])
    expect((await call<BoundaryDto>('GET', path)).body.displayName).to.equal('Renamed')
  })

  it('shows a boundary only to its readers', async () => {
    const [mine, other] = [await makeBoundary(), await makeBoundary()]
    const reader = await makeCaller({ Reader: `/boundaries/${mine.id}` })
    const seen = await itemsOf<BoundaryDto>('/boundaries', { token: reader.token })
    expect(seen.map(({ id }) => id)).to.deep.equal([mine.id])
    expect((await call('GET', `/boundaries/${other.id}`, undefined, { token: reader.token })).status).to.equal(403)
    expect((await call('GET', '/boundaries/config', undefined, { token: reader.token })).status).to.equal(200)
    const stranger = await makeCaller()
    expect(await itemsOf('/boundaries', { token: stranger.token })).to.deep.equal([])
    expect((await call('GET', '/boundaries/config', undefined, { token: stranger.token })).status).to.equal(403)
  })

  it('finds boundaries by search, filter and page', async () => {
    const stem = uniqueName('findme')
    const made = await Promise.all([1, 2, 3].map((number) => makeBoundary(`${stem} ${number}`)))
    const names = async (query: string) =>
      (await call<{ items: BoundaryDto[] }>('GET', `/boundaries?${query}`)).body.items.map(
        ({ displayName }) => displayName,
      )
    expect(await names(`search=${stem}`)).to.deep.equal(made.map(({ displayName }) => displayName).sort())
    expect(await names(`search=${stem}&sort=-displayName&pageSize=1&page=2`)).to.deep.equal([`${stem} 2`])
    expect(await names(`filter=displayName:eq:${stem}%203`)).to.deep.equal([`${stem} 3`])
    const { status, body } = await call<{ parameter: string }>('GET', '/boundaries?colour=red')
    expect([status, body.parameter]).to.deep.equal([400, 'colour'])
  })

  it('returns 409 with its groups while it has any, and deletes its namespace afterwards', async () => {
    const { id } = await makeBoundary()
    const group = await makeGroup(id)
    const refused = await call<{ code: string; resourceGroups: string[] }>('DELETE', `/boundaries/${id}`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'BOUNDARY_NOT_EMPTY'])
    expect(refused.body.resourceGroups).to.deep.equal([group.name])
    const path = `/boundaries/${id}/resourcegroups/${group.name}`
    await expectCall(202, 'DELETE', path)
    await until('the group is deleted', async () => (await call('GET', path)).status === 404)
    expect([202, 204]).to.include((await call('DELETE', `/boundaries/${id}`)).status)
    await until('the boundary is deleted', async () => (await call('GET', `/boundaries/${id}`)).status === 404)
    await until('the namespace is deleted', async () => (await namespaceOf(id)) === undefined)
  })

  const refused: [string, unknown, string, string][] = [
    ['no name', {}, 'MODEL_BINDING_FAILED', 'displayName'],
    ['a number for a name', { displayName: 1 }, 'MODEL_BINDING_FAILED', 'displayName'],
    ['an empty name', { displayName: '' }, 'BAD_REQUEST', 'displayName'],
    ['a name of blanks', { displayName: '  ' }, 'BAD_REQUEST', 'displayName'],
    ['a name that is too long', { displayName: 'x'.repeat(129) }, 'BAD_REQUEST', 'displayName'],
    ['an unknown field', { displayName: 'x', tags: {} }, 'MODEL_BINDING_FAILED', 'tags'],
  ]
  for (const [title, body, code, field] of refused) {
    it(`returns 400 for POST and PATCH with ${title}`, async () => {
      const { id } = await makeBoundary()
      for (const [method, path] of [
        ['POST', '/boundaries'],
        ['PATCH', `/boundaries/${id}`],
      ] as const) {
        const answer = await call(method, path, body)
        expect([answer.status, answer.body.code, answer.body.errors?.[0]?.field]).to.deep.equal([400, code, field])
      }
    })
  }

  it('serves a boundary that kubectl created like any other', async () => {
    const name = crypto.randomUUID()
    await admin.create(Boundary.resource, {
      apiVersion: Boundary.apiVersion,
      kind: Boundary.kind,
      metadata: { name },
      spec: { displayName: 'By kubectl' },
    })
    const { body } = await until('the boundary runs', async () => {
      const answer = await call<BoundaryDto>('GET', `/boundaries/${name}`)
      return answer.status === 200 && answer.body.status === 'Running' && answer
    })
    expect(body.displayName).to.equal('By kubectl')
    expect((await namespaceOf(name))?.metadata.name).to.equal(body.namespace)
    await makeGroup(name)
  })
})
