import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { request } from '../../../test/make/request.ts'
import {
  AS_BOUNDARY,
  activityWorld,
  asGroup,
  BASE,
  BOUNDARY,
  NAME,
  OF_BOUNDARY,
  observedAction,
  PERSON,
} from '../../../test/worlds/activityWorld.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import type { ObservedAction, ResourcePath } from '../../adapters/activity/port.ts'
import { SecretActivity } from '../../adapters/activity/secrets.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { secret } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { ActivityRecorder } from '../records/activity/recorder.ts'
import { activityOfRequest } from './requests.ts'

const REPORT = {
  action: 'deploy.started',
  resourceType: 'vectorclusters',
  resourceName: 'search',
  resourceGroup: 'shop',
}

describe('activity of REST requests', () => {
  let here: Awaited<ReturnType<typeof activityWorld>>
  before(async () => {
    here = await activityWorld()
  })
  after(() => here.facade.stop())

  const send = async (method: 'patch' | 'delete' | 'post' | 'get' | 'put', path: string, body?: object) => {
    here.told.length = 0
    const sent = request(here.facade.app)[method](path).set('authorization', bearer(PERSON))
    await (body === undefined ? sent : sent.send(body))
    const [finished] = here.told
    return finished && activityOfRequest(finished, ({ resourceName }) => ['search', BOUNDARY].includes(resourceName))
  }

  it('records the actor, action, outcome and resulting generation', async () => {
    const recorded = await send('patch', `${BASE}/search`, { tags: { team: 'a' } })
    expect(recorded?.resource).to.deep.equal(NAME)
    expect(recorded?.observed).to.deep.include({
      action: 'vectorcluster/write',
      operation: 'PatchVectorCluster',
      actor: { principalId: PERSON },
      channel: 'Rest',
      outcome: 'Succeeded',
      statusCode: 200,
    })
    expect(recorded?.observed.after).to.have.property('generation', 2)
  })

  const refusedAtBoundary: [string, Parameters<typeof send>, string][] = [
    ['the quota', ['put', `${OF_BOUNDARY}/quota`, { cpu: '9' }], 'boundaries/create'],
    ['a move to another tenant', ['post', `${OF_BOUNDARY}/tenant`, { tenantId: PERSON }], 'boundaries/tenant/admin'],
  ]
  for (const [title, call, action] of refusedAtBoundary) {
    it(`records a refusal at the boundary for ${title}`, async () => {
      const told = await send(...call)
      expect(told?.resource).to.deep.equal(AS_BOUNDARY)
      expect(told?.observed).to.deep.include({ action, outcome: 'Refused', statusCode: 403 })
    })
  }

  const whole: [string, Parameters<typeof send>, ResourcePath, string][] = [
    ['a PATCH of the boundary', ['patch', OF_BOUNDARY, { displayName: 'Office' }], AS_BOUNDARY, 'boundaries/manage'],
    ['a PUT of its quota', ['put', `${OF_BOUNDARY}/quota`, { cpu: '9' }], AS_BOUNDARY, 'boundaries/create'],
    [
      'the creation of a group',
      ['post', `${OF_BOUNDARY}/resourcegroups/desk`],
      asGroup('desk'),
      'resourcegroups/write',
    ],
    [
      'a PATCH of the quota of a group',
      ['patch', `${OF_BOUNDARY}/resourcegroups/desk`, { quota: { cpu: '4' } }],
      asGroup('desk'),
      'resourcegroups/write',
    ],
    [
      'the deletion of a group',
      ['delete', `${OF_BOUNDARY}/resourcegroups/desk`],
      asGroup('desk'),
      'resourcegroups/delete',
    ],
  ]
  for (const [title, call, resource, action] of whole) {
    it(`records ${title}`, async () => {
      here.facade.grant(PERSON, 'Platform Owner', '/')
      const told = await send(...call)
      expect(told?.resource).to.deep.equal(resource)
      expect(told?.observed).to.deep.include({ action, outcome: 'Succeeded', channel: 'Rest' })
      expect(told?.observed.operation).to.not.match(/^[A-Z]+ ?$/)
      expect(told?.observed.after === undefined).to.equal(call[0] === 'delete')
    })
  }

  it('records the creation of a boundary', async () => {
    here.facade.grant(PERSON, 'Platform Owner', '/')
    const told = await send('post', '/boundaries', { displayName: 'New' })
    const { boundaryId = '' } = told?.resource ?? {}
    expect(told?.resource).to.deep.equal({ ...AS_BOUNDARY, boundaryId, resourceName: boundaryId })
    expect(told?.observed).to.deep.include({ action: 'boundaries/create', operation: 'POST boundaries' })
  })

  const unchanging: [string, Parameters<typeof send>][] = [
    ['the same PATCH again', ['patch', `${BASE}/search`, { tags: { team: 'b' } }]],
    ['the same creation again', ['post', `${BASE}/twice`, {}]],
    ['the same display name of the boundary', ['patch', OF_BOUNDARY, { displayName: 'Works' }]],
    ['the same quota again', ['put', `${OF_BOUNDARY}/quota`, { cpu: '8' }]],
    ['a start of a running resource', ['put', `${BASE}/search/actions/start`]],
    ['the same number of replicas', ['post', `${BASE}/search/scale`, { targetScale: 2 }]],
  ]
  for (const [title, call] of unchanging) {
    it(`records nothing if nothing changes: ${title}`, async () => {
      here.facade.grant(PERSON, 'Platform Owner', '/')
      await send(...call)
      const told = await send(...call)
      expect(here.told[0]?.status).to.equal(200)
      expect(told).to.equal(undefined)
    })
  }

  const cases: [string, Parameters<typeof send>, string | undefined][] = [
    ['a refusal for an existing resource', ['patch', `${BASE}/search`, { computePlan: 'none' }], 'Refused 422'],
    ['no refusal for a missing resource', ['put', `${BASE}/other`, { computePlan: 'none' }], undefined],
    ['no invalid body', ['patch', `${BASE}/search`, { nothing: 1 }], undefined],
    ['no read', ['get', `${BASE}/search`], undefined],
    ['a creation', ['post', `${BASE}/fresh`, {}], 'Succeeded 201'],
    ['no report of activity, which is an entry itself', ['post', `${OF_BOUNDARY}/activity`, REPORT], undefined],
    ['a deletion', ['delete', `${BASE}/search`], 'Succeeded 202'],
  ]
  for (const [title, call, expected] of cases) {
    it(`records ${title}`, async () => {
      const told = await send(...call)
      expect(here.told).to.have.length(call[0] === 'get' ? 0 : 1)
      const { outcome, statusCode } = told?.observed ?? {}
      expect(told && `${outcome} ${statusCode}`?.replace('204', '202')).to.equal(expected)
    })
  }
})

describe('ActivityRecorder', () => {
  function recorder() {
    const clock = new ManualClock()
    const client = new FakeKubeClient()
    const store = new SecretActivity(client, () => clock.now())
    /** Fails the next write. */
    const away = () => client.fail('create', secret, 'Unavailable')
    return { store, away, recorder: new ActivityRecorder({ store, clock, log: silentLog }) }
  }
  const now = (more: Partial<ObservedAction> = {}) =>
    observedAction({ occurredAt: new Date(new ManualClock().now()).toISOString(), ...more })

  it('writes noted entries when it stops', async () => {
    const { store, recorder: made } = recorder()
    made.note({ resource: NAME, observed: now() })
    await made.stop()
    expect(await store.read(NAME)).to.have.length(1)
  })

  it('rejects a write of an entry noted before until the entry is stored, and stores it once', async () => {
    const { store, away, recorder: made } = recorder()
    const one = now({ message: 'by the request' })
    made.note({ resource: NAME, observed: one })
    away()
    const again = { resource: NAME, observed: { ...one, message: 'by the audit log', isSecondHand: true } }
    expect(await made.write([again]).catch((error) => error)).to.be.instanceOf(Error)
    await made.write([again])
    expect((await store.read(NAME))?.map(({ message }) => message)).to.deep.equal(['by the request'])
    await made.stop()
  })

  it('writes other entries next to one that can never be stored', async () => {
    const { store, recorder: made } = recorder()
    const append = store.append.bind(store)
    store.append = (resource, all) =>
      resource.resourceName === 'broken' ? Promise.reject(new Error('damaged')) : append(resource, all)
    const lasting = { resource: { ...NAME, resourceName: 'broken' }, observed: now() }
    made.note(lasting)
    const other = { resource: NAME, observed: now({ id: 'another' }) }
    expect(await made.write([lasting, other]).catch((error) => error)).to.be.instanceOf(Error)
    expect(await store.read(NAME)).to.have.length(1)
    await made.stop()
  })

  it('keeps entries after a failed write', async () => {
    const { store, away, recorder: made } = recorder()
    away()
    made.note({ resource: NAME, observed: now() })
    await made.stop()
    await made.stop()
    expect(await store.read(NAME)).to.have.length(1)
  })

  it('rejects a write whose entries cannot be stored', async () => {
    const { away, recorder: made } = recorder()
    away()
    const failure = await made.write([{ resource: NAME, observed: now() }]).catch((error) => error)
    expect(failure).to.be.instanceOf(Error)
  })

  it('limits refusals to 100 entries, apart from successful actions', async () => {
    const { store, recorder: made } = recorder()
    await made.write([{ resource: NAME, observed: now() }])
    await made.write(Array.from({ length: 300 }, () => ({ resource: NAME, observed: now({ outcome: 'Refused' }) })))
    expect(await store.read(NAME)).to.have.length(101)
  })
})

describe('POST /boundaries/{id}/activity', () => {
  let here: Awaited<ReturnType<typeof activityWorld>>
  before(async () => {
    here = await activityWorld()
  })
  after(() => here.facade.stop())

  const post = (more: object) =>
    request(here.facade.app)
      .post(`/boundaries/${BOUNDARY}/activity`)
      .set('authorization', bearer(PERSON))
      .send({ ...REPORT, ...more })

  it('returns the id of the entry, which has the channel Reported and masked secrets', async () => {
    const { status, body: id } = await post({ message: 'token=abc', metadata: { commit: 'f00' } })
    expect(status).to.equal(200)
    const [entry] = (await here.store.read(NAME)) ?? []
    expect(entry).to.deep.include({ id, channel: 'Reported', message: 'token=***', metadata: { commit: 'f00' } })
  })

  it('accepts metadata of 2,048 bytes as JSON, and rejects 2,049', async () => {
    const pairs = Object.fromEntries(Array.from({ length: 48 }, (_, index) => [`k${index}`, 'v']))
    const filled = (length: number) => ({ ...pairs, first: 'x'.repeat(900), last: 'x'.repeat(length) })
    const left = 2_048 - JSON.stringify(filled(0)).length
    expect((await post({ metadata: filled(left) })).status).to.equal(200)
    expect((await post({ metadata: filled(left + 1) })).status).to.equal(400)
    expect((await post({ metadata: { one: '界'.repeat(600), two: '界'.repeat(100) } })).status).to.equal(400)
  })

  it('keeps the metadata of a report whose message is too long for an entry', async () => {
    const metadata = { commit: '界'.repeat(600) }
    const { body: id } = await post({ message: '界'.repeat(2_000), metadata })
    const entry = (await here.store.read(NAME))?.find((one) => one.id === id)
    expect(entry?.metadata).to.deep.equal(metadata)
    expect(entry?.message).to.match(/^界{256}$/)
  })

  const refusals: [string, object, number, string][] = [
    ['an invalid action', { action: 'Deploy!' }, 400, 'bad-request'],
    ['a time older than the retention', { occurredAt: '2020-01-01T00:00:00Z' }, 400, 'bad-request'],
    ['a time in the future', { occurredAt: '2999-01-01T00:00:00Z' }, 400, 'bad-request'],
    [
      'too much metadata',
      { metadata: Object.fromEntries([1, 2, 3].map((key) => [key, 'x'.repeat(1000)])) },
      400,
      'bad-request',
    ],
    ['a missing resource', { resourceName: 'other' }, 404, 'not-found'],
    ['a missing group', { resourceGroup: 'other' }, 404, 'not-found'],
    ['an unknown field', { actor: 'me' }, 400, 'MODEL_BINDING_FAILED'],
  ]
  for (const [title, more, status, code] of refusals) {
    it(`rejects ${title}`, async () => {
      const answer = await post(more)
      expect([answer.status, answer.body.code]).to.deep.equal([status, code])
    })
  }

  it('accepts a time before the creation of the group, but hides entries of an earlier group of the name', async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString()
    const { body: id } = await post({ action: 'deploy.yesterday', occurredAt: yesterday })
    await here.store.append(NAME, [observedAction({ occurredAt: yesterday })])
    const list = request(here.facade.app)
      .get(`/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters/search/activity`)
      .set('authorization', bearer(PERSON))
    const { items } = (await list).body as { items: { id: string; occurredAt: string }[] }
    const old = items.filter(({ occurredAt }) => occurredAt === yesterday)
    expect(old.map((entry) => entry.id)).to.deep.equal([id])
  })

  it('returns 403 at a resource that is denied to the caller', async () => {
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

  it('returns errors as problem details', async () => {
    const answer = await post({ occurredAt: '2999-01-01T00:00:00Z' })
    expect(answer.headers['content-type']).to.match(/problem\+json/)
    expect(answer.body.errors).to.deep.equal([
      { field: 'occurredAt', message: 'is more than five minutes in the future' },
    ])
  })
})
