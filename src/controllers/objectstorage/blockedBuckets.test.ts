import { expect } from 'chai'
import type { ControllerBench } from '../../../test/worlds/controllers.ts'
import { StorageBench, storageWords } from '../../../test/worlds/storageWorld.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { StoreError } from '../../adapters/objectstorage/port.ts'
import { AccountBucket } from '../../crds/objectstorage.ts'

describe('deletion of buckets that the store fails to list or empty', () => {
  let world: StorageBench
  let bench: ControllerBench
  let store: FakeObjectStore
  const { account, bucket, find, says, patch, remove } = storageWords(
    () => world,
    () => store,
  )
  const unlisted = () => new StoreError('Failed', 'Bucket "media.one" could not be listed: the store failed (500).')

  beforeEach(() => {
    store = new FakeObjectStore()
    world = new StorageBench({ store })
    bench = world.bench
  })
  afterEach(() => bench.stop())

  it('reports a bucket that cannot be emptied and retries after more than 20 seconds', async () => {
    account()
    bucket('one', { forceDelete: true })
    await bench.start()
    let asked = 0
    store.removeBucket = async () => {
      asked += 1
      return 'Stuck'
    }
    await remove(AccountBucket, 'media.one')
    const held = await find(AccountBucket, 'media.one')
    expect(held?.status?.phase).to.equal('DeletionBlocked')
    expect(held?.status?.statusMessage).to.contain('administrator')
    const before = asked
    await bench.clock.advance(20_000)
    await bench.rest()
    expect(asked).to.equal(before)
    await bench.clock.advance(20_000)
    await bench.rest()
    expect(asked).to.equal(before + 1)
  })

  it('reports the error of the store and backs off', async () => {
    account()
    bucket('one', { forceDelete: true })
    await bench.start()
    let asked = 0
    store.removeBucket = async () => {
      asked += 1
      throw unlisted()
    }
    await remove(AccountBucket, 'media.one')
    const held = await find(AccountBucket, 'media.one')
    expect(held?.status?.phase).to.equal('DeletionBlocked')
    expect(held?.status?.statusMessage).to.match(/could not be listed: the store failed \(500\)\. An administrator/)
    const inMinutes = async (minutes: number) => {
      const before = asked
      for (let passed = 0; passed < minutes * 60; passed += 10) {
        await bench.clock.advance(10_000)
        await bench.rest()
      }
      return asked - before
    }
    expect(await inMinutes(1)).to.be.within(1, 2)
    expect(await inMinutes(20)).to.be.lessThan(12)
    expect(await inMinutes(20)).to.be.within(3, 4)
  })

  it('recommends forceDelete for a bucket with unlisted content', async () => {
    account()
    bucket('one')
    await bench.start()
    store.removeBucket = async (_name, { empty }) => (empty ? 'Gone' : 'Unlisted')
    await remove(AccountBucket, 'media.one')
    const held = await find(AccountBucket, 'media.one')
    expect(held?.status?.phase).to.equal('DeletionBlocked')
    expect(held?.status?.statusMessage).to.contain('Set forceDelete')
    await patch(AccountBucket, 'media.one', { forceDelete: true })
    expect(await find(AccountBucket, 'media.one')).to.equal(undefined)
  })

  it('queries a failing bucket once a minute', async () => {
    account()
    bucket()
    store.use = async () => {
      store.calls.push('use')
      throw unlisted()
    }
    await bench.start()
    expect(await says(AccountBucket, 'media.one')).to.include('WaitingForDependency')
    const before = store.calls.length
    for (let times = 0; times < 12; times += 1) {
      await bench.clock.advance(5_000)
      await bench.rest()
    }
    expect(store.calls.slice(before)).to.deep.equal(['ensureBucket media.one', 'use'])
  })
})
