import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { groupNamespace } from '../../core/names.ts'
import { AccountBucket, ObjectStorageAccount } from '../../crds/objectstorage.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const USAGE = `/boundaries/${B}/resourcegroups/shop/resources/objectstorageaccounts/media/usage`

describe('GET /objectstorageaccounts/{name}/usage', () => {
  it('returns the last measured usage if the store takes too long to count', async () => {
    const store = new FakeObjectStore()
    // Pends until it is aborted: a bucket of a million objects is a thousand requests.
    store.use = ((_: string, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('ended')))
      })) as typeof store.use
    const server = await startShop({}, { objectStorage: { store, secrets: { read: async () => undefined } } })
    try {
      server.put(ObjectStorageAccount, 'media', {}, NAMESPACE)
      server.put(AccountBucket, 'media.one', { accountName: 'media', bucketName: 'one' }, NAMESPACE)
      server.client.edit(AccountBucket.resource, { namespace: NAMESPACE, name: 'media.one' }, ((each: {
        status?: object
      }) => {
        each.status = { storeName: 'media.one', usedBytes: 7, objectCount: 1 }
      }) as never)
      const answer = await server.ask('get', USAGE).set('cache-control', 'no-cache')
      expect(answer.status).to.equal(200)
      expect(answer.body.buckets).to.have.length(1)
      expect(answer.body.buckets[0]).to.include({ name: 'one', usedBytes: 7, objectCount: 1 })
    } finally {
      await server.stop()
    }
  })
})
