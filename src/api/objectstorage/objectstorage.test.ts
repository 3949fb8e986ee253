import { expect } from 'chai'
import request from 'supertest'
import { bearer, startFacade } from '../../../test/make/facadeServer.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { groupNamespace } from '../../core/names.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'

const B = '11111111-1111-4111-8111-111111111111'
const OWNER = '22222222-2222-4222-8222-222222222222'
const RG = `/boundaries/${B}/resourcegroups/shop/resources`
const ACCOUNT = `${RG}/objectstorageaccounts/media`
const NAMESPACE = groupNamespace(B, 'shop')
const READY = {
  conditions: [{ type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: '' }],
}

describe('object storage over REST', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  /** Waits are over at once, and yet as long as they say. */
  function hurriedClock(): Clock {
    let time = 0
    return {
      now: () => systemClock.now(),
      monotonic: () => time,
      setTimeout: (task, milliseconds) => {
        time += milliseconds
        return systemClock.setTimeout(task, 0)
      },
    }
  }
  const begin = async (store: FakeObjectStore | undefined) => {
    const none = { read: async () => undefined }
    server = await startFacade({}, { objectStorage: { store, secrets: none }, clock: hurriedClock() })
    server.boundary(B)
    server.group(B, 'shop')
    server.grant(OWNER, 'Owner', `/boundaries/${B}`)
    server.put(ObjectStorageAccount, 'media', {}, NAMESPACE)
  }
  const call = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) =>
    request(server.app)[method](path).set('authorization', bearer(OWNER))
  const bucket = (bucketName: string, spec: object = {}) => {
    const object = server.put(
      AccountBucket,
      `media-${bucketName}`,
      { accountName: 'media', bucketName, ...spec },
      NAMESPACE,
    )
    const ref = { namespace: NAMESPACE, name: object.metadata.name }
    const edited = server.client.edit(AccountBucket.resource, ref, ((each: { status?: object }) => {
      each.status = { ...READY, storeName: `media-${bucketName}`, objectCount: 2, usedBytes: 7 }
    }) as never)
    server.caches.get(AccountBucket.resource).observeWrite(edited)
  }
  afterEach(() => server.stop())

  it('keeps intent where no store is configured, and says so where one is asked', async () => {
    await begin(undefined)
    expect((await call('post', `${RG}/objectstorageaccounts/other`).send({})).status).to.equal(201)
    expect((await call('post', `${ACCOUNT}/buckets`).send({ name: 'one' })).status).to.equal(201)
    for (const [method, path] of [
      ['post', `${ACCOUNT}/accesskeys`],
      ['post', `${ACCOUNT}/sts/sessions`],
      ['get', `${ACCOUNT}/audit`],
      ['get', `/boundaries/${B}/resources/objectstorageaccounts/runtime-info`],
    ] as const) {
      const { status, body } = await call(method, path).send(method === 'post' ? {} : undefined)
      expect([status, body.code, body.engine], path).to.deep.equal([503, 'ENGINE_MISSING', 'object store'])
    }
    expect((await call('get', `${ACCOUNT}/usage`)).status).to.equal(200)
    expect((await call('delete', `${ACCOUNT}/buckets/one`)).status).to.equal(204)
  })

  it('tells a store that is away from one that refuses, and shows no word of either', async () => {
    const store = new FakeObjectStore()
    await begin(store)
    bucket('one')
    for (const [code, status, said] of [
      ['Unreachable', 503, 'SERVICE_UNAVAILABLE'],
      ['Refused', 502, 'UPSTREAM_FAILED'],
    ] as const) {
      store.failWith(code)
      for (const [method, path] of [
        ['get', `${ACCOUNT}/audit`],
        ['delete', `${ACCOUNT}/buckets/one`],
      ] as const) {
        const answer = await call(method, path)
        expect([answer.status, answer.body.code], path).to.deep.equal([status, said])
        expect(answer.body.error).not.to.contain('as it was told to')
      }
    }
    const usage = await call('get', `${ACCOUNT}/usage`)
    expect(usage.body, 'the last figures').to.include({ usedBytes: 7, objectCount: 2 })
  })

  it('sums up what buckets hold, and lists them', async () => {
    await begin(new FakeObjectStore())
    bucket('one')
    bucket('two', { publicRead: true })
    expect((await call('get', ACCOUNT)).body).to.include({ bucketCount: 2, objectCount: 4, usedBytes: 14 })
    const rows = await call('get', `${ACCOUNT}/buckets?filter=publicRead:eq:true&sort=-usedBytes`)
    expect(rows.body.items.map(({ name }: { name: string }) => name)).to.deep.equal(['two'])
    expect((await call('get', `${ACCOUNT}/buckets?filter=usedBytes:eq:1`)).status).to.equal(400)
    const refused = await call('delete', ACCOUNT)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'IN_USE'])
    expect(refused.body.usedBy).to.deep.equal([
      { collection: 'buckets', resourceGroup: 'shop', name: 'one' },
      { collection: 'buckets', resourceGroup: 'shop', name: 'two' },
    ])
  })

  it('takes a key back that the controller did not make in time', async () => {
    await begin(new FakeObjectStore())
    const { status, body } = await call('post', `${ACCOUNT}/accesskeys`).send({})
    expect([status, body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE'])
    const { items } = await server.client.list(ObjectAccessKey.resource)
    expect(items).to.deep.equal([])
  })

  it('never lets a fifth key, a session without end or a wider patch through', async () => {
    await begin(new FakeObjectStore())
    for (const name of ['a', 'b', 'c', 'd']) server.put(ObjectAccessKey, name, { accountName: 'media' }, NAMESPACE)
    const fifth = await call('post', `${ACCOUNT}/accesskeys`).send({})
    expect([fifth.status, fifth.body.code, fifth.body.limit]).to.deep.equal([422, 'QUOTA_EXCEEDED', 4])
    const session = await call('post', `${ACCOUNT}/sts/sessions`).send({ durationSeconds: 100_000 })
    expect([session.status, session.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
    const keys = await call('get', `${ACCOUNT}/accesskeys?filter=status:eq:active&filter=permission:eq:ReadWrite`)
    expect(keys.body.pagination.totalItems).to.equal(4)
  })
})
