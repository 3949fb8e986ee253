import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { z } from 'zod'
import { EventStream } from '../../test/make/eventStream.ts'
import { until } from '../../test/make/until.ts'
import { bearer } from '../../test/worlds/facadeServer.ts'
import { startWithOneOfEachKind } from '../../test/worlds/oneOfEachKind.ts'
import { OWNER } from '../../test/worlds/shop.ts'
import type { KubeObject } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { KINDS } from '../crds/index.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { EVENT_STREAM, isFollowable, notFollowed } from './http/negotiation.ts'
import type { Route } from './http/route.ts'
import { SERVED_ROUTES, wholeOpenApiDocument } from './index.ts'

const LISTS = SERVED_ROUTES.filter(({ list }) => list !== undefined)
const FOLLOWED = LISTS.filter(isFollowable)
const UNFOLLOWED = LISTS.filter((route) => !isFollowable(route))
/** Kinds that contain lists or grant access to them. */
const STAYS = new Set<object>([Boundary, ResourceGroup, PlatformCluster, RoleAssignment])
/** Streams per caller. */
const AT_ONCE = 24

type Item = Record<string, unknown>
type KeyOf = (item: Item, isGone: boolean) => string

/** The items of one list, built from its events. */
class Copy {
  readonly path: string
  readonly as: string
  readonly stream: EventStream
  readonly items = new Map<string, string>()
  readonly heard = new Set<string>()
  ending: unknown

  constructor(path: string, as: string, stream: EventStream) {
    this.path = path
    this.as = as
    this.stream = stream
  }

  async follow(keyOf: KeyOf): Promise<void> {
    for (let next = await this.stream.next(); next !== undefined; next = await this.stream.next()) {
      const { event, data } = next
      this.heard.add(event)
      if (event === 'closed') this.ending = data.code
      else if (event === 'deleted') this.items.delete(keyOf(data, true))
      else if (event !== 'bookmark') this.items.set(keyOf(data, false), JSON.stringify(data))
    }
  }

  equals(items: readonly Item[]): boolean {
    const wanted = items.map((item) => JSON.stringify(item)).sort()
    return JSON.stringify([...this.items.values()].sort()) === JSON.stringify(wanted)
  }
}

/** The key of a record in a deleted event: its id, or its names. */
const keyIn = ({ list, reply }: Route): KeyOf => {
  const { element } = (reply as z.ZodObject).shape.items as z.ZodArray<z.ZodObject>
  if (Object.hasOwn(element.shape, 'id')) return ({ id }) => String(id)
  if (Object.hasOwn(element.shape, 'resourceGroup')) return ({ resourceGroup, name }) => `${resourceGroup}/${name}`
  // Its id is a field with another name.
  const namesOf = list?.namesOf as unknown as (item: Item) => { id: string }
  return (item, isGone) => (isGone ? String(item.id) : namesOf(item).id)
}

describe('every list', () => {
  let server: Awaited<ReturnType<typeof startWithOneOfEachKind>>
  let base: string
  const copies: Copy[] = []
  before(async () => {
    server = await startWithOneOfEachKind()
    const { port } = await server.facade.listen(0, '127.0.0.1')
    base = `http://127.0.0.1:${port}`
  })
  after(async () => {
    for (const { stream } of copies) stream.close()
    await server.facade.stop(0)
    await server.stop()
  })
  const pathOf = ({ path }: Route) =>
    server.pathOf(path) + (path === '/lifecycle/releases' ? `?component=${server.pathOf('{name}')}` : '')
  const isCurrent = async ({ path, as, equals, ...copy }: Copy) => {
    const { status, body } = await server.ask('get', path, as)
    return copy.ending === undefined ? status === 200 && equals.call(copy, body.items) : status === 404
  }

  it('supports events, except 10 to 16 lists', () => {
    expect(FOLLOWED.length).to.be.greaterThan(70)
    expect(UNFOLLOWED.length).to.be.within(10, 16)
  })

  for (const route of UNFOLLOWED) {
    it(`returns 406 with a reason if it is not watched: ${route.path}`, async () => {
      const { status, body } = await server.ask('get', server.pathOf(route.path)).set('accept', EVENT_STREAM)
      expect([status, body.code]).to.deep.equal([406, 'NOT_ACCEPTABLE'])
      expect(body.error).to.equal(`This list cannot be followed: ${notFollowed(route)}.`)
      expect(body.supported).to.not.include(EVENT_STREAM)
    })
  }

  it('declares in the OpenAPI document whether it supports events', () => {
    const { paths } = wholeOpenApiDocument() as { paths: Record<string, { get?: Operation }> }
    const followed = Object.values(paths).filter(({ get }) => EVENT_STREAM in (get?.responses['200']?.content ?? {}))
    expect(followed).to.have.length(FOLLOWED.length)
    for (const { path } of UNFOLLOWED) expect(paths[path]?.get?.description, path).to.include('cannot be followed')
  })

  it('begins its stream with its items', async () => {
    let as = OWNER
    for (const [index, route] of FOLLOWED.entries()) {
      if (index % AT_ONCE === 0) {
        as = randomUUID()
        server.grant(as, 'Owner', '/')
        server.grant(as, 'Platform Owner', '/')
      }
      const path = pathOf(route)
      const stream = await EventStream.open(`${base}${path}`, { authorization: bearer(as) })
      const { status } = await server.ask('get', path, as)
      expect(stream.response.status, path).to.equal(status)
      if (status !== 200) continue
      const copy = new Copy(path, as, stream)
      copies.push(copy)
      void copy.follow(keyIn(route))
    }
    expect(copies.length).to.be.greaterThan(60)
    for (const copy of copies) await until(`${copy.path} equals its events`, () => isCurrent(copy))
    const filled = copies.filter(({ items }) => items.size > 0)
    expect(filled.length, 'lists with items').to.be.greaterThan(40)
  })

  it('sends events for the deletion and creation of everything', async () => {
    const before = new Map<object, KubeObject[]>()
    for (const kind of KINDS.filter((each) => !STAYS.has(each))) {
      const { items } = await server.client.list<KubeObject>(kind.resource)
      before.set(kind, items)
      for (const { metadata } of items) await server.client.remove(kind.resource, metadata)
    }
    for (const copy of copies) await until(`${copy.path} equals its events after the deletions`, () => isCurrent(copy))
    const deleted = copies.filter(({ heard, ending }) => heard.has('deleted') || ending !== undefined)
    expect(deleted.length, 'lists with deletions').to.be.greaterThan(40)
    const open = copies.filter(({ ending }) => ending === undefined)
    expect(open.length, 'lists that remain').to.be.greaterThan(30)
    for (const [kind, objects] of before)
      for (const { metadata, ...object } of objects as (KubeObject & { spec: object })[])
        server.put(kind as never, metadata.name, object.spec, metadata.namespace)
    for (const copy of open) await until(`${copy.path} equals its events after the creations`, () => isCurrent(copy))
  })
})

type Operation = { description?: string; responses: Record<string, { content?: object } | undefined> }
