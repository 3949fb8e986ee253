import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { PlatformError } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import type { RecordOf } from '../records/records.ts'

const ACCOUNT = `/boundaries/${B}/resourcegroups/shop/resources/objectstorageaccounts/media`
const NAMESPACE = groupNamespace(B, 'shop')
const READY = { type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: '' }

describe('an access key whose secret cannot be read', () => {
  it('is taken back: nobody could ever use it', async () => {
    const read = async () => {
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The API server does not answer.')
    }
    const server = await startShop({}, { objectStorage: { store: new FakeObjectStore(), secrets: { read } } })
    try {
      server.put(ObjectStorageAccount, 'media', {}, NAMESPACE)
      server.caches.get<RecordOf<typeof ObjectAccessKey>>(ObjectAccessKey.resource).subscribe(({ object }) => {
        if (object === undefined || object.status !== undefined) return
        const ref = { namespace: NAMESPACE, name: object.metadata.name }
        queueMicrotask(() => {
          server.client.edit(ObjectAccessKey.resource, ref, ((each: { status?: object }) => {
            each.status = { conditions: [READY], accessKeyId: ref.name }
          }) as never)
        })
      })
      const { status } = await server.ask('post', `${ACCOUNT}/accesskeys`).send({})
      expect(status).to.equal(503)
      expect((await server.client.list(ObjectAccessKey.resource)).items).to.deep.equal([])
    } finally {
      await server.stop()
    }
  })
})
