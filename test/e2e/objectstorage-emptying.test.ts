import { expect } from 'chai'
import { TEST_CONFIG } from '../config.ts'
import { SeededRandom } from '../make/random.ts'
import { clientOf } from '../make/s3Client.ts'
import { type Account, type Bucket, type Issued, objectStorageSuite } from '../suites/objectStorageSuite.ts'
import { call, expectCall, expectRemoved, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { testPlatform } from '../worlds/tenant.ts'

const LONG = 'k'.repeat(300)
const random = new SeededRandom(TEST_CONFIG.seed)

/** Keys that are neither UTF-8 nor contain slashes. */
function randomKey(): Buffer {
  return Buffer.from(Array.from({ length: 250 }, () => random.pick(BYTES)))
}
const BYTES = Array.from({ length: 0x7f }, (_, index) => 0x80 + index)

/** What a key with the permission `Write` can do to a bucket so that the store lists it wrongly, or not at all. */
const SPOILT: Readonly<Record<string, readonly (string | Buffer)[]>> = {
  bytes: [Buffer.concat([Buffer.of(0xff), Buffer.from('/x')])],
  long: [`p/q/${LONG}`],
  policy: ['meta/policy'],
  etag: ['meta/etag', 'y/meta/etag'],
  control: ['a\u0001b/c', '\u0001/\u0002'],
  random: Array.from({ length: 300 }, randomKey),
}

describe('buckets that S3 cannot empty', () => {
  const { world, running, makeAccount, makeBucket, issue, code } = objectStorageSuite()

  const write = async (pair: Issued, storeName: string, keys: readonly (string | Buffer)[]) => {
    const client = clientOf(testPlatform().store?.endpoint ?? '')
    // Some fail, and leave something behind.
    const attempt = (key: string | Buffer) =>
      until('the key opens the bucket', async () => {
        const status = await client(pair, 'write', storeName, key)
        return [200, 500].includes(status)
      })
    for (let at = 0; at < keys.length; at += 8) await Promise.all(keys.slice(at, at + 8).map(attempt))
  }
  const read = (pair: Issued, storeName: string) =>
    clientOf(testPlatform().store?.endpoint ?? '')(pair, 'read', storeName, 'theirs')

  it('are deleted with force, and no other buckets', async () => {
    const [account, other] = [await makeAccount(), await makeAccount()]
    const theirs = await makeBucket(other, 'theirs')
    const [key, otherKey] = [await issue(account, { permission: 'Write' }), await issue(other)]
    await write(otherKey, theirs.storeName, ['theirs'])
    for (const [name, keys] of Object.entries(SPOILT)) {
      const { storeName } = await makeBucket(account, name)
      await write(key, storeName, keys)
    }
    for (const name of Object.keys(SPOILT))
      expect((await call('DELETE', `${account.path}/buckets/${name}?force=true`)).status, name).to.be.oneOf([202, 204])
    for (const name of Object.keys(SPOILT))
      await until(`${name} is gone`, async () => (await call('GET', `${account.path}/buckets/${name}`)).status === 404)
    const { storeName } = await makeBucket(account, 'bytes')
    expect(storeName, 'a new bucket of the same name').to.be.a('string')
    await expectRemoved(`${account.path}/buckets/bytes`)
    expect(await read(otherKey, theirs.storeName)).to.equal(200)
  })

  it('are deleted with their group', async () => {
    const doomed = (await makeGroup(world.boundaryId)).name
    const base = `/boundaries/${world.boundaryId}/resourcegroups/${doomed}`
    const path = `${base}/resources/objectstorageaccounts/${uniqueName('acc')}`
    await expectCall(201, 'POST', path, {})
    await running<Account>(path)
    const { storeName } = await makeBucket({ path }, 'one')
    await write(await issue({ path }, { permission: 'Write' }), storeName, Object.values(SPOILT).flat())
    expect((await call('DELETE', base)).status).to.be.oneOf([202, 204])
    await until('the group is deleted', async () => (await call('GET', base)).status === 404)
  })

  it('are kept without force, and the refusal names it', async () => {
    const account = await makeAccount()
    const key = await issue(account, { permission: 'Write' })
    for (const name of ['long', 'bytes']) {
      const { storeName } = await makeBucket(account, name)
      await write(key, storeName, SPOILT[name] ?? [])
    }
    const bytes = `${account.path}/buckets/bytes`
    const refused = await call<{ code: string; error: string }>('DELETE', bytes)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'BUCKET_NOT_EMPTY'])
    expect(refused.body.error).to.contain('force=true')
    const long = `${account.path}/buckets/long`
    expect((await call('DELETE', long)).status, 'accepted, because its list is empty').to.equal(202)
    await until('the status names forceDelete', async () => {
      const { body } = await call<Bucket>('GET', long)
      return body.status === 'Deleting' && body.statusMessage?.includes('forceDelete')
    })
    for (const path of [bytes, long]) {
      expect((await code('DELETE', `${path}?force=true`))[0]).to.be.oneOf([202, 204])
      await until('it is deleted', async () => (await call('GET', path)).status === 404)
    }
  })
})
