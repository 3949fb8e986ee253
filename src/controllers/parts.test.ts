import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { RelationalWorld, SNAPSHOT } from '../../test/worlds/relationalWorld.ts'
import { answerRemovals } from '../../test/worlds/secretRemovals.ts'
import { type Shown, StorageBench } from '../../test/worlds/storageWorld.ts'
import { FakeObjectStore } from '../adapters/objectstorage/fake.ts'
import { FakePlatformKeys } from '../adapters/platformkeys/fake.ts'
import { entryName } from '../contracts/vaults/names.ts'
import { idOf } from '../core/ids.ts'
import { INCARNATION_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../core/labels.ts'
import { claimName } from '../core/nameClaims.ts'
import type { AnyKind } from '../crds/define.ts'
import { ManagedIdentity } from '../crds/managedidentities.ts'
import { NameClaim } from '../crds/nameclaims.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../crds/objectstorage.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { RelationalSnapshot } from '../crds/relationalSnapshots.ts'
import { SecretVault, VaultEntry } from '../crds/vaults.ts'
import { VectorCluster } from '../crds/vector.ts'
import { blockWhileReferenced } from './clusters.ts'
import { VAULT_CONTROLLERS } from './vaults/index.ts'

describe('parts created during the deletion of their owner', () => {
  let bench: ControllerBench
  afterEach(() => bench.stop())

  /** Creates an object just before the API server lists such parts, so that no cache shows it yet. */
  function madeBeforeLastLook({ resource }: AnyKind, make: () => unknown): { wasLookedFor(): boolean } {
    let isMade = false
    const list = bench.client.list.bind(bench.client)
    bench.client.list = (async (asked: typeof resource, ...more: never[]) => {
      if (!isMade && asked.plural === resource.plural) {
        isMade = true
        make()
      }
      return list(asked, ...more)
    }) as typeof list
    // A list call of the test itself would create it too.
    return { wasLookedFor: () => isMade }
  }

  const storage = async () => {
    const world = new StorageBench({ store: new FakeObjectStore() })
    bench = world.bench
    world.account()
    await bench.start()
    return world
  }

  it('block an account by a new bucket', async () => {
    const world = await storage()
    madeBeforeLastLook(AccountBucket, () => world.bucket())
    await world.remove(ObjectStorageAccount, 'media')
    expect(await world.says(ObjectStorageAccount, 'media')).to.deep.equal(['Deleting', 'DeletionBlocked'])
    await world.remove(AccountBucket, 'media.one')
    expect(await world.find(ObjectStorageAccount, 'media')).to.equal(undefined)
  })

  it('delete a new access key with its account', async () => {
    const world = await storage()
    madeBeforeLastLook(ObjectAccessKey, () => world.key())
    await world.remove(ObjectStorageAccount, 'media')
    await bench.clock.advance(60_000)
    await bench.rest()
    expect(await world.find(ObjectStorageAccount, 'media')).to.equal(undefined)
    expect(await world.find(ObjectAccessKey, 'uploader')).to.equal(undefined)
  })

  const database = async () => {
    const world = await new RelationalWorld().start()
    bench = world.bench
    world.database('orders')
    await bench.rest()
    return world
  }
  const shown = (kind: AnyKind, name: string, home: string) => bench.find<Shown>(kind.resource, name, home)

  it('delete a new snapshot with its database', async () => {
    const world = await database()
    const { wasLookedFor } = madeBeforeLastLook(RelationalSnapshot, () => {
      const spec = RelationalSnapshot.spec.parse({ clusterName: 'orders', name: 'first' })
      bench.seed(RelationalSnapshot, SNAPSHOT, spec, { namespace: world.home })
    })
    await bench.client.remove(RelationalCluster.resource, { namespace: world.home, name: 'orders' })
    await bench.rest()
    await bench.clock.advance(60_000)
    await bench.rest()
    expect(wasLookedFor()).to.equal(true)
    expect(await shown(RelationalCluster, 'orders', world.home)).to.equal(undefined)
    expect(await shown(RelationalSnapshot, SNAPSHOT, world.home)).to.equal(undefined)
  })

  it('keep the snapshots of a database with onDelete Retain', async () => {
    const world = await database()
    const ref = { namespace: world.home, name: 'orders' }
    await bench.client.mergePatch(RelationalCluster.resource, ref, { spec: { onDelete: 'Retain' } })
    await bench.rest()
    await world.snapshot('orders')
    await bench.client.remove(RelationalCluster.resource, ref)
    await bench.rest()
    expect(await shown(RelationalCluster, 'orders', world.home)).to.equal(undefined)
    expect(await shown(RelationalSnapshot, SNAPSHOT, world.home)).to.not.equal(undefined)
  })

  it('delete a new name claim with its bucket', async () => {
    const world = await storage()
    world.bucket()
    await bench.rest()
    const { metadata } = (await world.find(AccountBucket, 'media.one')) ?? {}
    const incarnation = metadata?.annotations?.[INCARNATION_ANNOTATION]
    const name = claimName('StoreBucket', 'media.other')
    const { wasLookedFor } = madeBeforeLastLook(NameClaim, () => {
      const holder = { kind: AccountBucket.kind, namespace: world.space, name: 'media.one', incarnation }
      const labels = { [OWNER_KIND_LABEL]: AccountBucket.kind, [OWNER_NAME_LABEL]: 'media.one' }
      bench.seed(NameClaim, name, { type: 'StoreBucket', value: 'media.other', holder }, { labels })
    })
    await world.remove(AccountBucket, 'media.one')
    expect(wasLookedFor()).to.equal(true)
    expect(await bench.find(NameClaim.resource, name)).to.equal(undefined)
  })

  it('block a cluster by a resource that names it', async () => {
    const records = (kind: AnyKind, made: object) => ({
      cache: () => ({ list: () => [] }),
      client: { list: async (asked: object) => ({ items: asked === kind.resource ? [made] : [] }) },
    })
    const made = { metadata: { namespace: 'shop', name: 'orders' }, spec: { clusterId: 'far' } }
    const pass = { object: { metadata: { name: 'far' } }, records: records(VectorCluster, made) }
    const outcome = await blockWhileReferenced(pass as never)
    expect(outcome).to.deep.include({ kind: 'waiting', reason: 'DeletionBlocked' })
  })

  it('delete a new entry with its vault', async () => {
    bench = new ControllerBench(VAULT_CONTROLLERS.map((each) => each(new FakePlatformKeys())))
    const { groupSpace: namespace } = bench.seedGroup('shop')
    answerRemovals(bench.client, namespace)
    bench.seed(SecretVault, 'safe', SecretVault.spec.parse({}), { namespace })
    await bench.start()
    const name = entryName('safe', 'Password')
    madeBeforeLastLook(VaultEntry, () => {
      const spec = { vaultName: 'safe', secretName: 'Password', valueFrom: { secretName: 'incoming', key: 'value' } }
      bench.seed(VaultEntry, name, VaultEntry.spec.parse(spec), { namespace })
    })
    await bench.client.remove(SecretVault.resource, { namespace, name: 'safe' })
    await bench.rest()
    await bench.clock.advance(60_000)
    await bench.rest()
    expect(await bench.find<Shown>(SecretVault.resource, 'safe', namespace)).to.equal(undefined)
    expect(await bench.find<Shown>(VaultEntry.resource, name, namespace)).to.equal(undefined)
  })
})

describe('parts of an owner that is being deleted', () => {
  let world: StorageBench
  beforeEach(async () => {
    world = new StorageBench({ store: new FakeObjectStore() })
    world.account()
    world.bucket()
    await world.bench.start()
  })
  afterEach(() => world.bench.stop())

  /** Each status that the object gets from now on. */
  const toldOf = (kind: AnyKind, name: string) => {
    const told: string[] = []
    const { client } = world.bench
    const patch = client.mergePatch.bind(client)
    client.mergePatch = async (resource, ref, ...more) => {
      const stored = await patch(resource, ref, ...more)
      const { status } = stored as Shown
      if (resource.plural === kind.resource.plural && ref.name === name && status !== undefined)
        told.push([status?.status, status?.phase, status?.statusMessage].join(' '))
      return stored as never
    }
    return told
  }

  for (const [kind, name, isReady] of [
    [AccountBucket, 'media.one', true],
    [AccountBucket, 'media.two', false],
    [ObjectAccessKey, 'uploader', true],
    [ObjectAccessKey, 'late', false],
  ] as const) {
    const [before, state] = isReady ? ['ready', 'Updating'] : ['new', 'Provisioning']
    it(`report only TearingDown for a ${before} ${kind.kind}`, async () => {
      if (name === 'uploader') world.key()
      await world.bench.rest()
      const told = toldOf(kind, name)
      // The bucket blocks the deletion of the account.
      await world.remove(ObjectStorageAccount, 'media')
      if (name === 'media.two') world.bucket('two')
      if (name === 'late') world.key('late')
      await world.bench.rest()
      expect(told).to.deep.equal([`${state} TearingDown The object storage account "media" is being deleted.`])
    })
  }

  it('delete a key when its account is deleted with its group', async () => {
    world.key()
    await world.bench.rest()
    const told = toldOf(ObjectAccessKey, 'uploader')
    await world.leaveGroup()
    await world.remove(ObjectStorageAccount, 'media')
    await world.remove(AccountBucket, 'media.one')
    expect(await world.find(ObjectAccessKey, 'uploader')).to.equal(undefined)
    expect(await world.find(ObjectStorageAccount, 'media')).to.equal(undefined)
    expect(told).to.not.be.empty
    for (const said of told) expect(said).to.contain(' TearingDown')
  })

  it('report TearingDown for a new key of an identity that is being deleted', async () => {
    const finalizers = ['example.com/hold']
    const { metadata } = world.bench.seed(ManagedIdentity, 'robot', {}, { namespace: world.space, finalizers })
    await world.bench.rest()
    await world.remove(ManagedIdentity, metadata.name)
    const id = idOf({ group: 'iam.freehold.dev', kind: 'ManagedIdentity', name: metadata.name })
    world.key('uploader', { managedIdentityId: id })
    await world.bench.rest()
    const { status } = (await world.find(ObjectAccessKey, 'uploader')) ?? {}
    expect([status?.status, status?.phase]).to.deep.equal(['Provisioning', 'TearingDown'])
    expect(status?.statusMessage).to.equal(`Managed identity "${id}" is being deleted.`)
  })
})

describe('parts without an owner', () => {
  let world: StorageBench
  beforeEach(async () => {
    world = new StorageBench({ store: new FakeObjectStore() })
    await world.bench.start()
  })
  afterEach(() => world.bench.stop())

  for (const [sentence, kind, name, make] of [
    ['a bucket', AccountBucket, 'media.one', () => world.bucket()],
    ['a key', ObjectAccessKey, 'uploader', () => world.key()],
  ] as const) {
    it(`report ReferenceMissing for ${sentence} and allow its deletion`, async () => {
      make()
      await world.bench.rest()
      const { status } = (await world.find(kind, name)) ?? {}
      expect([status?.status, status?.phase]).to.deep.equal(['Failed', 'ReferenceMissing'])
      expect(status).to.include({
        statusMessage: 'There is no object storage account "media" in the group. Create it, or delete this.',
      })
      await world.remove(kind, name)
      expect(await world.find(kind, name)).to.equal(undefined)
    })
  }

  it('release the claim of a bucket whose account was deleted without finalizers', async () => {
    world.account()
    world.bucket()
    await world.bench.rest()
    const ref = { namespace: world.space, name: 'media' }
    await world.bench.client.mergePatch(ObjectStorageAccount.resource, ref, { metadata: { finalizers: [] } })
    await world.remove(ObjectStorageAccount, 'media')
    await world.remove(AccountBucket, 'media.one')
    expect(await world.find(AccountBucket, 'media.one')).to.equal(undefined)
    expect(
      (await world.bench.client.list(NameClaim.resource)).items.map(({ metadata }) => metadata.name),
    ).to.not.include(claimName('StoreBucket', 'media.one'))
  })
})
