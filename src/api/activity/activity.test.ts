import { expect } from 'chai'
import request from 'supertest'
import { ManualClock } from '../../../test/make/clock.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import type { ResourcePath, Sighting } from '../../adapters/activity/port.ts'
import { SecretActivity } from '../../adapters/activity/secrets.ts'
import { PlatformError } from '../../core/errors.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { secret } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { FinishedRequest } from '../http/witness.ts'
import { ActivityRecorder } from '../records/activity/recorder.ts'
import { toldByRequest } from './requests.ts'

const BOUNDARY = '11111111-1111-4111-8111-111111111111'
const PERSON = '22222222-2222-4222-8222-222222222222'
const NAME: ResourcePath = {
  boundaryId: BOUNDARY,
  resourceGroup: 'shop',
  resourceType: 'vectorclusters',
  resourceName: 'search',
}
const BASE = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters`

async function world() {
  const told: FinishedRequest[] = []
  const store = new SecretActivity(new FakeKubeClient())
  const facade = await startFacade({ witness: (one) => void told.push(one) }, { activity: store })
  facade.boundary(BOUNDARY)
  facade.group(BOUNDARY, 'shop')
  facade.put(VectorCluster, 'search', {}, groupNamespace(BOUNDARY, 'shop'))
  facade.grant(PERSON, 'Owner', `/boundaries/${BOUNDARY}`)
  return { facade, told, store }
}

const sighting = (more: Partial<Sighting> = {}): Sighting => ({
  id: crypto.randomUUID(),
  occurredAt: new Date().toISOString(),
  action: 'vectorcluster/write',
  actor: { principalId: PERSON },
  channel: 'Rest',
  outcome: 'Succeeded',
  metadata: {},
  ...more,
})

describe('requests as activity', () => {
  let here: Awaited<ReturnType<typeof world>>
  before(async () => {
    here = await world()
  })
  after(() => here.facade.stop())

  const send = async (method: 'patch' | 'delete' | 'post' | 'get' | 'put', path: string, body?: object) => {
    here.told.length = 0
    const sent = request(here.facade.app)[method](path).set('authorization', bearer(PERSON))
    await (body === undefined ? sent : sent.send(body))
    const [one] = here.told
    return one && toldByRequest(one, ({ resourceName }) => resourceName === 'search')
  }

  it('are told of with who, what, how it ended and how the resource is then', async () => {
    const told = await send('patch', `${BASE}/search`, { tags: { team: 'a' } })
    expect(told?.resource).to.deep.equal(NAME)
    expect(told?.sighting).to.deep.include({
      action: 'vectorcluster/write',
      operation: 'PatchVectorCluster',
      actor: { principalId: PERSON },
      channel: 'Rest',
      outcome: 'Succeeded',
      statusCode: 200,
    })
    expect(told?.sighting.after).to.have.property('generation', 2)
  })

  const cases: [string, Parameters<typeof send>, string | undefined][] = [
    ['a refusal at what is there', ['patch', `${BASE}/search`, { computePlan: 'none' }], 'Refused 422'],
    ['no refusal at what is not there', ['put', `${BASE}/other`, { computePlan: 'none' }], undefined],
    ['no body that could not be read', ['patch', `${BASE}/search`, { nothing: 1 }], undefined],
    ['no reading', ['get', `${BASE}/search`], undefined],
    ['what is made', ['post', `${BASE}/fresh`, {}], 'Succeeded 201'],
    ['nothing of what is no resource', ['patch', `/boundaries/${BOUNDARY}`, { displayName: 'x' }], undefined],
    ['a deletion', ['delete', `${BASE}/search`], 'Succeeded 202'],
  ]
  for (const [title, call, expected] of cases) {
    it(`tell of ${title}`, async () => {
      const told = await send(...call)
      const { outcome, statusCode } = told?.sighting ?? {}
      expect(told && `${outcome} ${statusCode}`?.replace('204', '202')).to.equal(expected)
    })
  }
})

describe('the recorder of activity', () => {
  function recorder() {
    const clock = new ManualClock()
    const client = new FakeKubeClient()
    const store = new SecretActivity(client, () => clock.now())
    /** The next write fails. */
    const away = () => client.fail('create', secret, 'Unavailable')
    return { store, away, recorder: new ActivityRecorder({ store, clock, log: silentLog }) }
  }
  const now = (more: Partial<Sighting> = {}) =>
    sighting({ occurredAt: new Date(new ManualClock().now()).toISOString(), ...more })

  it('writes what was noted when it stops', async () => {
    const { store, recorder: made } = recorder()
    made.note({ resource: NAME, sighting: now() })
    await made.stop()
    expect(await store.read(NAME)).to.have.length(1)
  })

  it('says of what it tells itself that it is kept, once it is: it may end before', async () => {
    const { store, away, recorder: made } = recorder()
    const one = now({ message: 'by the request' })
    made.note({ resource: NAME, sighting: one })
    away()
    const again = { resource: NAME, sighting: { ...one, message: 'by the audit log', isSecondHand: true } }
    expect(await made.write([again]).catch((error) => error)).to.be.instanceOf(Error)
    await made.write([again])
    expect((await store.read(NAME))?.map(({ message }) => message)).to.deep.equal(['by the request'])
    await made.stop()
  })

  it('keeps what comes with an entry that can never be kept', async () => {
    const { store, recorder: made } = recorder()
    const append = store.append.bind(store)
    store.append = (resource, all) =>
      resource.resourceName === 'broken' ? Promise.reject(new Error('damaged')) : append(resource, all)
    const lasting = { resource: { ...NAME, resourceName: 'broken' }, sighting: now() }
    made.note(lasting)
    const other = { resource: NAME, sighting: now({ id: 'another' }) }
    expect(await made.write([lasting, other]).catch((error) => error)).to.be.instanceOf(Error)
    expect(await store.read(NAME)).to.have.length(1)
    await made.stop()
  })

  it('keeps what could not be written', async () => {
    const { store, away, recorder: made } = recorder()
    away()
    made.note({ resource: NAME, sighting: now() })
    await made.stop()
    await made.stop()
    expect(await store.read(NAME)).to.have.length(1)
  })

  it('says of what must be kept whether it was', async () => {
    const { away, recorder: made } = recorder()
    away()
    const failure = await made.write([{ resource: NAME, sighting: now() }]).catch((error) => error)
    expect(failure).to.be.instanceOf(Error)
  })

  it('lets nobody push out what was done with refusals', async () => {
    const { store, recorder: made } = recorder()
    await made.write([{ resource: NAME, sighting: now() }])
    await made.write(Array.from({ length: 300 }, () => ({ resource: NAME, sighting: now({ outcome: 'Refused' }) })))
    expect(await store.read(NAME)).to.have.length(101)
  })
})

describe('reports of activity', () => {
  let here: Awaited<ReturnType<typeof world>>
  before(async () => {
    here = await world()
  })
  after(() => here.facade.stop())

  const body = {
    action: 'deploy.started',
    resourceType: 'vectorclusters',
    resourceName: 'search',
    resourceGroup: 'shop',
  }
  const post = (more: object) =>
    request(here.facade.app)
      .post(`/boundaries/${BOUNDARY}/activity`)
      .set('authorization', bearer(PERSON))
      .send({ ...body, ...more })

  it('are answered with the id of the entry, which says that it was reported', async () => {
    const { status, body: id } = await post({ message: 'token=abc', metadata: { commit: 'f00' } })
    expect(status).to.equal(200)
    const [entry] = (await here.store.read(NAME)) ?? []
    expect(entry).to.deep.include({ id, channel: 'Reported', message: 'token=***', metadata: { commit: 'f00' } })
  })

  const refusals: [string, object, number, string][] = [
    ['an action that is no word', { action: 'Deploy!' }, 400, 'bad-request'],
    ['a time that is not kept', { occurredAt: '2020-01-01T00:00:00Z' }, 400, 'invalid-activity'],
    ['a time ahead', { occurredAt: '2999-01-01T00:00:00Z' }, 400, 'invalid-activity'],
    [
      'too much metadata',
      { metadata: Object.fromEntries([1, 2, 3].map((key) => [key, 'x'.repeat(1000)])) },
      400,
      'invalid-activity',
    ],
    ['a resource that is not there', { resourceName: 'other' }, 404, 'not-found'],
    ['a group that is not there', { resourceGroup: 'other' }, 404, 'not-found'],
    ['an unknown field', { actor: 'me' }, 400, 'MODEL_BINDING_FAILED'],
  ]
  for (const [title, more, status, code] of refusals) {
    it(`are refused for ${title}`, async () => {
      const answer = await post(more)
      expect([answer.status, answer.body.code]).to.deep.equal([status, code])
    })
  }

  it('may be of a time before the group; what was done in an earlier group of the name is not shown', async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString()
    const { body: id } = await post({ action: 'deploy.yesterday', occurredAt: yesterday })
    await here.store.append(NAME, [sighting({ occurredAt: yesterday })])
    const list = request(here.facade.app)
      .get(`/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters/search/activity`)
      .set('authorization', bearer(PERSON))
    const { items } = (await list).body as { items: { id: string; occurredAt: string }[] }
    const old = items.filter(({ occurredAt }) => occurredAt === yesterday)
    expect(old.map((entry) => entry.id)).to.deep.equal([id])
  })

  it('are refused at what the caller is denied', async () => {
    const denied = {
      ...{ principalId: PERSON, principalType: 'User', actions: ['kernel/activity/*'], scopeIncarnation: 'life' },
      scope: `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters/denied`,
    }
    here.facade.put(VectorCluster, 'denied', {}, groupNamespace(BOUNDARY, 'shop'))
    here.facade.put(DenyAssignment, crypto.randomUUID(), denied, boundaryNamespace(BOUNDARY))
    const answer = await post({ resourceName: 'denied' })
    expect([answer.status, answer.body.scope]).to.deep.equal([403, denied.scope])
    expect(await here.store.read({ ...NAME, resourceName: 'denied' })).to.equal(undefined)
    expect((await post({})).status).to.equal(200)
  })

  it('name their error as problem details', async () => {
    const answer = await post({ occurredAt: '2999-01-01T00:00:00Z' })
    expect(answer.headers['content-type']).to.match(/problem\+json/)
    expect(new PlatformError('invalid-activity', 'x').status).to.equal(400)
  })
})

describe('the activity of a boundary', () => {
  let here: Awaited<ReturnType<typeof world>>
  const [SHOP_READER, STRANGER] = ['33333333-3333-4333-8333-333333333333', '44444444-4444-4444-8444-444444444444']
  before(async () => {
    here = await world()
    here.facade.group(BOUNDARY, 'other')
    here.facade.grant(SHOP_READER, 'Reader', `/boundaries/${BOUNDARY}/resourcegroups/shop`)
    const before = new Date(Date.now() - 3_600_000).toISOString()
    const of = (resourceName: string, resourceGroup = 'shop') => ({ ...NAME, resourceName, resourceGroup })
    const now = Date.now()
    const nth = (order: number) => ({ occurredAt: new Date(now + order).toISOString() })
    await here.store.append(of('search'), [sighting({ action: 'vectorcluster/write', ...nth(1) })])
    await here.store.append(of('gone'), [sighting({ action: 'vectorcluster/delete', ...nth(2) })])
    await here.store.append(of('search', 'other'), [sighting(nth(3)), sighting({ occurredAt: before })])
    await here.store.append(of('search', 'no-group'), [sighting()])
  })
  after(() => here.facade.stop())

  const ask = (query = '', by = PERSON) =>
    request(here.facade.app).get(`/boundaries/${BOUNDARY}/activity${query}`).set('authorization', bearer(by))
  const told = async (query = '', by = PERSON) =>
    (await ask(query, by)).body.items.map(
      ({ resourceGroup, resourceName }: ResourcePath) => `${resourceGroup}/${resourceName}`,
    )

  it('is that of all resources of its groups, those that are gone included, newest first', async () => {
    expect(await told()).to.deep.equal(['other/search', 'shop/gone', 'shop/search'])
  })

  it('is filtered and paged as that of a resource, and by resource', async () => {
    expect(await told('?filter=action:eq:vectorcluster/delete')).to.deep.equal(['shop/gone'])
    expect(await told('?filter=resourceGroup:eq:shop&pageSize=1&page=2')).to.deep.equal(['shop/search'])
    expect(await told('?sort=occurredAt&pageSize=1')).to.deep.equal(['shop/search'])
    expect((await ask('?filter=message:eq:x')).status).to.equal(400)
    const config = await ask('/config')
    expect([config.status, config.body.defaultSort]).to.deep.equal([200, '-occurredAt'])
  })

  it('shows to each what they may read of a resource, and hides what a deny is on', async () => {
    const life = { principalId: SHOP_READER, principalType: 'User', scopeIncarnation: 'life' }
    const deny = (action: string, below = '') => {
      const scope = `/boundaries/${BOUNDARY}/resourcegroups/shop${below}`
      here.facade.put(
        DenyAssignment,
        crypto.randomUUID(),
        { ...life, actions: [action], scope },
        boundaryNamespace(BOUNDARY),
      )
    }
    const single = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters/gone/activity`
    const ofOne = (by: string) => request(here.facade.app).get(single).set('authorization', bearer(by))
    expect(await told('', SHOP_READER)).to.deep.equal(['shop/gone', 'shop/search'])
    expect((await ofOne(SHOP_READER)).status).to.equal(200)
    deny('kernel/activity/read', '/resources/vectorclusters/search')
    expect(await told('', SHOP_READER)).to.deep.equal(['shop/gone'])
    deny('vectorcluster/read')
    expect(await told('', SHOP_READER)).to.deep.equal([])
    const { status, body } = await ofOne(SHOP_READER)
    expect([status, body.action]).to.deep.equal([403, 'vectorcluster/read'])
    expect((await ofOne(PERSON)).status).to.equal(200)
    expect(await told()).to.have.length(3)
  })

  it('is not there for strangers', async () => {
    for (const path of ['', '/config']) expect((await ask(path, STRANGER)).status).to.equal(404)
  })
})
