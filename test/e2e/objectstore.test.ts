import { DRIVERS, openStore } from '../../src/adapters/objectstorage/client.ts'
import type { ObjectStore } from '../../src/adapters/objectstorage/port.ts'
import { objectStoreContract } from '../make/objectStoreContract.ts'
import { clientOf } from '../make/s3Client.ts'
import { testPlatform } from '../make/tenant.ts'

/** A store that somebody runs for these tests: `http://127.0.0.1:8333`, with S3 and IAM at one place. */
const SEAWEEDFS = process.env.FREEHOLD_TEST_SEAWEEDFS

function suite(title: string, endpoint: string | undefined, why: string, open: (endpoint: string) => ObjectStore) {
  describe(title, () => {
    let store: ObjectStore | undefined
    before(function () {
      if (endpoint === undefined) {
        console.log(`    skipped: ${why}`)
        this.skip()
      }
      store = open(endpoint)
    })
    after(() => store?.close())
    objectStoreContract(
      () => {
        if (store === undefined || endpoint === undefined) throw new Error('The suite should have been skipped.')
        return { store, client: clientOf(endpoint) }
      },
      { audits: title === 'versitygw' },
    )
  })
}

const running = testPlatform().store
const common = { version: '', publicEndpoint: undefined, regionName: 'us-east-1' }

suite(
  'versitygw',
  running?.endpoint,
  'no object store runs here, because no Go was found that builds it',
  (endpoint) => {
    const { usersEndpoint, accessKeyId = '', secretAccessKey = '', accessLog } = running ?? {}
    const credentials = { accessKeyId, secretAccessKey }
    const own = { driver: DRIVERS.versitygw, iamEndpoint: usersEndpoint, credentials, accessLog }
    return openStore({ ...common, ...own, endpoint })
  },
)

suite('seaweedfs', SEAWEEDFS, 'FREEHOLD_TEST_SEAWEEDFS names no running SeaweedFS', (endpoint) => {
  const [accessKeyId = '', secretAccessKey = ''] = (process.env.FREEHOLD_TEST_SEAWEEDFS_KEY ?? '').split(':')
  const credentials = { accessKeyId, secretAccessKey }
  const own = { driver: DRIVERS.seaweedfs, iamEndpoint: undefined, credentials, accessLog: undefined }
  return openStore({ ...common, ...own, endpoint })
})
