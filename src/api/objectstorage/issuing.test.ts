import { expect } from 'chai'
import { playAccessKeys } from '../../../test/worlds/accessKeysPlay.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { PlatformError } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'

const ACCOUNT = `/boundaries/${B}/resourcegroups/shop/resources/objectstorageaccounts/media`
const NAMESPACE = groupNamespace(B, 'shop')

describe('POST /accesskeys', () => {
  it('returns 503 and deletes the key if its secret cannot be read', async () => {
    const read = async () => {
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The API server does not answer.')
    }
    const server = await startShop({}, { objectStorage: { store: new FakeObjectStore(), secrets: { read } } })
    try {
      server.put(ObjectStorageAccount, 'media', {}, NAMESPACE)
      playAccessKeys(server)
      const { status } = await server.ask('post', `${ACCOUNT}/accesskeys`).send({})
      expect(status).to.equal(503)
      expect((await server.client.list(ObjectAccessKey.resource)).items).to.deep.equal([])
    } finally {
      await server.stop()
    }
  })
})
