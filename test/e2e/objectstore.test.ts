import { DRIVERS, openStore } from '../../src/adapters/objectstorage/client.ts'
import type { ObjectStore } from '../../src/adapters/objectstorage/port.ts'
import { type SeaweedFs, seaweedfsIsMissing, startSeaweedfs } from '../cluster/seaweedfs.ts'
import { objectStoreContract, type StoreClient } from '../make/objectStoreContract.ts'
import { clientOf } from '../make/s3Client.ts'
import { testPlatform } from '../make/tenant.ts'

const common = { publicEndpoint: undefined, regionName: 'us-east-1' }

describe('versitygw', () => {
  let store: ObjectStore | undefined
  const running = testPlatform().store
  before(function () {
    if (running === undefined) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    const { endpoint, usersEndpoint: iamEndpoint, accessKeyId, secretAccessKey, accessLog } = running
    const credentials = { accessKeyId, secretAccessKey }
    const own = { driver: DRIVERS.versitygw, version: '', endpoint, iamEndpoint, credentials, accessLog }
    store = openStore({ ...common, ...own })
  })
  after(() => store?.close())
  objectStoreContract(() => opened(store, running && clientOf(running.endpoint)), { audits: true })
})

describe('SeaweedFS, behind the gateway that its operator would run', function () {
  this.timeout(60_000)
  let store: ObjectStore | undefined
  let server: SeaweedFs | undefined
  let client: StoreClient | undefined
  before(async function () {
    const why = await seaweedfsIsMissing()
    if (why !== undefined) {
      console.log(`    skipped: ${why}`)
      this.skip()
    }
    server = await startSeaweedfs()
    const { endpoint, version, accessKeyId, secretAccessKey } = server
    const own = { driver: DRIVERS.seaweedfs, iamEndpoint: undefined, accessLog: undefined }
    store = openStore({ ...common, ...own, endpoint, version, credentials: { accessKeyId, secretAccessKey } })
    client = clientOf(endpoint)
  })
  after(async () => {
    await store?.close()
    await server?.stop()
  })
  objectStoreContract(() => opened(store, client), { audits: false })
})

function opened(store: ObjectStore | undefined, client: StoreClient | undefined) {
  if (store === undefined || client === undefined) throw new Error('The suite should have been skipped.')
  return { store, client }
}
