import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { GetBucketLifecycleConfigurationCommand } from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { bucketLogPath } from '../../src/adapters/objectstorage/accessLog.ts'
import { DRIVERS, openStore } from '../../src/adapters/objectstorage/client.ts'
import type { ObjectStore } from '../../src/adapters/objectstorage/port.ts'
import { type AccessKeyPair, accessKeySecretName, decodeAccessKey } from '../../src/contracts/objectstorage.ts'
import type { SecretObject } from '../../src/core/secretData.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { secret } from '../../src/kube/builtin.ts'
import { type SeaweedFs, seaweedfsIsMissing, startSeaweedfs } from '../cluster/seaweedfs.ts'
import { TEST_CONFIG } from '../config.ts'
import { hostileRequest, type SentRequest } from '../make/accessLog.ts'
import { SeededRandom } from '../make/random.ts'
import { clientOf, s3Client } from '../make/s3Client.ts'
import { promised, until } from '../make/until.ts'
import { bucketEscapesSuite } from '../suites/bucketEscapes.ts'
import { nobodysUser, objectStoreContract, type StoreClient, settings } from '../suites/objectStoreContract.ts'
import { StorageBench } from '../worlds/storageWorld.ts'
import { testPlatform } from '../worlds/tenant.ts'

const common = { publicEndpoint: undefined, regionName: 'us-east-1' }

describe('versitygw', () => {
  let store: ObjectStore | undefined
  const running = testPlatform().store
  before(function () {
    if (running === undefined) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    const { endpoint, usersEndpoint: iamEndpoint, accessKeyId, secretAccessKey, accessLog, folder } = running
    const credentials = { accessKeyId, secretAccessKey }
    const own = { driver: DRIVERS.versitygw, version: '', endpoint, iamEndpoint, credentials, accessLog, folder }
    store = openStore({ ...common, ...own })
  })
  after(() => store?.close())
  objectStoreContract(() => opened(store, running && clientOf(running.endpoint)), { audits: true })
  bucketEscapesSuite(() => ({
    store: opened(store, running && clientOf(running.endpoint)).store,
    endpoint: running?.endpoint ?? '',
  }))

  it('writes at most one audit entry for any request', async () => {
    const { store: administered } = opened(store, running && clientOf(running.endpoint))
    const { endpoint = '', accessLog = '' } = running ?? {}
    const random = new SeededRandom(TEST_CONFIG.seed)
    const bucket = `told-${randomUUID().slice(0, 8)}`
    await administered.ensureBucket(settings(bucket))
    /** By its id, what each request asked for. */
    const asked = new Map<string, string>()
    for (let times = 0; times < TEST_CONFIG.sized(150, 2_000); times += 1) {
      const isHonest = random.chance(0.3)
      const log = (await readFile(bucketLogPath(accessLog, bucket, 'refused'), 'utf8').catch(() => ''))
        .slice(-8_192)
        .split(/^/m)
      const wanted: SentRequest = isHonest ? { target: `/${bucket}/honest` } : hostileRequest(random, bucket, log)
      const id = await requestIdOf(endpoint, random.pick(['GET', 'PUT', 'DELETE']), wanted)
      if (id !== undefined) asked.set(id, decodeURIComponent(wanted.target.split('?', 1)[0] ?? ''))
    }
    expect(asked.size, 'most are answered').to.be.greaterThan(100)
    const last = await until('the last request is answered', () =>
      requestIdOf(endpoint, 'GET', { target: `/${bucket}/honest` }),
    )
    asked.set(last, `/${bucket}/honest`)
    const found = await until('the audit contains the last request', async () => {
      const records = await administered.audit(new Set([bucket]), 10_000)
      return records[0]?.requestId === last && records
    })
    for (const { requestId, key = '', statusCode, errorCode } of found) {
      const recorded = { path: `/${bucket}/${key}`, statusCode, errorCode }
      const path = asked.get(requestId)
      expect(path, `${requestId} was asked for`).not.to.equal(undefined)
      expect(path).to.be.oneOf([recorded.path, `/${bucket}`])
      expect([400, 403, 404, 405, 501], `refused: ${errorCode}`).to.include(statusCode)
    }
    const ids = found.map(({ requestId }) => requestId)
    expect(new Set(ids).size, 'each once').to.equal(ids.length)
    for (const [id, path] of asked) if (path === `/${bucket}/honest`) expect(ids).to.include(id)
  })
})

/** The store's description of a request; none if it does not accept it at all. */
async function requestIdOf(
  endpoint: string,
  method: string,
  { target, agent = 'sdk', referer = '-' }: SentRequest,
): Promise<string | undefined> {
  const { hostname, port } = new URL(endpoint)
  // Not with fetch, which takes dots out of paths.
  const sent = request({ hostname, port, method, path: target, headers: { 'user-agent': agent, referer } })
  sent.end()
  try {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    answer.resume()
    await once(answer, 'end')
    return answer.headers['x-amz-request-id']?.toString()
  } catch {
    return undefined
  }
}

describe('SeaweedFS, behind the gateway of its operator', () => {
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
  objectStoreContract(() => opened(store, client), { audits: false, keys: TEST_CONFIG.sized(24, 104) })
  bucketEscapesSuite(() => ({ store: opened(store, client).store, endpoint: server?.endpoint ?? '' }))

  it('stores, changes and removes lifecycle rules', async () => {
    const { store: administered } = opened(store, client)
    const { endpoint = '', accessKeyId = '', secretAccessKey = '' } = server ?? {}
    const administrator = s3Client(endpoint, { accessKeyId, secretAccessKey })
    const Bucket = `rules-${randomUUID().slice(0, 8)}`
    const stored = async () => {
      const answer = await administrator
        .send(new GetBucketLifecycleConfigurationCommand({ Bucket }))
        .catch((error: { name?: string }) => error.name)
      if (typeof answer !== 'object') return answer
      return answer.Rules?.map((rule) => [
        ...[rule.ID, rule.Filter?.Prefix ?? '', rule.Status, rule.Expiration?.Days],
        rule.NoncurrentVersionExpiration?.NoncurrentDays,
        rule.AbortIncompleteMultipartUpload?.DaysAfterInitiation,
      ])
    }
    const rules = [
      { id: 'old', prefix: '', expireDays: 30, enabled: true },
      { id: 'logs', prefix: 'logs/', expireDays: 3, noncurrentExpireDays: 2, abortUploadDays: 1, enabled: false },
    ]
    try {
      for (let times = 0; times < 2; times += 1)
        await administered.ensureBucket(settings(Bucket, { versioning: 'Enabled', lifecycleRules: rules }))
      expect(await stored()).to.deep.equal([
        ['old', '', 'Enabled', 30, undefined, undefined],
        ['logs', 'logs/', 'Disabled', 3, 2, 1],
      ])
      await administered.ensureBucket(settings(Bucket, { versioning: 'Enabled', lifecycleRules: rules.slice(0, 1) }))
      expect(await stored()).to.deep.equal([['old', '', 'Enabled', 30, undefined, undefined]])
      await administered.ensureBucket(settings(Bucket, { versioning: 'Enabled' }))
      expect(await stored()).to.equal('NoSuchLifecycleConfiguration')
    } finally {
      administrator.destroy()
    }
  })

  it('is filled and emptied by the controllers', async () => {
    const { store: administered, client: open } = opened(store, client)
    const world = new StorageBench({ store: administered })
    const name = `acc-${randomUUID().slice(0, 8)}`
    world.account(name, { enablePublicAccess: true })
    world.bucket('one', { publicRead: true, lifecycleRules: [{ id: 'old', expireDays: 3 }] }, name)
    world.key('uploader', { accountName: name })
    try {
      await world.bench.start()
      expect(await world.says(AccountBucket, `${name}.one`)).to.deep.equal(['Running', 'Available'])
      const ref = { namespace: world.space, name: accessKeySecretName('uploader') }
      const pair = decodeAccessKey((await world.bench.client.get<SecretObject>(secret, ref)).data)
      expect(await open(pair, 'write', `${name}.one`, 'a')).to.equal(200)
      expect(await open(undefined, 'read', `${name}.one`, 'a')).to.equal(200)
      await world.patch(ObjectAccessKey, 'uploader', { isActive: false })
      await until('it is refused', async () => (await open(pair, 'write', `${name}.one`, 'a')) === 403, promised(2_000))
      await world.patch(AccountBucket, `${name}.one`, { publicRead: false, lifecycleRules: [], forceDelete: true })
      await until(
        'it is closed',
        async () => (await open(undefined, 'read', `${name}.one`, 'a')) === 403,
        promised(2_000),
      )
      for (const [kind, object] of [
        [AccountBucket, `${name}.one`],
        [ObjectStorageAccount, name],
      ] as const) {
        await world.remove(kind, object)
        expect(await world.find(kind, object), object).to.equal(undefined)
      }
      expect(await world.find(ObjectAccessKey, 'uploader')).to.equal(undefined)
    } finally {
      await world.bench.stop()
    }
  })

  it('applies a created, inactive or removed key at every gateway within two seconds', async () => {
    const { store: administered } = opened(store, client)
    const other = clientOf(server?.otherEndpoint ?? '')
    const [bucket, user] = [`far-${randomUUID().slice(0, 8)}`, nobodysUser()]
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
      until(`it says ${status}`, async () => (await other(pair, 'write', bucket, 'a')) === status, promised(2_000))
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
