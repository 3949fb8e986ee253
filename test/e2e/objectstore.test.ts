import { randomUUID } from 'node:crypto'
import { DRIVERS, openStore } from '../../src/adapters/objectstorage/client.ts'
import type { ObjectStore } from '../../src/adapters/objectstorage/port.ts'
import type { AccessKeyPair } from '../../src/core/objectstorage.ts'
import { type SeaweedFs, seaweedfsIsMissing, startSeaweedfs } from '../cluster/seaweedfs.ts'
import { objectStoreContract, type StoreClient, settings } from '../make/objectStoreContract.ts'
import { clientOf } from '../make/s3Client.ts'
import { testPlatform } from '../make/tenant.ts'
import { until } from '../make/until.ts'

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

  it('every gateway hears within two seconds of a key that was made, set inactive and removed', async () => {
    const { store: administered } = opened(store, client)
    const other = clientOf(server?.otherEndpoint ?? '')
    const [bucket, user] = [`far-${randomUUID().slice(0, 8)}`, `key-${randomUUID()}`]
    await administered.ensureBucket(settings(bucket))
    let known: AccessKeyPair | undefined
    const issue = (isActive: boolean) =>
      administered.ensureKey({
        ...{ user, isActive, known, among: [bucket], grants: [{ bucket, permission: 'ReadWrite' }] },
        keep: async (made) => {
          known = made
        },
      })
    const pair = await issue(true)
    const isTold = (status: number) =>
      until(`it says ${status}`, async () => (await other(pair, 'write', bucket, 'a')) === status, 2_000)
    await isTold(200)
    await issue(false)
    await isTold(403)
    await issue(true)
    await isTold(200)
    await administered.removeKey(user, [bucket])
    await isTold(403)
  })
})

function opened(store: ObjectStore | undefined, client: StoreClient | undefined) {
  if (store === undefined || client === undefined) throw new Error('The suite should have been skipped.')
  return { store, client }
}
