import { expect } from 'chai'
import type { ControllerBench } from '../../../test/worlds/controllers.ts'
import { type Shown, StorageBench, storageWords, USAGE_INTERVAL } from '../../../test/worlds/storageWorld.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { claimName } from '../../core/nameClaims.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'

describe('the controllers of object storage', () => {
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

  it('make a bucket and a key that opens it, whatever comes first', async () => {
    key()
    bucket()
    account()
    await bench.start()
    expect(await says(ObjectStorageAccount, 'media')).to.deep.equal(['Running', 'Available'])
    expect(await says(AccountBucket, 'media.one')).to.deep.equal(['Running', 'Available'])
    expect(write(await pairOf(), 'media.one')).to.equal(200)
    expect(await find(ObjectStorageAccount, 'media')).to.have.nested.property('status.bucketCount', 1)
  })

  it('ask the store nothing about keys when there is only more in a bucket', async () => {
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

  it('leave everything at rest when it is as it should be', async () => {
    for (const make of [account, bucket, key]) make()
    await bench.start()
    bench.writes()
    await bench.clock.advance(USAGE_INTERVAL)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
  })

  it('wait without a store, and say what is missing', async () => {
    await bench.stop()
    begin(undefined)
    account()
    await bench.start()
    expect(await says(ObjectStorageAccount, 'media')).to.deep.equal(['Failed', 'EngineMissing'])
    await remove(ObjectStorageAccount, 'media')
    expect(await find(ObjectStorageAccount, 'media')).to.equal(undefined)
  })

  it('say that versioning is suspended which was on and is to be off', async () => {
    account()
    bucket('one', { versioning: 'Enabled' })
    await world.bench.start()
    const shows = async (versioning: string) =>
      expect(await find(AccountBucket, 'media.one')).to.have.nested.property('status.versioning', versioning)
    await shows('Enabled')
    await world.patch(AccountBucket, 'media.one', { versioning: 'Off' })
    await shows('Suspended')
  })

  it('open a later bucket to keys of all, and not to keys of some', async () => {
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

  it('tell accounts and buckets apart whose names read alike, and open nothing to the other account', async () => {
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

  it('give a name at the store to one object only', async () => {
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
    ['a status', false],
    ['a claim, where the status was lost', true],
  ] as const) {
    it(`leave a bucket the name that it got before names were told apart: by ${sentence}`, async () => {
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

  it('have the account remember what its buckets were called, for the audit', async () => {
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

  it('let a key wait for the buckets that it names, and go on when one of them goes', async () => {
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
    it(`say what the store answered, in its sentence: ${code}`, async () => {
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

  it('give an account name to one group only, and let it go with the account', async () => {
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

  it('keep a bucket that holds something until it is empty, or forced', async () => {
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

  it('name the buckets that hold an account', async () => {
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

  it('keep an account whole until its buckets are gone, and take its keys along then', async () => {
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

  it('hold what the account allows: public access, the number of buckets', async () => {
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

  it('ask a store that is away again, and say so meanwhile', async () => {
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

  it('write down what a bucket holds when that changed', async () => {
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
