import { expect } from 'chai'
import { EventStream } from '../../../../test/make/eventStream.ts'
import { request } from '../../../../test/make/request.ts'
import { sampleSpec } from '../../../../test/make/samples.ts'
import { until } from '../../../../test/make/until.ts'
import { bearer } from '../../../../test/worlds/facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from '../../../../test/worlds/shop.ts'
import { FairShare } from '../../../core/fairShare.ts'
import { type Log, silentLog } from '../../../core/log.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../../core/names.ts'
import { PlatformApp } from '../../../crds/apps.ts'
import { Boundary } from '../../../crds/boundaries.ts'
import { PlatformCluster } from '../../../crds/clusters.ts'
import { ContainerInstance } from '../../../crds/containerinstances.ts'
import { PlatformUser } from '../../../crds/identity.ts'
import { ComponentRelease, PlatformComponent } from '../../../crds/lifecycle.ts'
import { DenyAssignment, RoleAssignment } from '../../../crds/rbac.ts'
import { RegistryPin } from '../../../crds/registry.ts'
import { VectorCluster } from '../../../crds/vector.ts'
import { noMetrics } from '../metrics.ts'
import { MAX_STREAMS_PER_PRINCIPAL, MAX_STREAMS_PER_PROCESS } from './openStreams.ts'

const READER = '33333333-3333-4333-8333-333333333333'
const HOME = groupNamespace(BOUNDARY, 'shop')
const LIST = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters`

describe('GET of a list with Accept: text/event-stream', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let base: string
  let open: EventStream[]
  let measured: string[]
  let following: number
  let logged: string[]

  beforeEach(async () => {
    open = []
    measured = []
    following = 0
    const metrics = {
      ...noMetrics,
      ended: (method: string, _route: string, status: number) => void measured.push(`${method} ${status}`),
      following: (more: number) => {
        following += more
      },
    }
    logged = []
    const log: Log = {
      ...silentLog,
      info: (fields) => void logged.push(`info ${(fields as { status: number }).status}`),
      error: (fields) => void logged.push(`error ${(fields as { reason: string }).reason.split('\n')[0]}`),
    }
    server = await startShop({ metrics, log })
    server.grant(READER, 'Reader', `/boundaries/${BOUNDARY}`)
    const { port } = await server.facade.listen(0, '127.0.0.1')
    base = `http://127.0.0.1:${port}`
  })
  afterEach(async () => {
    for (const stream of open) stream.close()
    await server.facade.stop(0)
    await server.stop()
  })

  const follow = async (path = LIST, as = READER, headers: Record<string, string> = {}) => {
    const stream = await EventStream.open(`${base}${path}`, { authorization: bearer(as), ...headers })
    open.push(stream)
    return stream
  }
  const make = (name: string, spec: object = {}) =>
    server.put(VectorCluster, name, VectorCluster.spec.parse(spec), HOME)
  const change = async (name: string, spec: object) =>
    server.caches
      .get(VectorCluster.resource)
      .observeWrite(await server.client.mergePatch(VectorCluster.resource, { namespace: HOME, name }, { spec }))
  const remove = (name: string) => server.client.remove(VectorCluster.resource, { namespace: HOME, name })
  const names = (events: readonly { event: string; data: Record<string, unknown> }[]) =>
    events.map(({ event, data }) => `${event} ${data.name ?? data.totalItems}`)

  it('begins with the items of the list, and a bookmark', async () => {
    make('one')
    make('two')
    const stream = await follow()
    const events = await stream.until('bookmark')
    const { body } = await server.ask('get', LIST)
    expect(events.slice(0, -1).map(({ data }) => data)).to.deep.equal(body.items)
    expect(events.at(-1)?.data).to.deep.equal({ totalItems: 2, unchanged: false })
    const { headers } = stream.response
    expect(headers.get('content-type')).to.equal('text/event-stream')
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('x-accel-buffering')).to.equal('no')
    expect(headers.get('vary')).to.equal('Accept')
  })

  it('sends added, modified and deleted events', async () => {
    const stream = await follow()
    await stream.until('bookmark')
    const { metadata } = make('one')
    const [added] = await stream.until('added')
    expect(added?.data.name).to.equal('one')
    await change('one', { tags: { team: 'search' } })
    const [modified] = await stream.until('modified')
    expect(modified?.data.tags).to.deep.equal({ team: 'search' })
    expect(modified?.data).to.deep.equal((await server.ask('get', `${LIST}/one`)).body)
    await remove('one')
    const [deleted] = await stream.until('deleted')
    expect(deleted?.data).to.deep.equal({ id: added?.data.id, name: 'one', resourceGroup: 'shop' })
    expect(metadata.name).to.equal('one')
  })

  it('sends added and deleted events when an item begins or ceases to match the filter', async () => {
    make('one', { tags: { team: 'sales' } })
    const stream = await follow(`${LIST}?filter=tags.team:eq:search`)
    expect(names(await stream.until('bookmark'))).to.deep.equal(['bookmark 0'])
    await change('one', { tags: { team: 'search' } })
    expect(names(await stream.until('added'))).to.deep.equal(['added one'])
    await change('one', { tags: { team: 'sales' } })
    expect(names(await stream.until('deleted'))).to.deep.equal(['deleted one'])
  })

  it('sends more items than a page has', async () => {
    for (let count = 0; count < 60; count += 1) make(`many-${count}`)
    const stream = await follow()
    expect((await stream.until('bookmark')).at(-1)?.data.totalItems).to.equal(60)
  })

  it('returns 400 for pageSize', async () => {
    const { status, body } = await server.ask('get', `${LIST}?pageSize=10`, READER).set('accept', 'text/event-stream')
    expect(status).to.equal(400)
    expect(body.parameter).to.equal('pageSize')
  })

  it('sends the list again only if Last-Event-ID is outdated', async () => {
    make('one')
    const first = await follow()
    const { id = '' } = (await first.until('bookmark')).at(-1) ?? {}
    const same = await follow(LIST, READER, { 'last-event-id': id })
    expect((await same.until('bookmark')).map(({ data }) => data)).to.deep.equal([{ totalItems: 1, unchanged: true }])
    make('two')
    const [added] = await first.until('added')
    const current = await follow(LIST, READER, { 'last-event-id': added?.id ?? '' })
    expect((await current.until('bookmark')).at(-1)?.data.unchanged).to.equal(true)
    const late = await follow(LIST, READER, { 'last-event-id': id })
    expect(names(await late.until('bookmark'))).to.deep.equal(['added one', 'added two', 'bookmark 2'])
  })

  it('reads from the caches despite Cache-Control: no-cache', async () => {
    const stream = await follow(LIST, READER, { 'cache-control': 'no-cache' })
    await stream.until('bookmark')
    make('one')
    expect(names(await stream.until('added'))).to.deep.equal(['added one'])
  })

  it('sends no event for an object of another group', async () => {
    server.group(BOUNDARY, 'other')
    const stream = await follow()
    await stream.until('bookmark')
    server.put(VectorCluster, 'elsewhere', VectorCluster.spec.parse({}), groupNamespace(BOUNDARY, 'other'))
    make('here')
    expect(names([(await stream.next()) as never])).to.deep.equal(['added here'])
  })

  it('closes with FORBIDDEN when the role assignment is removed', async () => {
    const stream = await follow()
    await stream.until('bookmark')
    const namespace = boundaryNamespace(BOUNDARY)
    const { items } = await server.client.list(RoleAssignment.resource, { namespace })
    for (const { metadata, spec } of items as { metadata: { name: string }; spec?: { principalId?: string } }[])
      if (spec?.principalId === READER)
        await server.client.remove(RoleAssignment.resource, { namespace, name: metadata.name })
    const [closed] = await stream.until('closed')
    expect(closed?.data.code).to.equal('FORBIDDEN')
    expect(await stream.next()).to.equal(undefined)
    await until('it is no longer counted', () => following === 0)
  })

  it('sends a deleted event for an item that is denied', async () => {
    make('one')
    make('two')
    const stream = await follow()
    await stream.until('bookmark')
    const scope = `${LIST}/one`
    const spec = { principalId: READER, actions: ['vectorcluster/read'], scope }
    server.put(DenyAssignment, 'deny', DenyAssignment.spec.parse(spec), boundaryNamespace(BOUNDARY))
    expect(names(await stream.until('deleted'))).to.deep.equal(['deleted one'])
  })

  it('closes when the boundary is deleted, for lists of the group and the boundary', async () => {
    const [ofGroup, ofBoundary] = [
      await follow(LIST, OWNER),
      await follow(`/boundaries/${BOUNDARY}/resources/vectorclusters`, OWNER),
    ]
    await ofGroup.until('bookmark')
    await ofBoundary.until('bookmark')
    await server.client.remove(Boundary.resource, { name: BOUNDARY })
    for (const stream of [ofGroup, ofBoundary])
      expect((await stream.until('closed')).at(-1)?.data.code).to.be.oneOf(['NOT_FOUND', 'FORBIDDEN'])
  })

  it('returns 404, 403 and 400 as JSON before it begins', async () => {
    const ask = (path: string, as = READER) => server.ask('get', path, as).set('accept', 'text/event-stream')
    const missing = await ask(LIST.replace('shop', 'none'))
    expect([missing.status, missing.type, missing.body.code]).to.deep.equal([404, 'application/json', 'NOT_FOUND'])
    const forbidden = await ask(LIST, '44444444-4444-4444-8444-444444444444')
    expect([forbidden.status, forbidden.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    expect((await ask(`${LIST}?filter=nonsense`)).body.code).to.equal('BAD_REQUEST')
    expect(following).to.equal(0)
  })

  it('answers HEAD without opening a stream', async () => {
    const { status, headers } = await request(base)
      .head(LIST)
      .set('authorization', bearer(READER))
      .set('accept', 'text/event-stream')
    expect([status, headers['content-type']]).to.deep.equal([200, 'text/event-stream'])
    await until('nothing is open', () => following === 0)
  })

  it('ends its request in the metrics when it begins', async () => {
    await (await follow()).until('bookmark')
    expect(measured).to.deep.equal(['GET 200'])
    expect(following).to.equal(1)
  })

  it('reads lists in the shared turns of followed lists, and sends a page in turns of its caller', async () => {
    for (let count = 0; count < 120; count += 1) make(`one-${count}`)
    const turns: string[] = []
    const { take } = FairShare.prototype
    FairShare.prototype.take = function (key) {
      turns.push(key)
      return take.call(this, key)
    }
    const turnsOf = async (work: () => Promise<unknown>) => {
      turns.length = 0
      await work()
      return [...new Set(turns)]
    }
    try {
      const { length } = (await server.ask('get', `${LIST}?pageSize=120`, OWNER)).text
      expect(length).to.be.greaterThan(65_536)
      expect(await turnsOf(() => server.ask('get', `${LIST}?pageSize=120`, OWNER))).to.deep.equal([OWNER])
      expect(turns).to.have.length.greaterThan(1)
      const followed = await turnsOf(async () => (await follow()).until('bookmark'))
      expect(followed).to.deep.equal([READER, 'followed lists'])
    } finally {
      FairShare.prototype.take = take
    }
  })

  it('logs the request, and an error when the list cannot be read any more', async () => {
    const stream = await follow()
    await stream.until('bookmark')
    stream.close()
    await until('it has ended', () => following === 0)
    const failing = await follow()
    await failing.until('bookmark')
    const cache = server.caches.get(VectorCluster.resource)
    cache.list = () => {
      throw new Error('secret of the inside')
    }
    make('one')
    const closed = (await failing.until('closed')).at(-1)?.data
    expect(closed?.code).to.equal('INTERNAL_ERROR')
    expect(JSON.stringify(closed)).to.not.include('secret')
    await until('both are in the log', () => logged.length === 2)
    expect(logged).to.deep.equal(['info 200', 'error Error: secret of the inside'])
  })

  it('returns 429 above MAX_STREAMS_PER_PRINCIPAL streams of one caller', async () => {
    for (let count = 0; count < MAX_STREAMS_PER_PRINCIPAL; count += 1) await (await follow()).until('bookmark')
    const { status, body } = await server.ask('get', LIST, READER).set('accept', 'text/event-stream')
    expect([status, body.code]).to.deep.equal([429, 'TOO_MANY_REQUESTS'])
    await (await follow(LIST, OWNER)).until('bookmark')
    open[0]?.close()
    await until('one has ended', () => following === MAX_STREAMS_PER_PRINCIPAL)
    await (await follow()).until('bookmark')
  })

  it('leaves streams at the root for another tenant when one tenant has half of all', async () => {
    const id = (at: number) => `99999999-9999-4999-8999-${String(at).padStart(12, '0')}`
    const tenants = [id(1001), id(1002)] as const
    const person = (at: number, tenantId: string) => {
      const spec = { userName: `user-${at}`, email: `user-${at}@example.test`, tenantIds: [tenantId] }
      server.put(PlatformUser, id(at), spec, SYSTEM_NAMESPACE)
      return id(at)
    }
    const open500 = Array.from({ length: MAX_STREAMS_PER_PROCESS / 2 }, (_, at) =>
      Math.floor(at / MAX_STREAMS_PER_PRINCIPAL),
    )
    for (const at of open500) await follow('/boundaries', person(at, tenants[0]))
    const ask = (as: string) => server.ask('get', '/boundaries', as).set('accept', 'text/event-stream')
    expect((await ask(person(998, tenants[0]))).status).to.equal(503)
    await (await follow('/boundaries', person(999, tenants[1]))).until('bookmark')
  })

  it('closes with SERVICE_UNAVAILABLE when the platform stops, also for a new connection', async () => {
    const stream = await follow()
    await stream.until('bookmark')
    server.facade.drain()
    expect((await stream.until('closed')).at(-1)?.data.code).to.equal('SERVICE_UNAVAILABLE')
    expect(await stream.next()).to.equal(undefined)
    const again = await follow()
    expect(names((await again.until('closed')).slice(0, -1))).to.deep.equal(['bookmark 0'])
    expect(await again.next()).to.equal(undefined)
  })

  it('returns 406 for pods and backups on another cluster', async () => {
    const far = '88888888-8888-4888-8888-888888888888'
    server.put(PlatformCluster, far, { displayName: 'Far', region: 'south', domain: 'far.example.test' })
    for (const kind of [PlatformApp, ContainerInstance]) {
      const spec = sampleSpec(kind, { boundaryId: BOUNDARY, ownerId: OWNER, memberId: READER })
      server.put(kind, 'away', { ...spec, clusterId: far }, HOME)
    }
    const lists = [
      ['apps/away/pods', 'Pods'],
      ['containerinstances/away/crates', 'Pods'],
      ['containerinstances/away/backup-policy/backups', 'Backups'],
    ]
    for (const [list = '', what] of lists) {
      const path = LIST.replace('vectorclusters', list)
      expect((await server.ask('get', path)).status, path).to.equal(200)
      expect((await follow(path, OWNER)).response.status, path).to.equal(406)
      const { status, body } = await server.ask('get', path).set('accept', 'text/event-stream')
      expect([status, body.code], path).to.deep.equal([406, 'NOT_ACCEPTABLE'])
      expect(body.error).to.equal(`${what} of another cluster cannot be followed: nobody says here what changes there.`)
    }
  })

  it('sends events of a list that is otherwise read from the API server', async () => {
    const stream = await follow(`/v1/internal/registries/pins?boundary=${BOUNDARY}`, OWNER)
    await stream.until('bookmark')
    const sample = sampleSpec(RegistryPin, { boundaryId: BOUNDARY, ownerId: OWNER, memberId: READER })
    const spec = RegistryPin.spec.parse(sample)
    const { resource, apiVersion, kind } = RegistryPin
    // The caches do not contain managedFields.
    const managedFields = [{ time: '2100-05-01T00:00:00Z' }]
    const metadata = { name: 'pin', namespace: boundaryNamespace(BOUNDARY), managedFields }
    server.caches.get(resource).observeWrite(server.client.seed(resource, { apiVersion, kind, metadata, spec }))
    const [added] = await stream.until('added')
    const { body } = await server.ask('get', `/v1/internal/registries/pins?boundary=${BOUNDARY}`)
    expect(added?.data).to.deep.equal(body.items[0])
    expect(added?.data.updatedAt).to.equal('2100-05-01T00:00:00Z')
  })

  it('distinguishes the releases "1.2.3" and "v1.2.3" of a component', async () => {
    const of = { boundaryId: BOUNDARY, ownerId: OWNER, memberId: READER }
    server.put(PlatformComponent, 'dns', sampleSpec(PlatformComponent, of), SYSTEM_NAMESPACE)
    for (const version of ['1.2.3', 'v1.2.3']) {
      const spec = { ...sampleSpec(ComponentRelease, of), component: 'dns', version }
      server.put(ComponentRelease, `dns-${version}`, spec, SYSTEM_NAMESPACE)
    }
    server.grant(OWNER, 'Platform Owner', '/')
    const events = await (await follow('/lifecycle/releases?component=dns', OWNER)).until('bookmark')
    expect(events.map(({ event }) => event)).to.deep.equal(['added', 'added', 'bookmark'])
  })

  it('is served by each replica', async () => {
    const other = request(await server.another())
    const { text } = await other
      .get(LIST)
      .set('authorization', bearer(READER))
      .set('accept', 'text/event-stream')
      .buffer(true)
      .parse((response, done) => {
        let received = ''
        response.on('data', (piece: Buffer) => {
          received += piece.toString()
          if (received.includes('bookmark') && !received.includes('added')) make('one')
          if (received.includes('event: added')) (response as unknown as { destroy(): void }).destroy()
        })
        response.on('close', () => done(null, received))
      })
      .then(({ body }) => ({ text: body as string }))
    expect(text).to.match(/bookmark[\s\S]*event: added/)
  })

  it('returns JSON unless Accept prefers text/event-stream', async () => {
    for (const accept of ['*/*', 'application/json', 'application/json, text/event-stream;q=0.5']) {
      const { type, headers } = await server.ask('get', LIST, READER).set('accept', accept)
      expect(type, accept).to.equal('application/json')
      expect(headers.vary).to.equal('Accept')
    }
  })
})
