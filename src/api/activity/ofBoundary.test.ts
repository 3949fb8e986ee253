import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import {
  AS_BOUNDARY,
  activityWorld,
  asGroup,
  BOUNDARY,
  NAME,
  OF_BOUNDARY,
  observedAction,
  PERSON,
} from '../../../test/worlds/activityWorld.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import type { ResourcePath } from '../../adapters/activity/port.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { VectorCluster } from '../../crds/vector.ts'

describe('GET /boundaries/{id}/activity', () => {
  let here: Awaited<ReturnType<typeof activityWorld>>
  const [SHOP_READER, STRANGER] = ['33333333-3333-4333-8333-333333333333', '44444444-4444-4444-8444-444444444444']
  before(async () => {
    here = await activityWorld()
    here.facade.group(BOUNDARY, 'other')
    here.facade.grant(SHOP_READER, 'Reader', `/boundaries/${BOUNDARY}/resourcegroups/shop`)
    const before = new Date(Date.now() - 3_600_000).toISOString()
    const of = (resourceName: string, resourceGroup = 'shop') => ({ ...NAME, resourceName, resourceGroup })
    const now = Date.now()
    const nth = (order: number) => ({ occurredAt: new Date(now + order).toISOString() })
    await here.store.append(of('search'), [observedAction({ action: 'vectorcluster/write', ...nth(1) })])
    await here.store.append(of('gone'), [observedAction({ action: 'vectorcluster/delete', ...nth(2) })])
    await here.store.append(of('search', 'other'), [observedAction(nth(3)), observedAction({ occurredAt: before })])
    await here.store.append(of('search', 'no-group'), [observedAction(nth(0))])
  })
  after(() => here.facade.stop())

  const OLD = '55555555-5555-4555-8555-555555555555'
  const whole = ({ apiVersion, kind }: AnyKind) => ({ apiVersion, kind, spec: {} })
  const made = (minutes: number) => ({
    uid: crypto.randomUUID(),
    annotations: { [INCARNATION_ANNOTATION]: crypto.randomUUID() },
    creationTimestamp: new Date(Date.now() - minutes * 60_000).toISOString(),
  })

  const ask = (query = '', by = PERSON) =>
    request(here.facade.app).get(`/boundaries/${BOUNDARY}/activity${query}`).set('authorization', bearer(by))
  const listed = async (query = '', by = PERSON) =>
    (await ask(query, by)).body.items.map(
      ({ resourceGroup, resourceName }: ResourcePath) => `${resourceGroup}/${resourceName}`,
    )

  it('lists entries of all resources of all groups, including deleted ones, newest first', async () => {
    expect(await listed()).to.deep.equal(['other/search', 'shop/gone', 'shop/search', 'no-group/search'])
  })

  it('filters and pages entries, also by group', async () => {
    expect(await listed('?filter=action:eq:vectorcluster/delete')).to.deep.equal(['shop/gone'])
    expect(await listed('?filter=resourceGroup:eq:shop&pageSize=1&page=2')).to.deep.equal(['shop/search'])
    expect(await listed('?sort=occurredAt&pageSize=1&page=2')).to.deep.equal(['shop/search'])
    expect((await ask('?filter=message:eq:x')).status).to.equal(400)
    const config = await ask('/config')
    expect([config.status, config.body.defaultSort]).to.deep.equal([200, '-occurredAt'])
  })

  it('shows entries of resources that the caller may read, except denied ones', async () => {
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
    expect(await listed('', SHOP_READER)).to.deep.equal(['shop/gone', 'shop/search'])
    expect((await ofOne(SHOP_READER)).status).to.equal(200)
    deny('kernel/activity/read', '/resources/vectorclusters/search')
    expect(await listed('', SHOP_READER)).to.deep.equal(['shop/gone'])
    deny('vectorcluster/read')
    expect(await listed('', SHOP_READER)).to.deep.equal([])
    const { status, body } = await ofOne(SHOP_READER)
    expect([status, body.action]).to.deep.equal([403, 'vectorcluster/read'])
    expect((await ofOne(PERSON)).status).to.equal(200)
    expect(await listed()).to.include.members(['other/search', 'shop/gone', 'shop/search'])
  })

  it('hides entries of a deleted or recreated resource from callers denied reading the earlier one', async () => {
    const [reader, other] = ['66666666-6666-4666-8666-666666666666', '77777777-7777-4777-8777-777777777777']
    const scope = `/boundaries/${BOUNDARY}/resourcegroups/shop`
    for (const one of [reader, other]) here.facade.grant(one, 'Reader', scope)
    const of = { ...NAME, resourceName: 'kept' }
    const as = (uid: string) => ({ uid, generation: 1, spec: {}, labelling: '', isNew: true })
    const creation = (uid: string, from: number) =>
      observedAction({ occurredAt: new Date(Date.now() + from).toISOString(), statusCode: 201, after: as(uid) })
    await here.store.append(of, [creation('former', 0), observedAction({ action: 'vectorcluster/delete' })])
    const single = `${scope}/resources/vectorclusters/kept/activity`
    const ofOne = (by: string) => request(here.facade.app).get(single).set('authorization', bearer(by))
    const seen = async (by: string) => (await listed('', by)).filter((one: string) => one === 'shop/kept').length
    const spec = {
      principalId: reader,
      principalType: 'User',
      scopeIncarnation: 'first',
      actions: ['vectorcluster/read'],
    }
    const ref = { scope: `${scope}/resources/vectorclusters/kept` }
    here.facade.put(DenyAssignment, crypto.randomUUID(), { ...spec, ...ref }, boundaryNamespace(BOUNDARY))
    const counts = async () => [await seen(reader), await seen(other)]
    expect(await counts()).to.deep.equal([0, 2])
    expect([(await ofOne(reader)).status, (await ofOne(other)).status]).to.deep.equal([403, 200])
    // The next resource of the name is another one, which the deny does not cover.
    here.facade.put(VectorCluster, 'kept', {}, groupNamespace(BOUNDARY, 'shop'))
    const found = here.facade.caches.get(VectorCluster.resource).get(groupNamespace(BOUNDARY, 'shop'), 'kept')
    const creationTimestamp = new Date(Date.now() + 1_000).toISOString()
    const metadata = { ...found?.metadata, name: 'kept', creationTimestamp }
    here.facade.caches
      .get(VectorCluster.resource)
      .observeWrite(here.facade.client.seed(VectorCluster.resource, { ...whole(VectorCluster), metadata }))
    // The former one was created less than a minute earlier, the time that the request of the new one may have taken.
    expect(await counts()).to.deep.equal([0, 2])
    await here.store.append(of, [creation(metadata.uid ?? '', 500)])
    expect(await counts()).to.deep.equal([1, 3])
    const bodies = await Promise.all([reader, other].map(async (by) => (await ofOne(by)).body.items.length))
    expect(bodies).to.deep.equal([1, 3])
  })

  it('lists entries of groups and of the boundary to callers who may read these', async () => {
    const later = { occurredAt: new Date(Date.now() + 9).toISOString() }
    await here.store.append(asGroup('shop'), [observedAction({ action: 'resourcegroups/write', ...later })])
    await here.store.append(AS_BOUNDARY, [observedAction({ action: 'boundaries/manage', ...later })])
    const scopes = async (by: string) => {
      const { items } = (await ask('?filter=action:in:resourcegroups/write,boundaries/manage', by)).body
      return items.map(({ scope }: { scope: string }) => scope).sort()
    }
    expect(await scopes(PERSON)).to.deep.equal([OF_BOUNDARY, `${OF_BOUNDARY}/resourcegroups/shop`])
    expect(await scopes(SHOP_READER)).to.deep.equal([`${OF_BOUNDARY}/resourcegroups/shop`])
    const of = (group: string) =>
      request(here.facade.app)
        .get(`${OF_BOUNDARY}/resourcegroups/shop/resources/resourcegroups/${group}/activity`)
        .set('authorization', bearer(PERSON))
    expect((await of('shop')).body.items).to.have.length(1)
    expect((await of('other')).status).to.equal(404)
  })

  it('lists entries of deleted and earlier groups to readers of the whole boundary only', async () => {
    const { facade, store } = here
    const ago = (minutes: number) => ({ occurredAt: new Date(Date.now() - minutes * 60_000).toISOString() })
    facade.client.seed(Boundary.resource, { ...whole(Boundary), metadata: { name: OLD, ...made(60) } })
    facade.caches.get(Boundary.resource).observeWrite(await facade.client.get(Boundary.resource, { name: OLD }))
    const shop = { name: 'shop', namespace: boundaryNamespace(OLD) }
    facade.client.seed(ResourceGroup.resource, { ...whole(ResourceGroup), metadata: { ...shop, ...made(10) } })
    facade.caches.get(ResourceGroup.resource).observeWrite(await facade.client.get(ResourceGroup.resource, shop))
    facade.grant(PERSON, 'Reader', `/boundaries/${OLD}`)
    facade.grant(SHOP_READER, 'Reader', `/boundaries/${OLD}/resourcegroups/shop`)
    const entry = (action: string, minutes: number, statusCode = 202) =>
      observedAction({ action, statusCode, ...ago(minutes) })
    await store.append({ ...AS_BOUNDARY, boundaryId: OLD, resourceName: OLD }, [
      entry('boundaries/earlier', 90),
      entry('boundaries/made', 60.1, 201),
    ])
    await store.append({ ...asGroup('shop'), boundaryId: OLD }, [
      entry('resourcegroups/ended', 20),
      entry('resourcegroups/made', 10.1, 201),
      entry('resourcegroups/write', 5),
    ])
    await store.append({ ...NAME, boundaryId: OLD }, [
      entry('vectorcluster/earlier', 30),
      entry('vectorcluster/now', 4),
    ])
    await store.append({ ...asGroup('desk'), boundaryId: OLD }, [entry('resourcegroups/delete', 3)])
    const actions = async (by: string) => {
      const answer = request(facade.app).get(`/boundaries/${OLD}/activity`).set('authorization', bearer(by))
      return (await answer).body.items.map(({ action }: { action: string }) => action)
    }
    const present = ['vectorcluster/now', 'resourcegroups/write', 'resourcegroups/made']
    expect(await actions(SHOP_READER)).to.deep.equal(present)
    const earlier = ['resourcegroups/ended', 'vectorcluster/earlier', 'boundaries/made']
    expect(await actions(PERSON)).to.deep.equal(['resourcegroups/delete', ...present, ...earlier])
  })

  it('returns 404 to strangers', async () => {
    for (const path of ['', '/config']) expect((await ask(path, STRANGER)).status).to.equal(404)
  })
})
