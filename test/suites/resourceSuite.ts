import { expect } from 'chai'
import type { z } from 'zod'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { filtersOf } from '../../src/api/resources/paging.ts'
import { groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { QuotaLedger } from '../../src/crds/quotas.ts'
import { DenyAssignment } from '../../src/crds/rbac.ts'
import { request } from '../make/request.ts'
import { bearer, startFacade } from '../worlds/facadeServer.ts'
import { changeTests, planTests, powerTests, scaleTests } from './changeSuite.ts'
import { creationTests } from './creationSuite.ts'
import { hostTests } from './hostSuite.ts'
import {
  BOUNDARY,
  isServed,
  type Method,
  NAME,
  OWNER,
  type ResourceCase,
  type Server,
  type World,
} from './resourceCase.ts'

const READER = '33333333-3333-4333-8333-333333333333'
const STRANGER = '44444444-4444-4444-8444-444444444444'
const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop`

/** The common behaviour of resources in a group. An area tests only its own. */
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

  describe(`resources of a group: ${segment}`, () => {
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
    if (world.has('put', '/x/actions/x')) powerTests(given, world)
    if (world.has('post', '/x/scale')) scaleTests(given, world)
    deletionTests(given, world)
    refusalTests(given, world)
  })
}

/** @param restart another facade instead of the present one */
function storedTests(
  { kind, body, patch, scale, former = {}, isBrief = false }: ResourceCase,
  world: World,
  restart: (change: Parameters<typeof startFacade>[0]) => Promise<void>,
): void {
  const { base, call, create, has } = world
  const one = `${base}/${NAME}`
  const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
  const hasField = (name: string) => Object.hasOwn(kind.spec.shape as object, name)
  const byKubectl = (spec: object = body) => world.server.put(kind, NAME, spec, ref.namespace)

  it('returns 200 for POST of the record of a minimal object of kubectl', async () => {
    byKubectl()
    const read = await call('get', one)
    for (const sent of [read.body, body]) {
      const answer = await create(NAME, sent)
      expect([answer.status, answer.headers.etag], JSON.stringify(answer.body)).to.deep.equal([200, read.headers.etag])
    }
  })

  if (has('put', '/x') || has('patch', '/x'))
    it('stores no defaults by PUT of its own record or PATCH of another field', async () => {
      byKubectl()
      const specOf = async () => (await world.server.client.get(kind.resource, ref)).spec as Record<string, unknown>
      const { body: read } = await call('get', one)
      // The number that a scale subresource counts is always stored.
      const before = { ...(await specOf()), ...(scale !== undefined && { replicas: read.replicas }) }
      if (has('put', '/x')) {
        expect((await call('put', one).send(read)).status).to.equal(200)
        expect(await specOf()).to.deep.equal(before)
      }
      if (!has('patch', '/x')) return
      expect((await call('patch', one).send({ tags: { team: 'books' } })).status).to.equal(200)
      expect(await specOf()).to.deep.equal({ ...before, tags: { team: 'books' } })
    })

  it('reserves no quota by POST of its own record', async () => {
    world.server.group(BOUNDARY, 'shop', { quota: { cpu: '64', resources: 9 } })
    byKubectl({ ...body, ...(hasField('running') && { running: false }) })
    const { body: read } = await call('get', one)
    expect((await create(NAME, read)).status).to.equal(200)
    expect([...world.server.client.stored(QuotaLedger.resource)]).to.deep.equal([])
  })

  if (isBrief) return
  it('accepts its own record with values that an earlier version allowed, but no more of them', async () => {
    // What it stored no longer matches the documents.
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

  it('lists by page, filter, sort and search', async () => {
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

  it('filters by each field of the record, also by defaults of an object of kubectl', async () => {
    world.server.put(kind, NAME, body, groupNamespace(BOUNDARY, 'shop'))
    const { body: record } = await call('get', `${base}/${NAME}`)
    const found = async (path: string, field: string, value: unknown) => {
      const filter = value === null ? `${field}:exists:false` : `${field}:eq:${value}`
      const answer = await call('get', `${path}?filter=${encodeURIComponent(filter)}`)
      expect(answer.status, `${filter}: ${JSON.stringify(answer.body)}`).to.equal(200)
      return answer.body.items.map(({ name }: { name: string }) => name)
    }
    const route = SERVED_ROUTES.find((one) => isServed(one, 'get', base))
    const offered = route?.list === undefined ? [] : filtersOf(route.list)
    const fields = offered.filter(
      (field) => record[field] === null || ['string', 'number', 'boolean'].includes(typeof record[field]),
    )
    for (const field of fields) expect(await found(base, field, record[field]), field).to.deep.equal([NAME])
    const [summary] = (await call('get', `${GROUP}/resources`)).body.items
    const plan = record.computePlan ?? record.resourcePlanId ?? null
    expect([summary.computePlan, await found(`${GROUP}/resources`, 'computePlan', plan)]).to.deep.equal([plan, [NAME]])
  })

  it('has the same status in the list of all kinds', async () => {
    await create()
    const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
    // A job reports its progress; in any case both show the same status.
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

  it('returns 404 in a missing group', async () => {
    const elsewhere = base.replace('/shop/', '/none/')
    for (const path of [elsewhere, `${elsewhere}/x`]) expect((await call('get', path)).status, path).to.equal(404)
    expect((await world.call('post', `${elsewhere}/x`).send(body)).status).to.equal(404)
  })

  if (has('get', '/config')) {
    it('returns actions, sorts and reserved names in GET /config', async () => {
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
    it('returns the pattern of names in GET /config', async () => {
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

  it('deletes, and returns 409 for a stale If-Match', async () => {
    await create()
    const stale = await call('delete', one).set('if-match', '"7-1"')
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'CONFLICT'])
    const { status, body } = await call('delete', one)
    expect(status, JSON.stringify(body)).to.be.oneOf([202, 204])
    // Objects that the controllers must empty first remain until then.
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

  it('returns 401 and 403 before it reads the object', async () => {
    await create()
    for (const name of [NAME, 'nothing']) {
      expect((await call('get', `${base}/${name}`, STRANGER)).status).to.equal(403)
      expect((await call('delete', `${base}/${name}`, READER)).status).to.equal(403)
      expect((await call('post', `${base}/${name}`, READER).send(body)).status).to.equal(403)
    }
    expect((await call('get', one, READER)).status).to.equal(200)
    expect((await request(world.server.app).get(one)).status).to.equal(401)
  })

  if (world.has('put', '/x') || world.has('patch', '/x'))
    it('returns 400 for an unknown field before 404 for a missing object', async () => {
      for (const method of ['put', 'patch'] as const) {
        if (!world.has(method, '/x')) continue
        const unread = await call(method, `${base}/nothing`).send({ ...body, nowhere: null })
        expect([unread.status, unread.body.code], method).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
        expect((await call(method, `${base}/nothing`).send(body)).status, method).to.equal(404)
      }
    })

  it('returns 400 for an invalid field before 404 for a missing object or group', async () => {
    const places = { put: `${base}/nothing`, post: `${base.replace('/shop/', '/none/')}/x` }
    for (const [method, place] of Object.entries(places) as ['put' | 'post', string][]) {
      const [field = ''] = Object.keys((routeOf(method)?.body as z.ZodObject | undefined)?.shape ?? {})
      if (field === '') continue
      const judged = await call(method, place).send({ ...body, [field]: { odd: [true] } })
      expect([judged.status, judged.body.errors?.[0]?.field], method).to.deep.equal([400, field])
    }
  })

  for (const method of ['get', 'post', 'delete'] as const) {
    it(`returns 403 for ${method.toUpperCase()} under a deny`, async () => {
      const authorization = routeOf(method)?.authorization
      if (authorization?.kind !== 'iam') throw new Error(`${method} of ${base} asks for no permission.`)
      // At the root: a deny in a boundary does not apply to an Owner of the platform.
      const spec = { principalId: OWNER, principalType: 'User', actions: [authorization.action], scope: '/' }
      await create()
      world.server.put(DenyAssignment, 'deny', spec, SYSTEM_NAMESPACE)
      const answer = await call(method, one).send(method === 'post' ? body : undefined)
      expect([answer.status, answer.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    })
  }
}
