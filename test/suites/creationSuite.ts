import { expect } from 'chai'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { FINALIZER } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { BoundaryProjection } from '../../src/crds/projections.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { request } from '../make/request.ts'
import { until } from '../make/until.ts'
import { bearer, CLUSTER } from '../worlds/facadeServer.ts'
import { askAtOnce, outcomes } from './contest.ts'
import { BOUNDARY, isServed, NAME, OWNER, type ResourceCase, type World } from './resourceCase.ts'

const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'

export function creationTests(
  { kind, body, other, isBrief = false }: ResourceCase,
  segment: string,
  world: World,
): void {
  const { base, call, create } = world

  it('creates from the minimal body, with the location in the record', async () => {
    const answer = await create()
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    const place = { boundary: 'Shop', boundaryId: BOUNDARY, resourceGroup: 'shop', collection: segment }
    expect(answer.body).to.include({ name: NAME, status: 'Pending', ...(isBrief ? {} : place) })
    expect(answer.body.clusterId ?? CLUSTER).to.equal(CLUSTER)
    expect(answer.headers.etag).to.match(/^"1-\d+-\w+"$/)
    const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
    const stored = await world.server.client.get(kind.resource, ref)
    expect(stored.metadata.annotations).to.include({ 'freehold.dev/actor': `1 ${OWNER}` })
    // Deleted at once, a resource would leave behind children that were created a moment ago: parts, volumes.
    expect(stored.metadata.finalizers).to.deep.equal(kind === PlatformJob ? undefined : [FINALIZER])
    expect((await call('get', `${base}/${NAME}`)).body).to.deep.equal(answer.body)
  })

  it('reads from the API server with one request for Cache-Control: no-cache', async () => {
    await create()
    const { client } = world.server
    client.calls.length = 0
    expect((await call('get', `${base}/${NAME}`).set('cache-control', 'no-cache')).status).to.equal(200)
    expect(client.calls.map(({ verb }) => verb)).to.deep.equal(['get'])
    expect(client.count('get', kind.resource)).to.equal(1)
  })

  it('returns 200 for the same POST again, and 409 for another one', async () => {
    await create()
    expect((await create()).status).to.equal(200)
    const answer = await create(NAME, other)
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'ALREADY_EXISTS'])
    const module = SERVED_ROUTES.find((route) => isServed(route, 'post', `${base}/${NAME}`))?.module
    expect(answer.body.module).to.equal(module)
  })

  it('returns 200 for POST of its own record, and changes nothing', async () => {
    await create()
    const read = await call('get', `${base}/${NAME}`)
    const answer = await create(NAME, read.body)
    expect([answer.status, answer.headers.etag], JSON.stringify(answer.body)).to.deep.equal([200, read.headers.etag])
  })

  it('returns 200 for the same POST after changes of fields that POST does not have', async () => {
    const { body: record } = await create()
    const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
    const { shape } = kind.spec as { shape: object }
    const set = { running: false, restartedAt: '2026-01-02T00:00:00Z', redeployedAt: {}, onDelete: 'Retain' }
    const isUnseen = (name: string) => Object.hasOwn(shape, name) && !Object.hasOwn(record, name)
    const known = Object.fromEntries(Object.entries(set).filter(([name]) => isUnseen(name)))
    await world.server.client.edit(kind.resource, ref, ({ spec }) => Object.assign(spec as object, known))
    const answer = await until('the POST sees it', async () => {
      const again = await create()
      return again.status !== 200 || again.headers.etag?.startsWith('"2-') || Object.keys(known).length === 0
        ? again
        : undefined
    })
    expect([answer.status, answer.body.code]).to.deep.equal([200, undefined])
  })

  if (kind.runsAnywhere === true)
    it('keeps its cluster when the default changes, and returns 409 for POST with another one', async () => {
      const { headers } = await create()
      world.server.put(PlatformCluster, FAR, { displayName: 'Far', region: 'south', domain: 'far.example.test' })
      world.server.put(BoundaryProjection, FAR, { clusterId: FAR }, boundaryNamespace(BOUNDARY))
      expect((await create('later')).body.clusterId).to.equal(FAR)
      const again = await create()
      expect([again.status, again.headers.etag], JSON.stringify(again.body)).to.deep.equal([200, headers.etag])
      const elsewhere = await create(NAME, { ...body, clusterId: FAR })
      expect([elsewhere.status, elsewhere.body.code]).to.deep.equal([409, 'ALREADY_EXISTS'])
    })

  it('returns 409 for POST with If-Match, unless the stored version matches', async () => {
    const [some, any] = ['"1-1-abcdef01"', '*']
    for (const version of [some, any]) {
      const answer = await create().set('if-match', version)
      expect([answer.status, answer.body.code], version).to.deep.equal([409, 'CONFLICT'])
    }
    expect((await call('get', `${base}/${NAME}`)).status).to.equal(404)
    const { headers } = await create()
    for (const version of [headers.etag ?? '', any]) {
      expect((await create().set('if-match', version)).status, version).to.equal(200)
    }
    expect((await create().set('if-match', some)).body.code).to.equal('CONFLICT')
  })

  it('returns 409 when another replica has just deleted the group', async () => {
    const { caches, client } = world.server
    await caches.stopAll()
    client.edit(ResourceGroup.resource, { namespace: boundaryNamespace(BOUNDARY), name: 'shop' }, ({ metadata }) => {
      Object.assign(metadata, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test/held'] })
    })
    const answer = await create()
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    expect([...client.stored(kind.resource)]).to.deep.equal([])
  })

  it('creates once for concurrent POSTs: 200 for the same spec, 409 for another one', async () => {
    const answers = await askAtOnce(world.server, (app, index) =>
      request(app)
        .post(`${base}/${NAME}`)
        .set('authorization', bearer(OWNER))
        .send(index % 3 === 0 ? other : body),
    )
    expect(outcomes(answers).filter((one) => one === '201')).to.have.length(1)
    expect(new Set(outcomes(answers))).to.deep.equal(new Set(['200', '201', '409 ALREADY_EXISTS']))
    const ids = answers.filter(({ status }) => status < 300).map((answer) => answer.body.id)
    expect(new Set(ids)).to.have.property('size', 1)
  })

  const unknown = 'MODEL_BINDING_FAILED'
  const wrong: [string, unknown, string][] = [
    ['a body that is not an object', [], unknown],
    ['an unknown field', { ...body, nonsense: 1 }, unknown],
    ['a name other than in the path', { ...body, name: 'others' }, 'BAD_REQUEST'],
    ['a boundary other than in the path', { ...body, boundaryId: OWNER }, isBrief ? unknown : 'BAD_REQUEST'],
    ['a reserved tag', { ...body, tags: { 'freehold.dev/x': 'y' } }, isBrief ? unknown : 'BAD_REQUEST'],
  ]
  for (const [sentence, wrongBody, code] of wrong) {
    it(`rejects ${sentence} without a request to the API server`, async () => {
      const answer = await call('post', `${base}/${NAME}`).send(wrongBody as object)
      expect([answer.status, answer.body.code], JSON.stringify(answer.body)).to.deep.equal([400, code])
      expect(world.server.client.calls).to.have.length(0)
    })
  }
}
