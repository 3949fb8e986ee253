import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { BOUNDARY_ID } from '../../../test/worlds/controllers.ts'
import { StorageBench } from '../../../test/worlds/storageWorld.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import type { StoreFeature } from '../../contracts/objectstorage.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { SecretVault } from '../../crds/vaults.ts'
import { customResourceDefinition } from '../../kube/builtin.ts'
import { seaweed } from '../../kube/seaweedfs.ts'

const FILE = new URL('../../../deploy/played/seaweedfs.yaml', import.meta.url)
const DEFINITION = {
  ...(loadAll(readFileSync(FILE, 'utf8'))[0] as KubeObject),
  status: { conditions: [{ type: 'Established', status: 'True' }] },
}
const OLDER = '2025-12-31T00:00:00Z'
const PLACE = { namespace: 'seaweedfs', name: 'store', port: 8333 }

describe('limits of accounts and buckets', () => {
  let world: StorageBench
  const begin = (seaweedOf?: typeof PLACE) => {
    world = new StorageBench({ store: new FakeObjectStore(), seaweed: seaweedOf })
  }
  const rest = () => world.bench.rest()
  const account = (name = 'media') => world.says(ObjectStorageAccount, name)
  const message = async (kind: AnyKind, name: string) => (await world.find(kind, name))?.status?.statusMessage
  beforeEach(() => begin())
  afterEach(() => world.bench.stop())

  it('reject fields that need an unsupported feature of the store', async () => {
    world.account('quotas', { quotaBytes: 2_000_000_000 })
    world.account('objects', { quotaObjects: 5 })
    world.account()
    world.bucket('one', { quotaBytes: 2_000_000_000 })
    world.bucket('old', { lifecycleRules: [{ id: 'old', expireDays: 1 }] })
    await world.bench.start()
    const cases: [AnyKind, string, string, string][] = [
      [ObjectStorageAccount, 'quotas', 'quotaBytes', 'quota'],
      [ObjectStorageAccount, 'objects', 'quotaObjects', 'quota'],
      [AccountBucket, 'media.one', 'quotaBytes', 'quota'],
      [AccountBucket, 'media.old', 'lifecycleRules', 'lifecycle'],
    ]
    for (const [kind, name, field, feature] of cases) {
      expect(await world.says(kind, name), name).to.deep.equal(['Failed', 'ConfigurationInvalid'])
      expect(await message(kind, name)).to.contain(`${field} needs "${feature}"`)
    }
    await world.patch(AccountBucket, 'media.one', { quotaBytes: null })
    expect(await world.says(AccountBucket, 'media.one')).to.deep.equal(['Running', 'Available'])
  })

  for (const [feature, wish] of [
    ['quota', { quotaBytes: 2_000_000_000 }],
    ['lifecycle', { lifecycleRules: [{ id: 'old', expireDays: 1 }] }],
    ['versioning', { versioning: 'Enabled' }],
    ['objectLock', { objectLock: true, versioning: 'Enabled' }],
  ] as [StoreFeature, object][]) {
    it(`close a bucket to the public although it needs the unsupported feature ${feature}`, async () => {
      const store = new FakeObjectStore([feature])
      world = new StorageBench({ store })
      world.account('media', { enablePublicAccess: true })
      world.bucket('one', { publicRead: true })
      await world.bench.start()
      const read = () => store.attempt(undefined, 'read', 'media.one', 'a')
      expect(read(), 'it is open').to.equal(404)
      const before = store.buckets.get('media.one')?.settings
      await world.patch(AccountBucket, 'media.one', { publicRead: false, ...wish })
      expect(read(), 'it is closed').to.equal(403)
      expect(await world.says(AccountBucket, 'media.one')).to.deep.equal(['Degraded', 'ConfigurationInvalid'])
      expect(await message(AccountBucket, 'media.one')).to.contain(`needs "${feature}"`)
      expect(store.buckets.get('media.one')?.settings, 'the store is asked for nothing that it lacks').to.deep.equal({
        ...before,
        ...(feature === 'objectLock' ? { versioning: 'Enabled' } : {}),
        publicRead: false,
      })
    })
  }

  describe('quota of resources', () => {
    const limit = async (level: 'boundary' | 'group', resources: number) => {
      const quota = { spec: { quota: { resources } } }
      const { client } = world.bench
      const group = { namespace: boundaryNamespace(BOUNDARY_ID), name: 'shop' }
      if (level === 'boundary') await client.mergePatch(Boundary.resource, { name: BOUNDARY_ID }, quota)
      else await client.mergePatch(ResourceGroup.resource, group, quota)
      await rest()
    }
    const older = (kind: AnyKind, spec: object = {}) =>
      world.seed(kind, 'older', spec, world.space, { creationTimestamp: OLDER })
    const nothing = () => undefined
    const inside = () => {
      older(AccountBucket, { accountName: 'media', bucketName: 'one' })
      older(ObjectAccessKey, { accountName: 'media' })
    }
    const cases: [string, 'boundary' | 'group', number, () => void, string][] = [
      ['admits an account up to the limit', 'boundary', 1, nothing, 'Available'],
      ['rejects an account in a boundary with quota 0', 'boundary', 0, nothing, 'QuotaExceeded'],
      ['rejects an account in a group with quota 0', 'group', 0, nothing, 'QuotaExceeded'],
      ['counts an older account first', 'group', 1, () => void older(ObjectStorageAccount), 'QuotaExceeded'],
      ['counts an older vault first', 'boundary', 1, () => void older(SecretVault), 'QuotaExceeded'],
      ['counts no buckets and keys', 'group', 1, inside, 'Available'],
    ]
    for (const [sentence, level, resources, others, phase] of cases) {
      it(sentence, async () => {
        await world.bench.start()
        await limit(level, resources)
        others()
        world.account()
        await rest()
        expect((await account())[1]).to.equal(phase)
      })
    }

    it('admits a waiting account after an increase and keeps a running one after a decrease', async () => {
      await world.bench.start()
      await limit('group', 0)
      world.account()
      await rest()
      expect(await account()).to.deep.equal(['Failed', 'QuotaExceeded'])
      await limit('group', 1)
      expect(await account()).to.deep.equal(['Running', 'Available'])
      await limit('group', 0)
      await world.patch(ObjectStorageAccount, 'media', { maxBuckets: 7 })
      expect(await account()).to.deep.equal(['Running', 'Available'])
    })
  })

  describe('Seaweed behind the store', () => {
    const ref = { namespace: PLACE.namespace, name: PLACE.name }
    const install = () => world.bench.client.seed(customResourceDefinition, DEFINITION)
    const make = (status: object) =>
      world.bench.client.seed(seaweed, {
        apiVersion: 'seaweed.seaweedfs.com/v1',
        kind: 'Seaweed',
        metadata: ref,
        spec: { s3: { replicas: 2, extraArgs: ['-iam.readOnly=false'] } },
        status,
      })
    beforeEach(async () => {
      await world.bench.stop()
      begin(PLACE)
      world.account()
      world.bucket()
    })

    it('makes accounts wait for the operator, the Seaweed and its gateway', async () => {
      await world.bench.start()
      expect(await account()).to.deep.equal(['Failed', 'EngineMissing'])
      expect(await message(ObjectStorageAccount, 'media')).to.contain('Install the SeaweedFS operator')
      expect(await world.says(AccountBucket, 'media.one')).to.deep.equal(['Provisioning', 'WaitingForDependency'])
      install()
      await rest()
      expect(await account()).to.deep.equal(['Failed', 'EngineMissing'])
      expect(await message(ObjectStorageAccount, 'media')).to.contain('"seaweedfs/store"')
      make({})
      await rest()
      expect(await account()).to.deep.equal(['Provisioning', 'WaitingForDependency'])
      const ready = { status: { s3: { replicas: 2, readyReplicas: 1 } } }
      await world.bench.client.mergePatch(seaweed, ref, ready, { subresource: 'status' })
      await rest()
      expect(await account()).to.deep.equal(['Running', 'Available'])
      expect(await world.says(AccountBucket, 'media.one')).to.deep.equal(['Running', 'Available'])
    })

    it('makes accounts Available if it is ready, and does not block their deletion if it is gone', async () => {
      install()
      make({ s3: { replicas: 2, readyReplicas: 2 } })
      await world.bench.start()
      expect(await account()).to.deep.equal(['Running', 'Available'])
      await world.bench.client.remove(seaweed, ref)
      await rest()
      expect(await account()).to.deep.equal(['Degraded', 'EngineMissing'])
      await world.remove(AccountBucket, 'media.one')
      await world.remove(ObjectStorageAccount, 'media')
      expect(await world.find(ObjectStorageAccount, 'media')).to.equal(undefined)
    })
  })
})
