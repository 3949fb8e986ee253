import { expect } from 'chai'
import request from 'supertest'
import type { z } from 'zod'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { FINALIZER } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { QuotaLedger } from '../../src/crds/quotas.ts'
import { DenyAssignment } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { until } from '../make/until.ts'
import { bearer, CLUSTER, startFacade } from '../worlds/facadeServer.ts'
import { changeTests, planTests, powerTests, scaleTests } from './changeSuite.ts'
import { askAtOnce, outcomes } from './contest.ts'
import { hostTests } from './hostSuite.ts'
import { BOUNDARY, type Method, NAME, OWNER, type ResourceCase, type Server, type World } from './resourceCase.ts'

const READER = '33333333-3333-4333-8333-333333333333'
const STRANGER = '44444444-4444-4444-8444-444444444444'
const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop`

/** What every resource of a group does alike. An area tests only what is its own. */
export function resourceSuite(given: ResourceCase): void {
  const segment = given.segment ?? given.kind.plural
  const base = `${GROUP}/resources/${segment}`
  const world: World = {
    server: undefined as unknown as Server,
    base,
    call: (method, at, caller = OWNER) => request(world.server.app)[method](at).set('authorization', bearer(caller)),
    create: (name = NAME, body = given.body) => world.call('post', `${base}/${name}`).send(body),
    has: (method, below) => SERVED_ROUTES.some((route) => isServed(route, method, `${base}${below}`)),
  }

  describe(`${segment}, as resources of a group`, () => {
    const start = async (change: Parameters<typeof startFacade>[0] = {}) => {
      world.server = await startFacade(change)
      world.server.boundary(BOUNDARY)
      world.server.group(BOUNDARY, 'shop')
      world.server.grant(OWNER, 'Owner', `/boundaries/${BOUNDARY}`)
      world.server.grant(READER, 'Reader', `/boundaries/${BOUNDARY}`)
      given.world?.(world.server)
      world.server.client.calls.length = 0
    }
    beforeEach(() => start())
    afterEach(() => world.server.stop())

    creationTests(given, segment, world)
    storedTests(given, world, async (change) => {
      await world.server.stop()
      await start(change)
    })
    listTests(given, segment, world)
    if (given.patch !== undefined) {
      changeTests(given.patch, world)
      planTests(given, world)
    }
    if (given.kind.hostsOf !== undefined) hostTests(given, world)
    if (world.has('put', '/x/actions/x')) powerTests(world)
    if (world.has('post', '/x/scale')) scaleTests(given, world)
    deletionTests(given, world)
    refusalTests(given, world)
  })
}

type Served = (typeof SERVED_ROUTES)[number]

function isServed({ method, path, isBuilt }: Served, wanted: Method, meant: string): boolean {
  if (!isBuilt || method !== wanted.toUpperCase()) return false
  const [names, values] = [path.split('/'), meant.split('/')]
  // `/config` is no name.
  if (values.at(-1) === 'config' && names.at(-1) !== 'config') return false
  return names.length === values.length && names.every((name, index) => name.startsWith('{') || name === values[index])
}

function creationTests({ kind, body, other, isBrief = false }: ResourceCase, segment: string, world: World): void {
  const { base, call, create } = world

  it('are made of the least body, and say where they are', async () => {
    const answer = await create()
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    const place = { boundary: 'Shop', boundaryId: BOUNDARY, resourceGroup: 'shop', collection: segment }
    expect(answer.body).to.include({ name: NAME, status: 'Pending', ...(isBrief ? {} : place) })
    expect(answer.body.clusterId ?? CLUSTER).to.equal(CLUSTER)
    expect(answer.headers.etag).to.match(/^"1-\d+-\w+"$/)
    const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
    const stored = await world.server.client.get(kind.resource, ref)
    expect(stored.metadata.annotations).to.include({ 'freehold.dev/actor': `1 ${OWNER}` })
    // Gone at once, a resource would leave behind what was made for it a moment ago: parts, volumes.
    expect(stored.metadata.finalizers).to.deep.equal(kind === PlatformJob ? undefined : [FINALIZER])
    expect((await call('get', `${base}/${NAME}`)).body).to.deep.equal(answer.body)
  })

  it('are read through to the API server with one question', async () => {
    await create()
    const { client } = world.server
    client.calls.length = 0
    expect((await call('get', `${base}/${NAME}`).set('cache-control', 'no-cache')).status).to.equal(200)
    expect(client.calls.map(({ verb }) => verb)).to.deep.equal(['get'])
    expect(client.count('get', kind.resource)).to.equal(1)
  })

  it('answer 200 to the same POST again and 409 to another one', async () => {
    await create()
    expect((await create()).status).to.equal(200)
    const answer = await create(NAME, other)
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'ALREADY_EXISTS'])
    const module = SERVED_ROUTES.find((route) => isServed(route, 'post', `${base}/${NAME}`))?.module
    expect(answer.body.module).to.equal(module)
  })

  it('answer 200 to the POST of what was read, which changes nothing', async () => {
    await create()
    const read = await call('get', `${base}/${NAME}`)
    const answer = await create(NAME, read.body)
    expect([answer.status, answer.headers.etag], JSON.stringify(answer.body)).to.deep.equal([200, read.headers.etag])
  })

  it('answer 200 to the same POST after what only actions and kubectl set', async () => {
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

  it('are not made under If-Match, which compares what is there', async () => {
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

  it('are not made in a group that another replica has just begun to delete', async () => {
    const { caches, client } = world.server
    await caches.stopAll()
    client.edit(ResourceGroup.resource, { namespace: boundaryNamespace(BOUNDARY), name: 'shop' }, ({ metadata }) => {
      Object.assign(metadata, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test/held'] })
    })
    const answer = await create()
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    expect([...client.stored(kind.resource)]).to.deep.equal([])
  })

  it('are made once if several ask at once: the same spec answers 200, another one 409', async () => {
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
    it(`refuse ${sentence} without a call`, async () => {
      const answer = await call('post', `${base}/${NAME}`).send(wrongBody as object)
      expect([answer.status, answer.body.code], JSON.stringify(answer.body)).to.deep.equal([400, code])
      expect(world.server.client.calls).to.have.length(0)
    })
  }
}

/** @param restart another facade in place of the one that is there */
function storedTests(
  { kind, body, patch, former = {}, isBrief = false }: ResourceCase,
  world: World,
  restart: (change: Parameters<typeof startFacade>[0]) => Promise<void>,
): void {
  const { base, call, create, has } = world
  const one = `${base}/${NAME}`
  const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
  const hasField = (name: string) => Object.hasOwn(kind.spec.shape as object, name)
  const byKubectl = (spec: object = body) => world.server.put(kind, NAME, spec, ref.namespace)

  it('answer 200 to the POST of what was read of what kubectl made without optional words', async () => {
    byKubectl()
    const read = await call('get', one)
    for (const sent of [read.body, body]) {
      const answer = await create(NAME, sent)
      expect([answer.status, answer.headers.etag], JSON.stringify(answer.body)).to.deep.equal([200, read.headers.etag])
    }
  })

  it('take nothing of a quota by the POST of what was read, stopped or not', async () => {
    world.server.group(BOUNDARY, 'shop', { quota: { cpu: '64', resources: 9 } })
    byKubectl({ ...body, ...(hasField('running') && { running: false }) })
    const { body: read } = await call('get', one)
    expect((await create(NAME, read)).status).to.equal(200)
    expect([...world.server.client.stored(QuotaLedger.resource)]).to.deep.equal([])
  })

  if (isBrief) return
  it('may be written as they were read, although an earlier version took more', async () => {
    // What it stored is no longer what the documents say.
    await restart({ checkReplies: false })
    await create()
    const tags = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`key-${index}`, 'x']))
    const { client, caches } = world.server
    const edited = client.edit(kind.resource, ref, ({ spec }) => Object.assign(spec as object, { tags, ...former }))
    caches.get(kind.resource).observeWrite(edited)
    const { body: read, headers } = await call('get', one)
    expect(read.tags).to.deep.equal(tags)
    for (const method of ['post', 'put'] as const) {
      if (!has(method, '/x')) continue
      const answer = await call(method, one).send(read)
      expect([answer.status, answer.headers.etag], JSON.stringify(answer.body)).to.deep.equal([200, headers.etag])
      const more = await call(method, one).send({ ...read, tags: { ...tags, more: 'x' } })
      expect([more.status, more.body.code], method).to.deep.equal([400, 'BAD_REQUEST'])
    }
    if (patch === undefined) return
    const more = await call('patch', one).send({ tags: { more: 'x' } })
    expect([more.status, more.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
    const changed = 'tags' in patch.body ? { tags: { 'key-0': null } } : patch.body
    expect((await call('patch', one).send(changed)).status).to.equal(200)
  })
}

function listTests({ kind, body }: ResourceCase, segment: string, world: World): void {
  const { base, call, create, has } = world

  it('are listed page by page, filtered and sorted', async () => {
    for (const name of ['c-one', 'a-one', 'b-one']) expect((await create(name)).status).to.equal(201)
    const names = async (query: string) => {
      const answer = await call('get', `${base}?${query}`)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body.items.map(({ name }: { name: string }) => name)
    }
    expect(await names('sort=name&pageSize=2')).to.deep.equal(['a-one', 'b-one'])
    expect(await names('sort=-name')).to.deep.equal(['c-one', 'b-one', 'a-one'])
    expect(await names('filter=name:eq:b-one')).to.deep.equal(['b-one'])
    expect(await names('search=C-ONE')).to.deep.equal(['c-one'])
    const page = await call('get', `${base}?pageSize=2`)
    expect(page.body.pagination).to.include({ totalItems: 3, totalPages: 2, hasNextPage: true })
    for (const query of ['page=0', 'pageSize=501', 'sort=color', 'filter=x:eq:1', 'color=1', 'page=1&page=2']) {
      const answer = await call('get', `${base}?${query}`)
      expect([answer.status, typeof answer.body.parameter], query).to.deep.equal([400, 'string'])
    }
    const across = `/boundaries/${BOUNDARY}/resources/${segment}`
    if (!SERVED_ROUTES.some((route) => isServed(route, 'get', across))) return
    const all = await call('get', `${across}?filter=resourceGroup:eq:shop`)
    expect(all.body.pagination.totalItems).to.equal(3)
  })

  it('have the status of their record in the list over all kinds', async () => {
    await create()
    const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
    // A job tells how far it has come; whatever a kind says of itself is what both show.
    const { server } = world
    if (segment === 'jobs') {
      const ended = server.client.edit(kind.resource, ref, (object) => {
        Object.assign(object, { status: { state: 'Succeeded' } })
      })
      server.caches.get(kind.resource).observeWrite(ended)
    }
    const { status } = (await call('get', `${base}/${NAME}`)).body
    const all = await call('get', `${GROUP}/resources?filter=status:eq:${status}&filter=collection:eq:${segment}`)
    expect(all.status, JSON.stringify(all.body)).to.equal(200)
    expect(all.body.items.map((item: { status: string }) => item.status)).to.deep.equal([status])
    if (segment === 'jobs') expect(status).to.equal('Succeeded')
  })

  it('are not there in a group that is not', async () => {
    const elsewhere = base.replace('/shop/', '/none/')
    for (const path of [elsewhere, `${elsewhere}/x`]) expect((await call('get', path)).status, path).to.equal(404)
    expect((await world.call('post', `${elsewhere}/x`).send(body)).status).to.equal(404)
  })

  if (has('get', '/config')) {
    it('say what their lists can be asked for', async () => {
      const { body: config, status } = await call('get', `${base}/config`, READER)
      expect(status).to.equal(200)
      expect(config.actions).to.have.length.greaterThan(0)
      expect(config.sorts).to.include('name')
      expect(config.names.reserved).to.include('config')
    })
  }

  const across = `/boundaries/${BOUNDARY}/resources/${segment}/config`
  const configs = [`${base}/config`, across].filter((path) =>
    SERVED_ROUTES.some((route) => isServed(route, 'get', path)),
  )
  if (configs.length > 0)
    it('say what a new one may be named', async () => {
      for (const path of configs) {
        const { pattern } = (await call('get', path, READER)).body.names
        const isName = (length: number) => new RegExp(pattern).test('a'.repeat(length))
        const least = kind.nameMin ?? 1
        expect([least - 1, least, 52, 53].map(isName), path).to.deep.equal([false, true, true, false])
      }
    })
}

function deletionTests({ kind }: ResourceCase, world: World): void {
  const { base, call, create } = world
  const one = `${base}/${NAME}`

  it('go, held to If-Match, and then nothing is there', async () => {
    await create()
    const stale = await call('delete', one).set('if-match', '"7-1"')
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'CONFLICT'])
    const { status, body } = await call('delete', one)
    expect(status, JSON.stringify(body)).to.be.oneOf([202, 204])
    // What the controllers have to empty first stays until then.
    if (status === 202) {
      expect((await call('get', one)).body.status).to.equal('Deleting')
      return
    }
    for (const method of ['get', 'delete'] as const) expect((await call(method, one)).status).to.equal(404)
    expect([...world.server.client.stored(kind.resource)]).to.deep.equal([])
  })
}

function refusalTests({ body }: ResourceCase, world: World): void {
  const { base, call, create } = world
  const one = `${base}/${NAME}`
  const routeOf = (method: Method) => SERVED_ROUTES.find((route) => isServed(route, method, one))

  it('ask for the permission before they look', async () => {
    await create()
    for (const name of [NAME, 'nothing']) {
      expect((await call('get', `${base}/${name}`, STRANGER)).status).to.equal(403)
      expect((await call('delete', `${base}/${name}`, READER)).status).to.equal(403)
      expect((await call('post', `${base}/${name}`, READER).send(body)).status).to.equal(403)
    }
    expect((await call('get', one, READER)).status).to.equal(200)
    expect((await request(world.server.app).get(one)).status).to.equal(401)
  })

  it('read a body before they look for what it is about', async () => {
    for (const method of ['put', 'patch'] as const) {
      if (!world.has(method, '/x')) continue
      const unread = await call(method, `${base}/nothing`).send({ ...body, nowhere: null })
      expect([unread.status, unread.body.code], method).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
      expect((await call(method, `${base}/nothing`).send(body)).status, method).to.equal(404)
    }
  })

  it('judge a whole body before they say that what it is about is not there', async () => {
    const places = { put: `${base}/nothing`, post: `${base.replace('/shop/', '/none/')}/x` }
    for (const [method, place] of Object.entries(places) as ['put' | 'post', string][]) {
      const [field = ''] = Object.keys((routeOf(method)?.body as z.ZodObject | undefined)?.shape ?? {})
      if (field === '') continue
      const judged = await call(method, place).send({ ...body, [field]: { odd: [true] } })
      expect([judged.status, judged.body.errors?.[0]?.field], method).to.deep.equal([400, field])
    }
  })

  for (const method of ['get', 'post', 'delete'] as const) {
    it(`are closed to ${method} by a deny`, async () => {
      const authorization = routeOf(method)?.authorization
      if (authorization?.kind !== 'iam') throw new Error(`${method} of ${base} asks for no permission.`)
      // At the root: one of a boundary does not count for an Owner of the platform.
      const spec = { principalId: OWNER, principalType: 'User', actions: [authorization.action], scope: '/' }
      await create()
      world.server.put(DenyAssignment, 'deny', spec, SYSTEM_NAMESPACE)
      const answer = await call(method, one).send(method === 'post' ? body : undefined)
      expect([answer.status, answer.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    })
  }
}
