import { expect } from 'chai'
import type { ControllerBench } from '../../../test/worlds/controllers.ts'
import { type Shown, StorageBench, storageWords, USAGE_INTERVAL } from '../../../test/worlds/storageWorld.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { claimName } from '../../core/nameClaims.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'

describe('object storage controllers', () => {
  let world: StorageBench
  let bench: ControllerBench
  let store: FakeObjectStore
  let space: string
  const begin = (open: FakeObjectStore | undefined) => {
    world = new StorageBench({ store: open })
    bench = world.bench
    space = world.space
  }
  const { seed, account, bucket, key, find, says, patch, remove, pairOf, write } = storageWords(
    () => world,
    () => store,
  )

  beforeEach(() => {
    store = new FakeObjectStore()
    begin(store)
  })
  afterEach(() => bench.stop())

  it('create account, bucket and a working key in any order', async () => {
    key()
    bucket()
    account()
    await bench.start()
    expect(await says(ObjectStorageAccount, 'media')).to.deep.equal(['Running', 'Available'])
    expect(await says(AccountBucket, 'media.one')).to.deep.equal(['Running', 'Available'])
    expect(write(await pairOf(), 'media.one')).to.equal(200)
    expect(await find(ObjectStorageAccount, 'media')).to.have.nested.property('status.bucketCount', 1)
  })

  it('query no keys at the store when only the usage of a bucket changed', async () => {
    for (const make of [account, bucket, key]) make()
    await bench.start()
    let asked = 0
    const { ensureKey } = store
    store.ensureKey = (...given) => {
      asked += 1
      return ensureKey.apply(store, given)
    }
    const ref = { namespace: space, name: 'media.one' }
    await bench.client.mergePatch(
      AccountBucket.resource,
      ref,
      { status: { usedBytes: 4711 } },
      { subresource: 'status' },
    )
    await bench.rest()
    expect(asked).to.equal(0)
    bucket('two')
    await bench.rest()
    expect(asked).to.be.greaterThan(0)
  })

  it('write nothing at rest for the usage interval', async () => {
    for (const make of [account, bucket, key]) make()
    await bench.start()
    bench.writes()
    await bench.clock.advance(USAGE_INTERVAL)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
  })

  it('report EngineMissing without a store and allow deletion', async () => {
    await bench.stop()
    begin(undefined)
    account()
    await bench.start()
    expect(await says(ObjectStorageAccount, 'media')).to.deep.equal(['Failed', 'EngineMissing'])
    await remove(ObjectStorageAccount, 'media')
    expect(await find(ObjectStorageAccount, 'media')).to.equal(undefined)
  })

  it('report versioning as Suspended after a change from Enabled to Off', async () => {
    account()
    bucket('one', { versioning: 'Enabled' })
    await world.bench.start()
    const shows = async (versioning: string) =>
      expect(await find(AccountBucket, 'media.one')).to.have.nested.property('status.versioning', versioning)
    await shows('Enabled')
    await world.patch(AccountBucket, 'media.one', { versioning: 'Off' })
    await shows('Suspended')
  })

  it('grant a new bucket to unrestricted keys only', async () => {
    account()
    bucket()
    key()
    key('narrow', { buckets: ['one'] })
    await bench.start()
    seed(AccountBucket, 'media.two', { accountName: 'media', bucketName: 'two' })
    await bench.rest()
    expect(write(await pairOf(), 'media.two')).to.equal(200)
    expect(write(await pairOf('narrow'), 'media.two')).to.equal(403)
  })

  it('separate accounts and buckets whose joined names are alike', async () => {
    account('media')
    account('media-x')
    bucket('one', {}, 'media-x')
    await bench.start()
    bucket('x-one')
    key()
    await bench.rest()
    expect(await says(AccountBucket, 'media.x-one')).to.deep.equal(['Running', 'Available'])
    expect(write(await pairOf(), 'media.x-one')).to.equal(200)
    expect(write(await pairOf(), 'media-x.one')).to.equal(403)
    await remove(AccountBucket, 'media.x-one')
    expect(store.buckets.has('media-x.one'), 'it takes nothing of the other along').to.equal(true)
  })

  it('reject a second object for the same bucket of the store', async () => {
    account()
    bucket()
    await bench.start()
    seed(AccountBucket, 'again', { accountName: 'media', bucketName: 'one' })
    await bench.rest()
    expect(await says(AccountBucket, 'again')).to.deep.equal(['Failed', 'NameOccupied'])
    await remove(AccountBucket, 'again')
    expect(store.buckets.has('media.one'), 'the loser takes nothing along').to.equal(true)
  })

  for (const [sentence, forget] of [
    ['its status', false],
    ['its name claim', true],
  ] as const) {
    it(`keep the former store name of a bucket from ${sentence}`, async () => {
      account()
      const [name, incarnation] = ['media-one', 'a-life']
      const annotations = { [INCARNATION_ANNOTATION]: incarnation }
      const spec = AccountBucket.spec.parse({ accountName: 'media', bucketName: 'one' })
      bench.seed(AccountBucket, name, spec, { namespace: space, annotations })
      const holder = { kind: AccountBucket.kind, namespace: space, name, incarnation }
      bench.seed(NameClaim, claimName('StoreBucket', name), { type: 'StoreBucket', value: name, holder })
      if (!forget) {
        const ref = { namespace: space, name }
        await bench.client.mergePatch(
          AccountBucket.resource,
          ref,
          { status: { storeName: 'media-one' } },
          { subresource: 'status' },
        )
      }
      key()
      await bench.start()
      expect([...store.buckets.keys()]).to.deep.equal(['media-one'])
      expect(write(await pairOf(), 'media-one')).to.equal(200)
      expect(await find(AccountBucket, 'media-one')).to.have.nested.property('status.storeName', 'media-one')
    })
  }

  it('record former bucket names in the account for the audit log', async () => {
    account()
    bucket()
    await bench.start()
    const noted = async () => {
      const found = (await find(ObjectStorageAccount, 'media')) as { status?: { bucketNames?: { until?: string }[] } }
      return found.status?.bucketNames
    }
    const since = '2026-01-01T00:00:00Z'
    expect(await noted()).to.deep.equal([{ storeName: 'media.one', bucketName: 'one', since }])
    await remove(AccountBucket, 'media.one')
    expect(await noted()).to.have.length(1)
    expect((await noted())?.[0]?.until).to.be.a('string')
    seed(AccountBucket, 'media.one', { accountName: 'media', bucketName: 'one' }, space, {
      creationTimestamp: '2026-02-02T00:00:00Z',
    })
    await bench.rest()
    expect((await noted())?.map(({ until }) => until === undefined)).to.deep.equal([false, true])
  })

  it('report ReferenceMissing for a key until all its buckets exist, but stay Available if one is deleted', async () => {
    account()
    bucket()
    key('narrow', { buckets: ['one', 'two'] })
    await bench.start()
    expect(await says(ObjectAccessKey, 'narrow')).to.deep.equal(['Failed', 'ReferenceMissing'])
    bucket('two')
    await bench.rest()
    expect(write(await pairOf('narrow'), 'media.two')).to.equal(200)
    store.buckets.get('media.two')?.objects.clear()
    await remove(AccountBucket, 'media.two')
    expect(await says(ObjectAccessKey, 'narrow')).to.deep.equal(['Running', 'Available'])
    expect(write(await pairOf('narrow'), 'media.one')).to.equal(200)
  })

  for (const [code, status, phase] of [
    ['Invalid', 'Failed', 'ConfigurationInvalid'],
    ['Full', 'Failed', 'QuotaExceeded'],
    ['Refused', 'Provisioning', 'WaitingForDependency'],
    ['Unreachable', 'Provisioning', 'WaitingForDependency'],
  ] as const) {
    it(`report the message of a store error ${code}`, async () => {
      account()
      store.failWith(code)
      bucket()
      key()
      await bench.start()
      expect(await says(AccountBucket, 'media.one')).to.deep.equal([status, phase])
      expect((await find(AccountBucket, 'media.one'))?.status?.statusMessage).to.contain(
        'ensureBucket media.one failed',
      )
      expect(await says(ObjectAccessKey, 'uploader')).to.deep.equal([status, phase])
    })
  }

  it('give an account name to one group and release it with the account', async () => {
    account()
    await bench.start()
    const other = bench.seedGroup('other').groupSpace
    seed(ObjectStorageAccount, 'media', {}, other)
    await bench.rest()
    const second = () => bench.find<Shown>(ObjectStorageAccount.resource, 'media', other)
    expect((await second())?.status?.phase).to.equal('NameOccupied')
    await remove(ObjectStorageAccount, 'media')
    expect((await second())?.status?.phase).to.equal('Available')
  })

  it('keep a bucket with objects until it is empty or forceDelete is set', async () => {
    account()
    bucket()
    key()
    await bench.start()
    write(await pairOf(), 'media.one')
    await remove(AccountBucket, 'media.one')
    const held = await find(AccountBucket, 'media.one')
    expect(held?.status?.statusMessage).to.contain('not empty')
    expect(held?.status?.phase).to.equal('DeletionBlocked')
    await patch(AccountBucket, 'media.one', { forceDelete: true })
    expect(await find(AccountBucket, 'media.one')).to.equal(undefined)
    expect(store.buckets.size).to.equal(0)
  })

  it('list the buckets of an account in status.heldBy', async () => {
    account()
    bucket()
    await bench.start()
    const holders = 'status.heldBy'
    expect(await find(ObjectStorageAccount, 'media')).to.have.deep.nested.property(holders, [
      'accountbuckets/media.one',
    ])
    await remove(AccountBucket, 'media.one')
    expect(await find(ObjectStorageAccount, 'media')).to.have.deep.nested.property(holders, [])
  })

  it('block the deletion of an account by its buckets, then delete its keys too', async () => {
    account()
    bucket()
    key()
    await bench.start()
    await remove(ObjectStorageAccount, 'media')
    const held = await find(ObjectStorageAccount, 'media')
    expect(held?.status?.phase).to.equal('DeletionBlocked')
    expect(held?.status?.statusMessage).to.contain('accountbuckets/media.one')
    expect(write(await pairOf(), 'media.one'), 'its keys still work').to.equal(200)
    store.buckets.get('media.one')?.objects.clear()
    await remove(AccountBucket, 'media.one')
    expect(await find(ObjectAccessKey, 'uploader')).to.equal(undefined)
    expect(await find(ObjectStorageAccount, 'media')).to.equal(undefined)
    expect((await bench.client.list(NameClaim.resource)).items).to.deep.equal([])
    expect([store.users.size, store.buckets.size]).to.deep.equal([0, 0])
  })

  it('enforce enablePublicAccess and maxBuckets of the account', async () => {
    account('media', { maxBuckets: 1 })
    bucket('one')
    bucket('two')
    await bench.start()
    expect(await says(AccountBucket, 'media.two')).to.deep.equal(['Failed', 'QuotaExceeded'])
    await patch(AccountBucket, 'media.one', { publicRead: true })
    expect(await says(AccountBucket, 'media.one')).to.deep.equal(['Degraded', 'ConfigurationInvalid'])
    const isPublic = () => store.buckets.get('media.one')?.settings.publicRead
    expect(isPublic()).to.equal(false)
    await patch(ObjectStorageAccount, 'media', { enablePublicAccess: true, maxBuckets: 2 })
    expect(await says(AccountBucket, 'media.one')).to.deep.equal(['Running', 'Available'])
    expect(isPublic()).to.equal(true)
    await patch(ObjectStorageAccount, 'media', { enablePublicAccess: false })
    expect(isPublic(), 'closed at once').to.equal(false)
    expect(await says(AccountBucket, 'media.two')).to.deep.equal(['Running', 'Available'])
  })

  it('report and retry an unreachable store', async () => {
    account()
    bucket()
    store.failWith('Unreachable')
    await bench.start()
    expect(await says(AccountBucket, 'media.one')).to.deep.equal(['Provisioning', 'WaitingForDependency'])
    store.failWith(undefined)
    await bench.clock.advance(5_000)
    await bench.rest()
    expect(await says(AccountBucket, 'media.one')).to.deep.equal(['Running', 'Available'])
  })

  it('record object count and size of a changed bucket', async () => {
    account()
    bucket()
    key()
    await bench.start()
    write(await pairOf(), 'media.one')
    await bench.clock.advance(USAGE_INTERVAL)
    await bench.rest()
    expect((await find(AccountBucket, 'media.one'))?.status).to.include({ objectCount: 1, usedBytes: 1 })
  })
})
