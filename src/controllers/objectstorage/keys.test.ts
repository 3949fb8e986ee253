import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ControllerBench } from '../../../test/worlds/controllers.ts'
import { StorageBench, storageWords } from '../../../test/worlds/storageWorld.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { accessKeySecretName } from '../../contracts/objectstorage.ts'
import { CREATED_BY_ANNOTATION, INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { secret } from '../../kube/builtin.ts'

const IDENTITY = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b05'

describe('ObjectAccessKey controller', () => {
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

  it('rejects requests with an inactive key and accepts them after reactivation', async () => {
    account()
    bucket()
    key()
    await bench.start()
    await patch(ObjectAccessKey, 'uploader', { isActive: false })
    expect(write(await pairOf(), 'media.one')).to.equal(403)
    expect(await says(ObjectAccessKey, 'uploader')).to.deep.equal(['Stopped', 'Stopped'])
    await patch(ObjectAccessKey, 'uploader', { isActive: true })
    expect(write(await pairOf(), 'media.one')).to.equal(200)
  })

  it('rejects an expired key and deletes an expired session', async () => {
    account()
    bucket()
    const expiresAt = new Date(bench.clock.now() + 10_000).toISOString()
    key('short', { expiresAt })
    key('session', { expiresAt, isSession: true })
    await bench.start()
    const [short, session] = [await pairOf('short'), await pairOf('session')]
    expect([write(short, 'media.one'), write(session, 'media.one')]).to.deep.equal([200, 200])
    await bench.clock.advance(10_000)
    await bench.rest()
    expect([write(short, 'media.one'), write(session, 'media.one')]).to.deep.equal([403, 403])
    expect((await find(ObjectAccessKey, 'short'))?.status?.state).to.equal('Expired')
    expect(await find(ObjectAccessKey, 'session')).to.equal(undefined)
    expect(await pairOf('session')).to.equal(undefined)
  })

  it('rejects inactive and expired keys while the deletion of their account is blocked', async () => {
    account()
    bucket()
    const expiresAt = new Date(bench.clock.now() + 10_000).toISOString()
    key()
    key('short', { expiresAt })
    key('session', { expiresAt, isSession: true })
    await bench.start()
    const [short, session] = [await pairOf('short'), await pairOf('session')]
    await remove(ObjectStorageAccount, 'media')
    expect(await says(ObjectStorageAccount, 'media')).to.deep.equal(['Deleting', 'DeletionBlocked'])
    expect([await pairOf(), short, session].map((pair) => write(pair, 'media.one'))).to.deep.equal([200, 200, 200])
    await patch(ObjectAccessKey, 'uploader', { isActive: false })
    expect(write(await pairOf(), 'media.one')).to.equal(403)
    await bench.clock.advance(10_000)
    await bench.rest()
    expect([write(short, 'media.one'), write(session, 'media.one')]).to.deep.equal([403, 403])
    expect(await says(ObjectAccessKey, 'short')).to.deep.equal(['Updating', 'TearingDown'])
  })

  it('closes a bucket to the public while the deletion of its account is blocked', async () => {
    account('media', { enablePublicAccess: true })
    bucket('one', { publicRead: true })
    await bench.start()
    expect(store.attempt(undefined, 'read', 'media.one', 'a')).to.equal(404)
    await remove(ObjectStorageAccount, 'media')
    await patch(AccountBucket, 'media.one', { publicRead: false })
    expect(store.attempt(undefined, 'read', 'media.one', 'a')).to.equal(403)
  })

  it('replaces a key whose Secret was deleted and rejects the old key', async () => {
    account()
    bucket()
    key()
    await bench.start()
    const before = await pairOf()
    await bench.client.remove(secret, { namespace: space, name: accessKeySecretName('uploader') })
    await bench.rest()
    const after = await pairOf()
    expect(after?.accessKeyId).to.be.a('string').and.not.equal(before?.accessKeyId)
    expect([write(before, 'media.one'), write(after, 'media.one')]).to.deep.equal([403, 200])
  })

  it('replaces a key whose Secret was deleted while Secrets could not be watched', async () => {
    account()
    key()
    bench.client.fail('watch', secret, 'Forbidden')
    await bench.start()
    const before = await pairOf()
    expect(before?.accessKeyId).to.be.a('string')
    await bench.client.remove(secret, { namespace: space, name: accessKeySecretName('uploader') })
    await bench.rest()
    await bench.clock.advance(60_000)
    await bench.rest()
    expect((await pairOf())?.accessKeyId)
      .to.be.a('string')
      .and.not.equal(before?.accessKeyId)
  })

  it('deletes the sessions of disabled and deleted principals, but no other keys', async () => {
    account()
    bucket()
    const namespace = SYSTEM_NAMESPACE
    const expiresAt = new Date(bench.clock.now() + 3_600_000).toISOString()
    const [ada, ben, gone] = [randomUUID(), randomUUID(), randomUUID()]
    const by = (id: string) => ({
      annotations: {
        [CREATED_BY_ANNOTATION]: id,
        [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [id]: `life-of-${id}` }),
      },
    })
    for (const [kind, id] of [
      [PlatformUser, ada],
      [PlatformClient, ben],
      [PlatformUser, gone],
    ] as const)
      bench.seed(kind, id, {}, { namespace, annotations: { [INCARNATION_ANNOTATION]: `life-of-${id}` } })
    for (const [name, id] of Object.entries({ ada, ben, gone })) key(name, { isSession: true, expiresAt }, by(id))
    key('kept', {}, by(ada))
    key('elsewhere', { isSession: true, expiresAt }, { annotations: { [CREATED_BY_ANNOTATION]: randomUUID() } })
    await bench.start()
    const names = ['ada', 'ben', 'gone', 'kept', 'elsewhere']
    const pairs = new Map<string, Awaited<ReturnType<typeof pairOf>>>()
    for (const name of names) pairs.set(name, await pairOf(name))
    const answers = () => names.map((name) => write(pairs.get(name), 'media.one'))
    expect(answers()).to.deep.equal([200, 200, 200, 200, 200])
    const disabled = { spec: { isEnabled: false } }
    await bench.client.mergePatch(PlatformUser.resource, { namespace, name: ada }, disabled)
    await bench.client.mergePatch(PlatformClient.resource, { namespace, name: ben }, disabled)
    await bench.client.remove(PlatformUser.resource, { namespace, name: gone })
    await bench.rest()
    expect(answers()).to.deep.equal([403, 403, 403, 200, 200])
  })

  it('keeps a session of a principal that the cache does not show yet', async () => {
    account()
    const lateNews = bench.holdBack(PlatformUser.resource)
    await bench.start()
    const id = randomUUID()
    const annotations = { [INCARNATION_ANNOTATION]: 'life' }
    bench.seed(PlatformUser, id, {}, { namespace: SYSTEM_NAMESPACE, annotations })
    const by = { [CREATED_BY_ANNOTATION]: id, [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [id]: 'life' }) }
    const expiresAt = new Date(bench.clock.now() + 3_600_000).toISOString()
    key('new', { isSession: true, expiresAt }, { annotations: by })
    await bench.rest()
    lateNews()
    await bench.rest()
    expect(await pairOf('new')).not.to.equal(undefined)
  })

  it('reports QuotaExceeded for the fifth key of one owner until another is deleted', async () => {
    account()
    for (const name of ['a', 'b', 'c', 'd', 'e']) key(name)
    await bench.start()
    expect(await says(ObjectAccessKey, 'e')).to.deep.equal(['Failed', 'QuotaExceeded'])
    await remove(ObjectAccessKey, 'a')
    expect(await says(ObjectAccessKey, 'e')).to.deep.equal(['Running', 'Available'])
  })

  it('reports QuotaExceeded for the 101st session of an account until another is deleted', async () => {
    account()
    const expiresAt = new Date(bench.clock.now() + 3_600_000).toISOString()
    const names = Array.from({ length: 101 }, (_, number) => `s${String(number).padStart(3, '0')}`)
    for (const name of names) key(name, { isSession: true, expiresAt })
    await bench.start()
    expect(await says(ObjectAccessKey, 's100')).to.deep.equal(['Failed', 'QuotaExceeded'])
    await remove(ObjectAccessKey, 's000')
    expect(await says(ObjectAccessKey, 's100')).to.deep.equal(['Running', 'Available'])
  })

  const held: [sentence: string, hold: () => Promise<unknown>, says: string][] = [
    ['blocks its deletion', () => remove(ObjectStorageAccount, 'media'), 'DeletionBlocked'],
    [
      'needs an unsupported feature',
      () => patch(ObjectStorageAccount, 'media', { quotaObjects: 5 }),
      'ConfigurationInvalid',
    ],
  ]
  for (const [sentence, hold, phase] of held)
    it(`deletes a key with its identity, and an expired session, while their account ${sentence}`, async () => {
      account()
      bucket()
      seed(ManagedIdentity, IDENTITY, { resourceName: 'shop', resourceType: 'apps', resourceUid: 'u' })
      key('app', { managedIdentityId: IDENTITY })
      key('session', { expiresAt: new Date(bench.clock.now() + 10_000).toISOString(), isSession: true })
      await bench.start()
      const [app, session] = [await pairOf('app'), await pairOf('session')]
      await hold()
      expect((await says(ObjectStorageAccount, 'media'))[1]).to.equal(phase)
      expect([write(app, 'media.one'), write(session, 'media.one')]).to.deep.equal([200, 200])
      await remove(ManagedIdentity, IDENTITY)
      await bench.clock.advance(10_000)
      await bench.rest()
      expect([write(app, 'media.one'), write(session, 'media.one')]).to.deep.equal([403, 403])
      expect(await find(ObjectAccessKey, 'app')).to.equal(undefined)
      expect(await find(ObjectAccessKey, 'session')).to.equal(undefined)
    })

  it('deletes a key with its identity', async () => {
    account()
    bucket()
    const spec = { resourceName: 'shop', resourceType: 'apps', resourceUid: 'u' }
    seed(ManagedIdentity, IDENTITY, spec)
    key('app', { managedIdentityId: IDENTITY })
    await bench.start()
    const pair = await pairOf('app')
    expect(write(pair, 'media.one')).to.equal(200)
    await remove(ManagedIdentity, IDENTITY)
    expect(write(pair, 'media.one')).to.equal(403)
    expect(await find(ObjectAccessKey, 'app')).to.equal(undefined)
  })

  it('keeps a key whose identity the cache does not show yet, as in a restore', async () => {
    account()
    bucket()
    const show = bench.holdBack(ManagedIdentity.resource)
    await bench.start()
    const spec = { resourceName: 'shop', resourceType: 'apps', resourceUid: 'u' }
    seed(ManagedIdentity, IDENTITY, spec)
    key('app', { managedIdentityId: IDENTITY })
    bench.client.edit(ObjectAccessKey.resource, { namespace: space, name: 'app' }, (object) => {
      object.status = { accessKeyId: 'AK1' }
    })
    await bench.rest()
    show()
    await bench.rest()
    expect(await find(ObjectAccessKey, 'app')).to.not.equal(undefined)
  })
})
