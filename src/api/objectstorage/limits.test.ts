import { expect } from 'chai'
import { playAccessKeys } from '../../../test/worlds/accessKeysPlay.ts'
import { postedAtOnce } from '../../../test/worlds/atOnce.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { FakeObjectStore } from '../../adapters/objectstorage/fake.ts'
import { encodeAccessKey } from '../../contracts/objectstorage.ts'
import { groupNamespace } from '../../core/names.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'

const ACCOUNT = `/boundaries/${B}/resourcegroups/shop/resources/objectstorageaccounts/media`
const NAMESPACE = groupNamespace(B, 'shop')

describe('limits under concurrent requests to two facades', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let apps: unknown[]
  beforeEach(async () => {
    const secrets = { read: async () => encodeAccessKey({ accessKeyId: 'id', secretAccessKey: 'secret' }) }
    server = await startShop({}, { objectStorage: { store: new FakeObjectStore(), secrets } })
    server.put(ObjectStorageAccount, 'media', { maxBuckets: 2 }, NAMESPACE)
    apps = [server.app, await server.another()]
    playAccessKeys(server)
  })
  afterEach(() => server.stop())

  const atOnce = async (count: number, path: string, bodyOf: (index: number) => object) => {
    const posts = Array.from({ length: count }, (_, index) => ({ path: `${ACCOUNT}/${path}`, body: bodyOf(index) }))
    const answers = await postedAtOnce(server.client, apps, posts)
    return answers.map(({ status, body }) => (status === 201 ? '201' : `${status} ${body.code} ${body.quota}`)).sort()
  }

  it('creates at most maxBuckets buckets', async () => {
    const answers = await atOnce(5, 'buckets', (index) => ({ name: `bucket-${index}` }))
    expect(answers).to.deep.equal([...Array(2).fill('201'), ...Array(3).fill('422 QUOTA_EXCEEDED maxBuckets')])
    expect((await server.client.list(AccountBucket.resource)).items).to.have.length(2)
  })

  it('creates at most 4 keys of one owner', async () => {
    const answers = await atOnce(7, 'accesskeys', () => ({}))
    expect(answers).to.deep.equal([...Array(4).fill('201'), ...Array(3).fill('422 QUOTA_EXCEEDED accessKeys')])
    expect((await server.client.list(ObjectAccessKey.resource)).items).to.have.length(4)
  })

  it('creates at most 100 sessions of one account', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const session = { accountName: 'media', isSession: true, expiresAt }
    for (let index = 0; index < 98; index += 1) server.put(ObjectAccessKey, `s${index}`, session, NAMESPACE)
    const answers = await atOnce(5, 'sts/sessions', () => ({}))
    expect(answers).to.deep.equal([...Array(2).fill('201'), ...Array(3).fill('422 QUOTA_EXCEEDED sessions')])
  })
})
