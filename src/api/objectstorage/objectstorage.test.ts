import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { groupNamespace, resourceNameRule } from '../../core/names.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'

const RG = `/boundaries/${B}/resourcegroups/shop/resources`
const ACCOUNT = `${RG}/objectstorageaccounts/media`
const NAMESPACE = groupNamespace(B, 'shop')
const READY = {
  conditions: [{ type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: '' }],
}

describe('object storage over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  /** Timers fire at once and advance the monotonic clock. */
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
    server = await startShop({}, { objectStorage: { store, secrets: none }, clock: hurriedClock() })
    server.put(ObjectStorageAccount, 'media', {}, NAMESPACE)
  }
  const call = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) => server.ask(method, path)
  const bucket = (bucketName: string, spec: object = {}, status: object = {}) => {
    const object = server.put(
      AccountBucket,
      `media-${bucketName}`,
      { accountName: 'media', bucketName, ...spec },
      NAMESPACE,
    )
    const ref = { namespace: NAMESPACE, name: object.metadata.name }
    const edited = server.client.edit(AccountBucket.resource, ref, ((each: { status?: object }) => {
      each.status = { ...READY, storeName: `media-${bucketName}`, objectCount: 2, usedBytes: 7, ...status }
    }) as never)
    server.caches.get(AccountBucket.resource).observeWrite(edited)
  }
  afterEach(() => server.stop())

  it('stores accounts and buckets without a configured store, and returns ENGINE_MISSING for the rest', async () => {
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

  it('rejects an account name of 2 characters with the rule for names', async () => {
    await begin(undefined)
    const { status, body } = await call('post', `${RG}/objectstorageaccounts/a1`).send({})
    expect([status, body.errors]).to.deep.equal([400, [{ field: 'name', message: resourceNameRule(3) }]])
  })

  it('returns 503 if the store is unreachable and 502 if it refuses, without its error text', async () => {
    const store = new FakeObjectStore()
    await begin(store)
    bucket('one')
    for (const [code, status, expected] of [
      ['Unreachable', 503, 'SERVICE_UNAVAILABLE'],
      ['Refused', 502, 'UPSTREAM_FAILED'],
    ] as const) {
      store.failWith(code)
      for (const [method, path] of [
        ['get', `${ACCOUNT}/audit`],
        ['delete', `${ACCOUNT}/buckets/one`],
      ] as const) {
        const answer = await call(method, path)
        expect([answer.status, answer.body.code], path).to.deep.equal([status, expected])
        expect(answer.body.error).not.to.contain('as it was told to')
      }
    }
    const usage = await call('get', `${ACCOUNT}/usage`)
    expect(usage.body, 'the last figures').to.include({ usedBytes: 7, objectCount: 2 })
  })

  it('sums the usage of buckets, filters their list, and returns IN_USE for the deletion of their account', async () => {
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

  it('returns 503 and deletes the key if the controller does not issue it in time', async () => {
    await begin(new FakeObjectStore())
    const { status, body } = await call('post', `${ACCOUNT}/accesskeys`).send({})
    expect([status, body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE'])
    const { items } = await server.client.list(ObjectAccessKey.resource)
    expect(items).to.deep.equal([])
  })

  it('rejects a fifth key and a session of 100,000 seconds, and filters keys by status and permission', async () => {
    await begin(new FakeObjectStore())
    for (const name of ['a', 'b', 'c', 'd']) server.put(ObjectAccessKey, name, { accountName: 'media' }, NAMESPACE)
    const fifth = await call('post', `${ACCOUNT}/accesskeys`).send({})
    expect([fifth.status, fifth.body.code, fifth.body.limit]).to.deep.equal([422, 'QUOTA_EXCEEDED', 4])
    const session = await call('post', `${ACCOUNT}/sts/sessions`).send({ durationSeconds: 100_000 })
    expect([session.status, session.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
    const keys = await call('get', `${ACCOUNT}/accesskeys?filter=status:eq:active&filter=permission:eq:ReadWrite`)
    expect(keys.body.pagination.totalItems).to.equal(4)
  })

  it('returns REFERENCE_NOT_FOUND for keys and sessions of missing buckets', async () => {
    await begin(new FakeObjectStore())
    bucket('one')
    for (const [path, body, field] of [
      ['accesskeys', { buckets: ['one', 'nothere'] }, 'buckets'],
      ['sts/sessions', { bucket: 'nothere' }, 'bucket'],
    ] as const) {
      const answer = await call('post', `${ACCOUNT}/${path}`).send(body)
      expect([answer.status, answer.body.code], path).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
      expect(answer.body).to.include({ field, value: 'nothere' })
    }
    expect((await server.client.list(ObjectAccessKey.resource)).items).to.deep.equal([])
  })

  it('rejects prefixes with control or bidirectional characters', async () => {
    const store = new FakeObjectStore()
    await begin(store)
    bucket('one')
    for (const odd of ['\u0000', '\u0001', '\n', '\u202e']) {
      const prefix = `a${odd}b`
      const rules = [{ id: 'old', prefix, expireDays: 1 }]
      for (const [path, body] of [
        ['sts/sessions', { bucket: 'one', prefix }],
        ['buckets', { name: 'two', lifecycleRules: rules }],
      ] as const) {
        const answer = await call('post', `${ACCOUNT}/${path}`).send(body)
        expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
      }
    }
    expect((await server.client.list(ObjectAccessKey.resource)).items).to.deep.equal([])
  })

  const ends: [phase: string, status: number, code: string][] = [
    ['QuotaExceeded', 422, 'QUOTA_EXCEEDED'],
    ['ConfigurationInvalid', 502, 'UPSTREAM_FAILED'],
    ['ReferenceMissing', 409, 'INVALID_STATE'],
  ]
  for (const [phase, status, code] of ends) {
    it(`returns the reason at once, without "try again", for a key that cannot be issued: ${phase}`, async () => {
      await begin(new FakeObjectStore())
      server.caches.get(ObjectAccessKey.resource).subscribe(({ object }) => {
        if (object === undefined || object.status !== undefined) return
        const ref = { namespace: NAMESPACE, name: object.metadata.name }
        const condition = (type: string, truth: string) => ({
          type,
          status: truth,
          reason: phase,
          message: 'There is no room.',
        })
        queueMicrotask(() => {
          const edited = server.client.edit(ObjectAccessKey.resource, ref, ((each: { status?: object }) => {
            each.status = { conditions: [condition('Ready', 'False'), condition('Stalled', 'True')] }
          }) as never)
          server.caches.get(ObjectAccessKey.resource).observeWrite(edited)
        })
      })
      const answer = await call('post', `${ACCOUNT}/accesskeys`).send({})
      expect([answer.status, answer.body.code]).to.deep.equal([status, code])
      expect(answer.body.error).to.contain('There is no room.').and.not.match(/again/)
    })
  }

  it('returns 200 for a bucket that exists under another object name, and 409 for a different one', async () => {
    await begin(new FakeObjectStore())
    bucket('one')
    expect((await call('post', `${ACCOUNT}/buckets`).send({ name: 'one' })).status).to.equal(200)
    expect((await call('post', `${ACCOUNT}/buckets`).send({ name: 'one', objectLock: true })).status).to.equal(409)
    expect((await server.client.list(AccountBucket.resource)).items).to.have.length(1)
    expect((await call('get', `${ACCOUNT}/buckets/one`)).body.storeName, 'the name that it got').to.equal('media-one')
    const made = await call('post', `${ACCOUNT}/buckets`).send({ name: 'two' })
    expect([made.status, made.body.storeName]).to.deep.equal([201, 'media.two'])
  })

  it('lists the requests of the current account and of its buckets, also after their deletion', async () => {
    const store = new FakeObjectStore()
    await begin(store)
    const now = Date.now()
    const at = (seconds: number) => `${new Date(now + seconds * 1000).toISOString().slice(0, 19)}Z`
    const record = (bucket: string, seconds: number, key: string) =>
      store.log.push({
        ...{
          id: key,
          timestamp: at(seconds),
          operation: 'GetObject',
          bucket,
          key,
          statusCode: 200,
          errorCode: undefined,
        },
        ...{ accessKeyId: 'AKIA', user: undefined, remoteAddress: '127.0.0.1', bytes: 1, requestId: key },
      })
    const edited = server.client.edit(ObjectStorageAccount.resource, { namespace: NAMESPACE, name: 'media' }, ((each: {
      metadata: { creationTimestamp?: string }
      status?: object
    }) => {
      each.metadata.creationTimestamp = at(0)
      const noted = (storeName: string, bucketName: string, since: number, until?: number) => ({
        ...{ storeName, bucketName, since: at(since) },
        ...(until === undefined ? {} : { until: at(until) }),
      })
      each.status = {
        bucketNames: [noted('media.old', 'old', 10, 20), noted('media.old', 'old', 30), noted('m-a', 'a', 5)],
      }
    }) as never)
    server.caches.get(ObjectStorageAccount.resource).observeWrite(edited)
    record('media.old', -5, 'of another account')
    record('media.old', 0, 'of the second of the account')
    record('media.old', 5, 'before the bucket')
    record('media.old', 10, 'first')
    record('media.old', 20, 'second')
    record('media.old', 25, 'between its lives')
    record('m-a', 26, 'third')
    record('media.other', 27, 'of another bucket')
    record('media.old', 31, 'fourth')
    const { body } = await call('get', `${ACCOUNT}/audit?sort=timestamp`)
    expect(body.items.map(({ key, bucket: name }: { key: string; bucket: string }) => `${key} ${name}`)).to.deep.equal([
      'first old',
      'second old',
      'third a',
      'fourth old',
    ])
  })

  describe('PATCH /buckets/{bucket}', () => {
    const PATH = `${ACCOUNT}/buckets/one`
    const stored = async () => {
      const [object] = (await server.client.list(AccountBucket.resource)).items
      return object?.spec as Record<string, unknown>
    }
    const change = (body: object) => call('patch', PATH).send(body)

    it('changes the named fields and keeps the rest', async () => {
      await begin(new FakeObjectStore([]))
      bucket('one', { tags: { team: 'x' }, corsRules: [{ origins: ['*'], methods: ['GET'] }], forceDelete: true })
      const { status, body } = await change({ versioning: 'Enabled', quotaBytes: 2_000_000_000, tags: { team: null } })
      expect(status).to.equal(200)
      expect(body).to.deep.include({ versioning: 'Enabled', quotaBytes: 2_000_000_000, tags: {} })
      expect(await stored()).to.deep.include({ versioning: 'Enabled', forceDelete: true, accountName: 'media' })
      expect(body.corsRules, 'were not named').to.have.length(1)
      const back = await change({ quotaBytes: null, corsRules: null, versioning: 'Suspended' })
      expect(back.body).to.deep.include({ quotaBytes: null, corsRules: [], versioning: 'Suspended' })
    })

    const shown: [string, object, string | undefined, string][] = [
      ['Off if it was never enabled', { versioning: 'Off' }, 'Off', 'Off'],
      ['Off if the bucket does not exist in the store yet', { versioning: 'Off' }, undefined, 'Off'],
      ['Suspended if the spec is Off and the store Enabled', { versioning: 'Off' }, 'Enabled', 'Suspended'],
      ['Suspended if the spec is Off and the store Suspended', { versioning: 'Off' }, 'Suspended', 'Suspended'],
      ['Suspended if the default of the account is Off and the store Suspended', {}, 'Suspended', 'Suspended'],
      ['Enabled if the spec is Enabled and the store Suspended', { versioning: 'Enabled' }, 'Suspended', 'Enabled'],
    ]
    for (const [sentence, spec, versioning, expected] of shown) {
      it(`shows versioning as ${sentence}`, async () => {
        await begin(new FakeObjectStore([]))
        bucket('one', spec, { versioning })
        const before = await stored()
        const { body } = await call('get', PATH)
        expect(body.versioning).to.equal(expected)
        const filtered = await call('get', `${ACCOUNT}/buckets?filter=versioning:eq:${expected}`)
        expect(filtered.body.items.map(({ name }: { name: string }) => name)).to.deep.equal(['one'])
        expect((await change(body)).status, 'what was read is sent back').to.equal(200)
        expect(await stored()).to.deep.equal(before)
      })
    }

    it('changes nothing if the record is sent back', async () => {
      await begin(new FakeObjectStore([]))
      bucket('one', { lifecycleRules: [{ id: 'old', expireDays: 3 }] })
      const before = await stored()
      const { body } = await call('get', PATH)
      expect(body.lifecycleRules[0].abortUploadDays).to.equal(null)
      const again = await change(body)
      expect([again.status, again.body]).to.deep.equal([200, body])
      expect(await stored()).to.deep.equal(before)
    })

    const refused: [string, object, object, number, string][] = [
      ['another name', {}, { name: 'two' }, 400, 'BAD_REQUEST'],
      ['another account', {}, { accountName: 'other' }, 400, 'BAD_REQUEST'],
      ['objectLock on a bucket created without it', {}, { objectLock: true }, 400, 'BAD_REQUEST'],
      ['the removal of objectLock', { objectLock: true }, { objectLock: null }, 400, 'BAD_REQUEST'],
      ['lockDays without objectLock', {}, { lockDays: 3 }, 400, 'BAD_REQUEST'],
      ['versioning Suspended with objectLock', { objectLock: true }, { versioning: 'Suspended' }, 400, 'BAD_REQUEST'],
      ['an unknown field', {}, { colour: 'blue' }, 400, 'MODEL_BINDING_FAILED'],
      ['the internal field forceDelete', {}, { forceDelete: true }, 400, 'MODEL_BINDING_FAILED'],
      ['a quota of 5 bytes', {}, { quotaBytes: 5 }, 400, 'BAD_REQUEST'],
      ['publicRead if the account forbids it', {}, { publicRead: true }, 422, 'PUBLIC_ACCESS_DISABLED'],
    ]
    for (const [what, spec, body, status, code] of refused) {
      it(`rejects ${what}`, async () => {
        await begin(new FakeObjectStore([]))
        bucket('one', spec)
        const before = await stored()
        const answer = await change(body)
        expect([answer.status, answer.body.code]).to.deep.equal([status, code])
        expect(await stored()).to.deep.equal(before)
      })
    }

    it('changes other fields of a public bucket after its account forbade public access', async () => {
      await begin(new FakeObjectStore([]))
      bucket('one', { publicRead: true })
      expect((await change({ tags: { a: 'b' } })).status).to.equal(200)
      expect((await change({ publicRead: false })).body.publicRead).to.equal(false)
      expect((await change({ publicRead: true })).status).to.equal(422)
    })

    it('checks If-Match, and returns 404 for a missing bucket or account', async () => {
      await begin(new FakeObjectStore([]))
      bucket('one')
      const { headers } = await call('get', PATH)
      expect((await change({ tags: { a: 'b' } }).set('if-match', headers.etag ?? '')).status).to.equal(200)
      const stale = await change({ tags: {} }).set('if-match', '"999"')
      expect([stale.status, stale.body.code]).to.deep.equal([409, 'CONFLICT'])
      expect((await call('patch', `${ACCOUNT}/buckets/none`).send({})).status).to.equal(404)
      expect((await call('patch', `${ACCOUNT}-x/buckets/one`).send({})).status).to.equal(404)
    })
  })

  it('returns FEATURE_UNSUPPORTED for a quota of an account or a bucket if the store has none', async () => {
    await begin(new FakeObjectStore(['quota']))
    bucket('one')
    const wishes: ['post' | 'put' | 'patch', string, object, string][] = [
      ['post', `${RG}/objectstorageaccounts/other`, { quotaBytes: 2_000_000_000 }, 'quotaBytes'],
      ['post', `${RG}/objectstorageaccounts/other`, { quotaObjects: 5 }, 'quotaObjects'],
      ['put', ACCOUNT, { quotaBytes: 2_000_000_000 }, 'quotaBytes'],
      ['patch', ACCOUNT, { quotaObjects: 5 }, 'quotaObjects'],
      ['post', `${ACCOUNT}/buckets`, { name: 'two', quotaBytes: 2_000_000_000 }, 'quotaBytes'],
      ['patch', `${ACCOUNT}/buckets/one`, { quotaBytes: 2_000_000_000 }, 'quotaBytes'],
    ]
    for (const [method, path, wish, field] of wishes) {
      const { status, body } = await call(method, path).send(wish)
      expect([status, body.code, body.feature, body.field], `${method} ${path}`).to.deep.equal([
        ...[422, 'FEATURE_UNSUPPORTED', 'quota', field],
      ])
    }
  })

  it('returns QUOTA_EXCEEDED for a second account in a full group, but accepts a bucket in the first', async () => {
    await begin(new FakeObjectStore())
    server.group(B, 'small', { quota: { resources: 1 } })
    const small = `/boundaries/${B}/resourcegroups/small/resources/objectstorageaccounts`
    expect((await call('post', `${small}/first`).send({})).status).to.equal(201)
    expect((await call('post', `${small}/first/buckets`).send({ name: 'one' })).status).to.equal(201)
    server.put(ObjectAccessKey, 'a', { accountName: 'first' }, groupNamespace(B, 'small'))
    expect((await call('patch', `${small}/first`).send({ maxBuckets: 5 })).status, 'is no further one').to.equal(200)
    const { status, body } = await call('post', `${small}/second`).send({})
    expect([status, body.code]).to.deep.equal([422, 'QUOTA_EXCEEDED'])
    expect(body).to.include({ quota: 'resources', limit: 1, used: 1, requested: 1 })
  })

  it('counts an account as one resource, and neither buckets nor keys', async () => {
    await begin(new FakeObjectStore())
    bucket('one')
    server.put(ObjectAccessKey, 'a', { accountName: 'media' }, NAMESPACE)
    const { body } = await call('get', `/boundaries/${B}/resources`)
    expect(body.items.map(({ collection, name }: { collection: string; name: string }) => [collection, name]))
      .to.deep //
      .equal([['objectstorageaccounts', 'media']])
  })
})
