import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Test } from 'supertest'
import type { z } from 'zod'
import type { Route } from '../../src/api/http/route.ts'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import type { ListShape } from '../../src/api/resources/paging.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { DenyAssignment } from '../../src/crds/rbac.ts'
import { request } from '../make/request.ts'
import { bearer, startFacade } from '../worlds/facadeServer.ts'
import { askAtOnce, askInTurn, outcomes } from './contest.ts'

export type Server = Awaited<ReturnType<typeof startFacade>>
type Item = Record<string, unknown> & { id: string }
type Method = 'get' | 'post' | 'patch' | 'delete'

/** Lives in the world of each case, which contains the group `shop`. */
export const BOUNDARY = '11111111-1111-4111-8111-111111111111'
/** Owner of the platform and of the boundary; a person known to both. */
export const OWNER = '22222222-2222-4222-8222-222222222222'
const STRANGER = '33333333-3333-4333-8333-333333333333'
const NOBODY = '44444444-4444-4444-8444-444444444444'

/** A collection with the objects that its routes need. */
export type CollectionCase = {
  kind: AnyKind
  /** The full path of the collection in the world of the case. */
  path: string
  /** Creates what the collection depends on. */
  world?: (server: Server) => void
  /** Two initial objects: bodies for POST, or created directly if POST needs more than the facade. */
  items: { bodies: readonly [object, object] } | { seed: (server: Server) => void }
  /** What the path of one object names; its id if absent. */
  keyOf?: (item: Item) => string
  /** A merge patch and the resulting record. */
  patch?: { body: object; shows: object }
  /** Null in a merge patch leaves a field unchanged, as its section says. */
  nullKeeps?: true
  /** A body for PATCH if the actual change needs more than the facade. */
  wellFormed?: object
  /** The code for a missing object. */
  missing?: string
  /** DELETE ends an object, which can still be read. */
  stays?: true
  /** While this object is being deleted, nothing can be created in it. */
  owner?: { kind: AnyKind; namespace?: string; name: string }
}

type World = {
  server: Server
  /** The initial list. */
  made: Item[]
  call: (method: Method, at: string, caller?: string) => Test
  listed: (query?: Record<string, string>) => Promise<Listed>
  one: (item: Item | undefined) => string
  routeOf: (method: Method, isOne: boolean) => Route | undefined
}
type Listed = { items: Item[]; pagination: { totalItems: number; hasNextPage: boolean } }

/**
 * The common behaviour of collections: create, read, list, page, filter, sort, search, patch, delete, If-Match,
 * refusals.
 */
export function collectionSuite(given: CollectionCase): void {
  describe(`collection of ${given.kind.kind} at ${given.path.replace(BOUNDARY, '{id}')}`, () => {
    const world = worldOf(given)
    describe('reads', () => {
      before(() => begin(given, world))
      after(() => world.server.stop())
      listTests(given, world)
      columnTests(given, world)
    })
    describe('writes', () => {
      beforeEach(() => begin(given, world))
      afterEach(() => world.server.stop())
      changeTests(given, world)
      absenceTests(given, world)
      refusalTests(given, world)
    })
  })
}

function worldOf({ path, keyOf = ({ id }) => id }: CollectionCase): World {
  const world: World = {
    server: undefined as unknown as Server,
    made: [],
    call: (method, at, caller = OWNER) => request(world.server.app)[method](at).set('authorization', bearer(caller)),
    listed: async (query = {}) => {
      const answer = await world.call('get', path).query(query)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body as Listed
    },
    one: (item) => `${path}/${encodeURIComponent(keyOf(item as Item))}`,
    routeOf: (method, isOne) => {
      const isMeant = (route: Route) => matches(route.path, isOne ? `${path}/x` : path)
      return SERVED_ROUTES.find((route) => route.method === method.toUpperCase() && isMeant(route))
    },
  }
  return world
}

async function begin({ path, items, ...given }: CollectionCase, world: World): Promise<void> {
  const server = await startFacade()
  world.server = server
  server.boundary(BOUNDARY)
  server.group(BOUNDARY, 'shop')
  server.put(PlatformUser, OWNER, person('owner'), SYSTEM_NAMESPACE)
  server.grant(OWNER, 'Owner', '/')
  server.grant(OWNER, 'Owner', `/boundaries/${BOUNDARY}`)
  given.world?.(server)
  if ('seed' in items) items.seed(server)
  else {
    for (const body of items.bodies) {
      const answer = await world.call('post', path).send(body)
      expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([201, 202])
      expect(answer.headers.etag).to.match(/^"\d+-\w+-\w+"$/)
      const isRead = world.routeOf('get', true) !== undefined
      if (answer.status === 201) expect(answer.headers.location).to.equal(isRead ? world.one(answer.body) : undefined)
    }
  }
  world.made = (await world.listed()).items
}

/** Pages, refusals of queries, and one as the list shows it. */
function listTests(given: CollectionCase, world: World): void {
  const { path } = given
  const { call, listed, one, routeOf } = world

  it('lists records in pages', async () => {
    expect(world.made.length).to.be.at.least(2)
    const first = await listed({ pageSize: '1' })
    const second = await listed({ pageSize: '1', page: '2' })
    expect([first.items, second.items].flat()).to.deep.equal(world.made.slice(0, 2))
    expect(first.pagination).to.deep.include({ totalItems: world.made.length, hasNextPage: world.made.length > 1 })
  })

  it('returns 400 for an unknown filter, sort, page and parameter', async () => {
    for (const query of [{ filter: 'nonsense:eq:1' }, { sort: 'nonsense' }, { page: '0' }, { nonsense: '1' }]) {
      const { status, body } = await call('get', path).query(query)
      expect([status, body.code, body.parameter]).to.deep.equal([400, 'BAD_REQUEST', Object.keys(query)[0]])
    }
  })

  if (routeOf('get', true) !== undefined) {
    it('returns one record as in the list, with its ETag', async () => {
      const answer = await call('get', one(world.made[0]))
      expect([answer.status, answer.body]).to.deep.equal([200, world.made[0]])
      expect(answer.headers.etag).to.match(/^"\d+-\w+-\w+"$/)
    })
  }
}

/** Each column, as far as it is declared. */
function columnTests(given: CollectionCase, world: World): void {
  const { path } = given
  const { call, listed, routeOf } = world
  const list = routeOf('get', false)?.list as ListShape<never>

  for (const [name, field] of Object.entries(list.fields)) {
    const isText = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

    it(`${field.isFiltered === false ? 'rejects' : 'accepts'} a filter by ${name}`, async () => {
      const { status } = await call('get', path).query({ filter: `${name}:exists:true` })
      expect(status).to.equal(field.isFiltered === false ? 400 : 200)
      const value = world.made[0]?.[name]
      if (field.isFiltered === false || !isText(value)) return
      const { items: same } = await listed({ filter: `${name}:eq:${value}` })
      expect(same).to.deep.equal(world.made.filter((item) => item[name] === value))
    })

    it(`${field.isSorted === false ? 'rejects' : 'accepts'} a sort by ${name}`, async () => {
      const { status, body } = await call('get', path).query({ sort: name })
      expect(status).to.equal(field.isSorted === false ? 400 : 200)
      const values = new Set(world.made.map((item) => item[name]))
      // Equal values have a stable order in both directions, and missing values are last in both.
      if (field.isSorted === false || values.size < world.made.length || values.has(null)) return
      const { items: reversed } = await listed({ sort: `-${name}` })
      expect(body.items).to.deep.equal(reversed.reverse())
    })

    if (field.isSearched !== true) continue
    it(`searches ${name}`, async () => {
      const value = world.made[0]?.[name]
      if (typeof value !== 'string') return
      const { items: found } = await listed({ search: value.toUpperCase() })
      expect(found).to.deep.include(world.made[0])
    })
  }
}

/** Bodies, merge patches and removals, with If-Match. */
/** A code in the style of the module that answers. */
const styled = (code: string, { module }: { module: string }) => (module === 'rbac' ? code.toLowerCase() : code)

function changeTests(given: CollectionCase, world: World): void {
  const { path, items, patch, missing = 'NOT_FOUND', keyOf = ({ id }) => id } = given
  const { call, listed, one, routeOf } = world

  if ('bodies' in items) {
    it('returns 400 for a body that is not an object, and for unknown fields', async () => {
      const [body] = items.bodies
      for (const wrong of [[], { ...body, nonsense: 1 }]) {
        const answer = await call('post', path).send(wrong)
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
      }
      expect((await listed()).items).to.deep.equal(world.made)
    })

    it('returns 409 for POST with If-Match', async () => {
      for (const version of ['"1-1-abcdef01"', '*']) {
        const answer = await call('post', path).set('if-match', version).send(items.bodies[0])
        expect([answer.status, answer.body.code], version).to.deep.equal([409, styled('CONFLICT', answer.body)])
      }
      expect((await listed()).items).to.deep.equal(world.made)
    })

    it('answers concurrent POSTs like sequential ones', async () => {
      const [body] = items.bodies
      const ask = (app: Server['app']) => request(app).post(path).set('authorization', bearer(OWNER)).send(body)
      const seen: unknown[] = []
      for (const how of [askInTurn, askAtOnce]) {
        await world.server.stop()
        await begin({ ...given, items: { seed: () => {} } }, world)
        seen.push([outcomes(await how(world.server, ask)), (await listed()).items.length])
      }
      expect(seen[1]).to.deep.equal(seen[0])
    })
  }

  if (patch !== undefined) {
    it('applies a merge patch, and returns 409 for a stale If-Match', async () => {
      const stale = await call('patch', one(world.made[0])).set('if-match', '"99-1"').send(patch.body)
      expect([stale.status, stale.body.code]).to.deep.equal([409, styled('CONFLICT', stale.body)])
      const answer = await call('patch', one(world.made[0])).send(patch.body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(answer.body).to.deep.include(patch.shows)
      const after = await call('patch', one(answer.body))
        .set('if-match', answer.headers.etag ?? '')
        .send(patch.body)
      expect(after.status).to.equal(200)
      const wrong = await call('patch', one(answer.body)).send({ nonsense: 1 })
      expect([wrong.status, wrong.body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
    })

    const { shape = {} } = (routeOf('patch', true)?.body ?? {}) as { shape?: Record<string, z.ZodType> }
    const [begun = {}] = 'bodies' in items ? items.bodies : []
    for (const name of Object.keys(patch.body)) {
      const isLeftOut = 'bodies' in items && !Object.hasOwn(begun, name)
      if (!isLeftOut || given.nullKeeps === true || shape[name]?.safeParse(null).success !== true) continue
      it(`resets ${name} to its initial value for null in a merge patch`, async () => {
        await call('patch', one(world.made[0])).send(patch.body)
        const answer = await call('patch', one(world.made[0])).send({ [name]: null })
        expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
        expect(answer.body[name]).to.deep.equal(world.made[0]?.[name])
      })
    }

    const { path: template = '', reply } = routeOf('patch', true) ?? {}
    const shown = Object.keys((reply as { shape?: object } | undefined)?.shape ?? {})
    for (const name of ['boundaryId', 'accountName'].filter((each) => template.includes(`{${each}}`))) {
      if (!shown.includes(name)) continue
      it(`returns 400 for a merge patch with another ${name} than in the path`, async () => {
        const { body, headers } = await call('patch', one(world.made[0])).send(patch.body)
        const wrong = await call('patch', one(body)).send({ [name]: name.endsWith('Id') ? randomUUID() : 'another' })
        const errors = wrong.body.errors?.map(({ field }: { field: string }) => field)
        expect([wrong.status, wrong.body.code, errors]).to.deep.equal([400, 'BAD_REQUEST', [name]])
        const same = await call('patch', one(body)).send({ [name]: body[name].toUpperCase() })
        if (name.endsWith('Id')) expect([same.status, same.headers.etag]).to.deep.equal([200, headers.etag])
      })
    }

    it('ignores read-only fields of its own record in a merge patch', async () => {
      const { body } = await call('patch', one(world.made[0])).send(patch.body)
      const answer = await call('patch', one(body)).send({ ...body, id: 'another', createdAt: 'never' })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(answer.body).to.deep.equal(body)
    })
  }

  if (given.stays !== true && routeOf('delete', true) !== undefined) {
    it('deletes, returns 409 for a stale If-Match, and 404 afterwards', async () => {
      const stale = await call('delete', one(world.made[0])).set('if-match', '"99-1"')
      expect([stale.status, stale.body.code]).to.deep.equal([409, styled('CONFLICT', stale.body)])
      const answer = await call('delete', one(world.made[0]))
      expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([202, 204])
      if (answer.status === 202) return
      expect((await listed()).items.map(keyOf)).to.not.include(keyOf(world.made[0] as Item))
      const again = await call('delete', one(world.made[0]))
      expect([again.status, again.body.code]).to.deep.equal([404, missing])
    })
  }
}

/** Missing objects, in missing parents, or in parents that are being deleted. */
function absenceTests(given: CollectionCase, world: World): void {
  const { path, items, patch, missing = 'NOT_FOUND' } = given
  const { call, listed, routeOf } = world

  for (const method of ['get', 'patch', 'delete'] as const) {
    if (routeOf(method, true) === undefined) continue
    it(`returns 404 ${missing} for ${method.toUpperCase()} of a missing one`, async () => {
      const answer = await call(method, `${path}/${NOBODY}`).send(
        method === 'patch' ? (patch?.body ?? given.wellFormed) : undefined,
      )
      expect([answer.status, answer.body.code]).to.deep.equal([404, missing])
    })
  }

  if (path.startsWith(`/boundaries/${BOUNDARY}`)) {
    it('returns 404 in a missing boundary', async () => {
      const { status, body } = await call('get', path.replace(BOUNDARY, NOBODY))
      expect([status, body.code]).to.deep.equal([404, 'NOT_FOUND'])
    })
  }

  const { owner } = given
  if (owner !== undefined && 'bodies' in items) {
    const { namespace, name } = owner
    const leave = () =>
      world.server.client.edit(owner.kind.resource, { namespace, name }, (object) => {
        Object.assign(object.metadata, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test/held'] })
      })
    const refused = async () => {
      const { status, body } = await call('post', path).send(items.bodies[0])
      expect([status, body.code]).to.deep.equal([409, styled('INVALID_STATE', body)])
    }

    it('returns 409 for POST while the parent is being deleted', async () => {
      world.server.caches.get(owner.kind.resource).observeWrite(leave())
      await refused()
    })

    it('returns 409 for POST when another replica has just deleted the parent', async () => {
      await world.server.stop()
      await begin({ ...given, items: { seed: () => {} } }, world)
      const before = (await listed()).items
      await world.server.caches.stopAll()
      leave()
      await refused()
      expect((await listed()).items).to.deep.equal(before)
    })
  }
}

/** Callers without the right. */
function refusalTests(given: CollectionCase, world: World): void {
  const { path, items } = given
  const { call, routeOf } = world

  for (const method of ['get', 'post'] as const) {
    const authorization = routeOf(method, false)?.authorization
    if (authorization?.kind !== 'iam') continue
    const body = method === 'post' && 'bodies' in items ? items.bodies[0] : undefined
    const refusal = async (caller: string) => {
      const answer = await call(method, path, caller).send(body)
      return [answer.status, answer.body.code]
    }

    it(`returns 403 for ${method.toUpperCase()} without the permission`, async () => {
      expect(await refusal(STRANGER)).to.deep.equal([403, 'FORBIDDEN'])
    })

    if (!path.startsWith(`/boundaries/${BOUNDARY}`)) continue
    it(`returns 403 for ${method.toUpperCase()} under a deny`, async () => {
      // At the root: a deny in a boundary does not apply to an Owner of the platform.
      const spec = { principalId: OWNER, principalType: 'User', actions: [authorization.action], scope: '/' }
      world.server.put(DenyAssignment, 'deny', spec, SYSTEM_NAMESPACE)
      expect(await refusal(OWNER)).to.deep.equal([403, 'FORBIDDEN'])
    })
  }
}

export const person = (userName: string) => ({
  userName,
  email: `${userName}@example.test`,
  emailVerified: true,
  isEnabled: true,
  tenantIds: [],
})

function matches(template: string, path: string): boolean {
  const [names, values] = [template.split('/'), path.split('/')]
  return names.length === values.length && names.every((name, index) => name.startsWith('{') || name === values[index])
}
