import { randomUUID } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import { accessKeySecretName } from '../../src/core/objectstorage.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  type TestCaller,
  uniqueName,
  until,
} from '../make/platform.ts'
import { s3Client, statusOf } from '../make/s3Client.ts'
import { administrator, testPlatform } from '../make/tenant.ts'

type Account = { name: string; status: string; endpoint: string; bucketCount: number; usedBytes: number; tags: object }
type Bucket = { name: string; storeName: string; status: string; url: string; statusMessage: string | null }
type Issued = {
  id: string
  accessKeyId: string
  secretAccessKey: string
  endpoint: string
  status: string
  sessionToken?: string
}

const FIVE_MEBIBYTES = 5 * 1024 * 1024

describe('object storage', () => {
  let admin: KubeClient
  let boundaryId: string
  let group: string
  let resources: string
  let accounts: string
  let reader: TestCaller
  const clients: S3Client[] = []
  before(async function () {
    if (testPlatform().store === undefined) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    resources = `/boundaries/${boundaryId}/resourcegroups/${group}/resources`
    accounts = `${resources}/objectstorageaccounts`
    reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
  })
  after(async () => {
    for (const client of clients) client.destroy()
    await admin?.close()
  })

  const running = async <T extends { status: string }>(path: string) =>
    until(`${path} is running`, async () => {
      const { body } = await call<T>('GET', path)
      return body.status === 'Running' && body
    })
  const makeAccount = async (spec: object = {}, name = uniqueName('acc')) => {
    await expectCall(201, 'POST', `${accounts}/${name}`, spec)
    await running<Account>(`${accounts}/${name}`)
    return { name, path: `${accounts}/${name}` }
  }
  const makeBucket = async (account: { path: string }, name: string, spec: object = {}) => {
    await expectCall(201, 'POST', `${account.path}/buckets`, { name, ...spec })
    return running<Bucket>(`${account.path}/buckets/${name}`)
  }
  const issue = async (account: { path: string }, spec: object = {}) =>
    (await expectCall<Issued>(201, 'POST', `${account.path}/accesskeys`, spec)).body
  const clientOf = (key: Issued) => {
    const client = s3Client(key.endpoint, key)
    clients.push(client)
    return client
  }
  const put = (client: S3Client, Bucket: string, Key: string, Body = 'hello') =>
    statusOf(client.send(new PutObjectCommand({ Bucket, Key, Body })))
  const get = (client: S3Client, Bucket: string, Key: string) =>
    statusOf(client.send(new GetObjectCommand({ Bucket, Key })))
  const code = async (...given: Parameters<typeof call>) => {
    const { status, body } = await call(...given)
    return [status, body?.code]
  }
  const makeIdentity = async () => {
    const id = randomUUID()
    await admin.create(ManagedIdentity.resource, {
      apiVersion: ManagedIdentity.apiVersion,
      kind: ManagedIdentity.kind,
      metadata: { name: id, namespace: groupNamespace(boundaryId, group) },
      spec: { resourceName: uniqueName('shop'), resourceType: 'apps', resourceUid: randomUUID() },
    })
    const path = `/boundaries/${boundaryId}/resourcegroups/${group}/managedidentities/${id}/objectaccesskeys`
    await until('the identity is known', async () => (await call('GET', path)).status === 200)
    return { id, path }
  }

  it('gives keys with which an ordinary client puts, gets, lists and uploads in parts', async () => {
    const account = await makeAccount()
    const bucket = await makeBucket(account, 'photos')
    expect(bucket.storeName).to.equal(`${account.name}-photos`)
    const key = await issue(account)
    const client = clientOf(key)
    const Bucket = bucket.storeName
    expect(await put(client, Bucket, 'a/b c.txt')).to.equal(200)
    const read = await client.send(new GetObjectCommand({ Bucket, Key: 'a/b c.txt' }))
    expect(await read.Body?.transformToString()).to.equal('hello')
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'big' }))
    const Parts = []
    for (const [PartNumber, size] of [
      [1, FIVE_MEBIBYTES],
      [2, 10],
    ] as const) {
      const Body = Buffer.alloc(size, 'x')
      const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key: 'big', UploadId, PartNumber, Body }))
      Parts.push({ PartNumber, ETag })
    }
    const upload = { Bucket, Key: 'big', UploadId }
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }))
    const left = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'left' }))
    await client.send(new AbortMultipartUploadCommand({ Bucket, Key: 'left', UploadId: left.UploadId }))
    const listed = await client.send(new ListObjectsV2Command({ Bucket }))
    expect(listed.Contents?.map(({ Key, Size }) => [Key, Size])).to.deep.equal([
      ['a/b c.txt', 5],
      ['big', FIVE_MEBIBYTES + 10],
    ])
    expect(await statusOf(client.send(new DeleteObjectCommand({ Bucket, Key: 'big' })))).to.equal(200)
    const usage = await expectCall<{ usedBytes: number; objectCount: number; series: { points: object[] }[] }>(
      200,
      'GET',
      `${account.path}/usage`,
    )
    expect(usage.body).to.include({ usedBytes: 5, objectCount: 1 })
    expect(usage.body.series[0]?.points.length).to.be.greaterThan(0)
  })

  it("opens nobody else's buckets, not even of an account whose name begins the same", async () => {
    const mine = await makeAccount()
    const other = await makeAccount({}, `${mine.name}-x`)
    const [own, foreign] = [await makeBucket(mine, 'one'), await makeBucket(other, 'one')]
    const key = clientOf(await issue(mine))
    expect(await put(key, own.storeName, 'a')).to.equal(200)
    for (const attempt of [put(key, foreign.storeName, 'a'), get(key, foreign.storeName, 'a')]) {
      expect(await attempt).to.equal(403)
    }
    // `<mine>-x` and `one` against `<mine>` and `x-one`: one name at the store, and the first has it.
    expect(await code('POST', `${mine.path}/buckets`, { name: 'x-one' })).to.deep.equal([409, 'ALREADY_EXISTS'])
    expect(await put(key, foreign.storeName, 'a')).to.equal(403)
    expect(await put(clientOf(await issue(other)), foreign.storeName, 'a')).to.equal(200)
  })

  it('holds keys to their permission and their buckets, and adds later buckets to keys of all', async () => {
    const account = await makeAccount()
    const [one, two] = [await makeBucket(account, 'one'), await makeBucket(account, 'two')]
    const all = clientOf(await issue(account, { description: 'all' }))
    const reading = clientOf(await issue(account, { permission: 'Read' }))
    const only = clientOf(await issue(account, { buckets: ['two'] }))
    expect([await put(all, one.storeName, 'a'), await put(only, two.storeName, 'a')]).to.deep.equal([200, 200])
    expect([await get(reading, one.storeName, 'a'), await put(reading, one.storeName, 'b')]).to.deep.equal([200, 403])
    expect(await get(only, one.storeName, 'a')).to.equal(403)
    const three = await makeBucket(account, 'three')
    await until('a key of all opens the new one', async () => (await put(all, three.storeName, 'a')) === 200)
    expect(await put(only, three.storeName, 'a')).to.equal(403)
  })

  it('refuses a key within two seconds of its being set inactive, and at once when it is withdrawn', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    const identity = await makeIdentity()
    const body = { accountName: account.name, description: 'of the app' }
    const key = (await expectCall<Issued>(201, 'POST', identity.path, body)).body
    const client = clientOf(key)
    expect(await put(client, storeName, 'a')).to.equal(200)
    const path = `${identity.path}/${key.id}`
    const off = await expectCall<Issued>(200, 'PATCH', path, { status: 'Inactive' })
    expect(off.body.status).to.equal('Inactive')
    await until('it is refused', async () => (await get(client, storeName, 'a')) === 403, 2_000)
    await expectCall(200, 'PATCH', path, { status: 'Active' })
    await until('it works', async () => (await get(client, storeName, 'a')) === 200)
    const rows = await itemsOf<{ id: string; ownerType: string; managedIdentityId: string }>(identity.path)
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({ id: key.id, ownerType: 'ManagedIdentity', managedIdentityId: identity.id })
    expect((await call('DELETE', path)).status).to.equal(204)
    expect(await get(client, storeName, 'a')).to.equal(403)
    expect(await code('DELETE', path)).to.deep.equal([404, 'NOT_FOUND'])
    expect(await code('PATCH', path, { status: 'Active' })).to.deep.equal([404, 'NOT_FOUND'])
  })

  it('does the same with keys of the account', async () => {
    const [account, other] = [await makeAccount(), await makeAccount()]
    const { storeName } = await makeBucket(account, 'one')
    const key = await issue(account)
    const client = clientOf(key)
    expect(await put(client, storeName, 'a')).to.equal(200)
    const path = `${account.path}/accesskeys/${key.id}`
    await expectCall(200, 'PATCH', path, { status: 'Inactive' })
    await until('it is refused', async () => (await get(client, storeName, 'a')) === 403, 2_000)
    await expectCall(200, 'PATCH', path, { status: 'Active' })
    await until('it works', async () => (await get(client, storeName, 'a')) === 200)
    expect((await call('DELETE', `${other.path}/accesskeys/${key.id}`)).status, 'of another account').to.equal(404)
    expect((await call('DELETE', path, undefined, { token: reader.token })).status).to.equal(403)
    expect((await call('DELETE', path)).status).to.equal(204)
    expect(await get(client, storeName, 'a')).to.equal(403)
    expect((await call('PATCH', path, { status: 'Active' })).status).to.equal(404)
  })

  it('takes the keys of an identity away with the identity', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    const identity = await makeIdentity()
    const key = (await expectCall<Issued>(201, 'POST', identity.path, { accountName: account.name })).body
    const namespace = groupNamespace(boundaryId, group)
    await admin.remove(ManagedIdentity.resource, { namespace, name: identity.id })
    const client = clientOf(key)
    await until('the key is refused', async () => (await put(client, storeName, 'a')) === 403)
    await until('the identity is gone', async () => (await call('GET', identity.path)).status === 404)
  })

  it('opens sessions that are held to a permission, a prefix and a time, and to what the caller may do', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'drop')
    const path = `${account.path}/sts/sessions`
    const wish = { permission: 'ReadWrite', bucket: 'drop', prefix: 'in/', durationSeconds: 900 }
    const before = Date.now()
    const { body, headers } = await expectCall<Issued & { expiresAt: string }>(201, 'POST', path, wish)
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(Date.parse(body.expiresAt) - before).to.be.within(890_000, 960_000)
    const client = clientOf(body)
    expect([await put(client, storeName, 'in/a'), await put(client, storeName, 'out/a')]).to.deep.equal([200, 403])
    const list = (Prefix?: string) => statusOf(client.send(new ListObjectsV2Command({ Bucket: storeName, Prefix })))
    expect([await list('in/'), await list(), await list('out/')]).to.deep.equal([200, 403, 403])
    const reading = clientOf((await expectCall<Issued>(201, 'POST', path, {})).body)
    expect([await get(reading, storeName, 'in/a'), await put(reading, storeName, 'x')]).to.deep.equal([200, 403])
    // Nothing of it among the keys of the account.
    expect(await itemsOf(`${account.path}/accesskeys`)).to.deep.equal([])
    expect(await code('POST', path, { prefix: 'in/' })).to.deep.equal([400, 'BAD_REQUEST'])
    expect(await code('POST', path, { bucket: 'none' })).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
    expect(await code('POST', path, { durationSeconds: 60 })).to.deep.equal([400, 'BAD_REQUEST'])
    expect(await code('POST', `${account.path}-none/sts/sessions`, {})).to.deep.equal([404, 'NOT_FOUND'])
    expect((await call('POST', path, {}, { token: reader.token })).status).to.equal(403)
  })

  it('ends a session at its time', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    const namespace = groupNamespace(boundaryId, group)
    const name = uniqueName('short')
    const expiresAt = new Date(Date.now() + 4_000).toISOString()
    await admin.create(ObjectAccessKey.resource, {
      apiVersion: ObjectAccessKey.apiVersion,
      kind: ObjectAccessKey.kind,
      metadata: { name, namespace },
      spec: { accountName: account.name, isSession: true, expiresAt },
    })
    const data = await until('its Secret is there', async () => {
      type SecretObject = { data?: Record<string, string> }
      const found = await admin.get(secret, { namespace, name: accessKeySecretName(name) }).catch(() => undefined)
      return (found as SecretObject | undefined)?.data
    })
    const decode = (field: string) => Buffer.from(data[field] ?? '', 'base64').toString()
    const pair = { accessKeyId: decode('AWS_ACCESS_KEY_ID'), secretAccessKey: decode('AWS_SECRET_ACCESS_KEY') }
    const client = clientOf({ ...pair, id: '', status: '', endpoint: testPlatform().store?.endpoint ?? '' })
    await until('it works', async () => (await put(client, storeName, 'a')) === 200, 3_000)
    await until('it is refused', async () => (await put(client, storeName, 'a')) === 403, 8_000)
    await until('its object is gone', async () =>
      admin.get(ObjectAccessKey.resource, { namespace, name }).then(
        () => false,
        () => true,
      ),
    )
  })

  it('deletes in order: an account after its buckets, a bucket when it is empty or force=true', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    await makeBucket(account, 'two')
    const key = await issue(account)
    const client = clientOf(key)
    await put(client, storeName, 'a')
    expect(await code('DELETE', account.path)).to.deep.equal([409, 'IN_USE'])
    expect(await code('DELETE', `${account.path}/buckets/one`)).to.deep.equal([409, 'BUCKET_NOT_EMPTY'])
    expect((await call('DELETE', `${account.path}/buckets/two`)).status).to.equal(204)
    expect([202, 204]).to.include((await call('DELETE', `${account.path}/buckets/one?force=true`)).status)
    await until('it is gone', async () => (await call('GET', `${account.path}/buckets/one`)).status === 404)
    expect([202, 204]).to.include((await call('DELETE', account.path)).status)
    await until('the account is gone', async () => (await call('GET', account.path)).status === 404)
    expect(await put(client, storeName, 'a'), 'its keys went along').to.equal(403)
    const again = await makeAccount({}, account.name)
    await makeBucket(again, 'one')
    expect(await get(client, storeName, 'a'), 'and open nothing of a namesake').to.equal(403)
    await expectCall(200, 'PATCH', again.path, { deletionProtection: true })
    expect(await code('DELETE', again.path)).to.deep.equal([409, 'DELETION_PROTECTED'])
    const ref = { namespace: groupNamespace(boundaryId, group), name: account.name }
    const refusal = await admin.remove(ObjectStorageAccount.resource, ref).catch((error: unknown) => error)
    expect(isKubeError(refusal, 'Forbidden'), 'by kubectl the same').to.equal(true)
  })

  it('keeps what is locked', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'vault', { objectLock: true, lockDays: 1 })
    const client = clientOf(await issue(account, { permission: 'Admin' }))
    expect(await put(client, storeName, 'a')).to.equal(200)
    for (const query of ['', '?force=true']) {
      expect(await code('DELETE', `${account.path}/buckets/vault${query}`)).to.deep.equal([409, 'OBJECTS_LOCKED'])
    }
  })

  it('tells of requests, and of nothing where that is off', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    const key = await issue(account)
    const client = clientOf(key)
    await put(client, storeName, 'dir/a b')
    await get(client, storeName, 'none')
    type Entry = { operation: string; bucket: string; key: string; statusCode: number; accessKeyId: string }
    const path = `${account.path}/audit?filter=accessKeyId:eq:${key.accessKeyId}`
    const entries = await until('both are told of', async () => {
      const found = await itemsOf<Entry>(path)
      return found.length >= 2 && found
    })
    const brief = entries.map((entry) => [entry.operation, entry.bucket, entry.key, entry.statusCode])
    expect(brief).to.deep.include(['PutObject', 'one', 'dir/a b', 200])
    expect(brief).to.deep.include(['GetObject', 'one', 'none', 404])
    expect(await itemsOf(`${path}&filter=operation:eq:PutObject`)).to.have.length(1)
    expect((await call('GET', `${account.path}/audit?filter=color:eq:x`)).status).to.equal(400)
    expect((await call('GET', `${account.path}/audit`, undefined, { token: reader.token })).status).to.equal(403)
    await expectCall(200, 'PATCH', account.path, { auditEnabled: false })
    expect(await code('GET', `${account.path}/audit`)).to.deep.equal([409, 'AUDIT_DISABLED'])
  })

  it('makes public only what the account allows', async () => {
    const account = await makeAccount()
    const wish = { name: 'site', publicRead: true }
    expect(await code('POST', `${account.path}/buckets`, wish)).to.deep.equal([422, 'PUBLIC_ACCESS_DISABLED'])
    await expectCall(200, 'PATCH', account.path, { enablePublicAccess: true })
    const { storeName, url } = await makeBucket(account, 'site', { publicRead: true })
    await put(clientOf(await issue(account)), storeName, 'index.html')
    await until('everybody reads it', async () => (await fetch(`${url}/index.html`)).status === 200)
    expect((await fetch(url)).status, 'but lists nothing').to.equal(403)
    await expectCall(200, 'PATCH', account.path, { enablePublicAccess: false })
    const denied = await until('it stands still', async () => {
      const { body } = await call<Bucket>('GET', `${account.path}/buckets/site`)
      return body.status === 'Degraded' && body
    })
    expect(denied.statusMessage).to.contain('allows no public buckets')
    expect((await fetch(`${url}/index.html`)).status, 'and is closed').to.equal(403)
  })

  it('says what the store lacks, and refuses what needs it', async () => {
    const path = `/boundaries/${boundaryId}/resources/objectstorageaccounts/runtime-info`
    type Info = { driver: string; features: Record<string, boolean>; endpoint: string }
    const { body } = await expectCall<Info>(200, 'GET', path, undefined, { token: reader.token })
    expect(body.driver).to.equal('versitygw')
    expect(body.features).to.deep.equal({
      ...{ versioning: true, objectLock: true, quota: false, lifecycle: false, sts: true, publicAccess: true },
    })
    const refusal = await call('POST', `${accounts}/${uniqueName('acc')}`, { quotaBytes: 2_000_000_000 })
    expect([refusal.status, refusal.body]).to.deep.include.members([422])
    expect(refusal.body).to.include({ code: 'FEATURE_UNSUPPORTED', feature: 'quota' })
    const account = await makeAccount()
    const rule = { id: 'old', expireDays: 1 }
    const other = await call('POST', `${account.path}/buckets`, { name: 'logs', lifecycleRules: [rule] })
    expect([other.status, other.body.code]).to.deep.equal([422, 'FEATURE_UNSUPPORTED'])
    expect((await call('GET', path, undefined, { token: null })).status).to.equal(401)
  })

  it('holds the number of buckets and of keys', async () => {
    const account = await makeAccount({ maxBuckets: 1 })
    await makeBucket(account, 'one')
    expect(await code('POST', `${account.path}/buckets`, { name: 'two' })).to.deep.equal([422, 'QUOTA_EXCEEDED'])
    expect((await call('POST', `${account.path}/buckets`, { name: 'one' })).status).to.equal(200)
    expect(await code('POST', `${account.path}/buckets`, { name: 'one', objectLock: true })).to.deep.equal([
      409,
      'ALREADY_EXISTS',
    ])
    for (let keys = 0; keys < 4; keys += 1) await issue(account)
    expect(await code('POST', `${account.path}/accesskeys`, {})).to.deep.equal([422, 'QUOTA_EXCEEDED'])
  })

  it('reads, replaces, patches and lists accounts in a group and over all', async () => {
    const account = await makeAccount({ tags: { team: 'x' } })
    expect((await call('POST', account.path, { tags: { team: 'x' } })).status).to.equal(200)
    expect(await code('POST', account.path, { maxBuckets: 2 })).to.deep.equal([409, 'ALREADY_EXISTS'])
    const read = (await expectCall<Account>(200, 'GET', account.path)).body
    expect(read).to.deep.include({ name: account.name, bucketCount: 0, usedBytes: 0, tags: { team: 'x' } })
    expect((await expectCall<Account>(200, 'PUT', account.path, read)).body).to.deep.equal(read)
    const patched = await expectCall<{ maxBuckets: number }>(200, 'PATCH', account.path, { maxBuckets: 7 })
    expect(patched.body.maxBuckets).to.equal(7)
    const across = `/boundaries/${boundaryId}/resources/objectstorageaccounts`
    for (const list of [accounts, across]) {
      const rows = await itemsOf<Account>(`${list}?filter=tags.team:eq:x&sort=-usedBytes`, { token: reader.token })
      expect(rows.map(({ name }) => name)).to.deep.equal([account.name])
    }
    const config = await expectCall<{ sorts: string[]; actions: string[] }>(200, 'GET', `${across}/config`)
    expect(config.body.sorts).to.include.members(['name', 'usedBytes', 'bucketCount'])
    const other = (await makeGroup(boundaryId)).name
    const elsewhere = `/boundaries/${boundaryId}/resourcegroups/${other}/resources/objectstorageaccounts/${account.name}`
    expect(await code('POST', elsewhere, {})).to.deep.equal([409, 'ALREADY_EXISTS'])
  })

  it('answers 400, 401, 403 and 404 alike on every route', async () => {
    const account = await makeAccount()
    await makeBucket(account, 'one')
    const identity = await makeIdentity()
    const none = `${accounts}/${uniqueName('none')}`
    const key = randomUUID()
    const reads = [`${none}`, `${none}/buckets`, `${none}/accesskeys`, `${none}/audit`, `${none}/usage`]
    for (const path of [...reads, `${account.path}/buckets/none`]) {
      expect(await code('GET', path), path).to.deep.equal([404, 'NOT_FOUND'])
    }
    const missing: [Parameters<typeof call>[0], string, object?][] = [
      ['PUT', none, {}],
      ['PATCH', none, {}],
      ['DELETE', none],
      ['DELETE', `${account.path}/buckets/none`],
      ['POST', `${none}/buckets`, { name: 'abc' }],
      ['POST', `${none}/accesskeys`, {}],
      ['GET', identity.path.replace(identity.id, key)],
      ['POST', identity.path.replace(identity.id, key), { accountName: account.name }],
    ]
    for (const [method, path, body] of missing) {
      expect((await call(method, path, body))?.status, `${method} ${path}`).to.equal(404)
    }
    const bad: [Parameters<typeof call>[0], string, object][] = [
      ['POST', `${accounts}/ab`, {}],
      ['POST', `${accounts}/${uniqueName('acc')}`, { maxBuckets: 0 }],
      ['PUT', account.path, { color: 'blue' }],
      ['PATCH', account.path, { defaultVersioning: 'Suspended' }],
      ['POST', `${account.path}/buckets`, { name: 'No' }],
      ['POST', `${account.path}/buckets`, { name: 'abc', lockDays: 1 }],
      ['POST', `${account.path}/buckets`, { name: 'abc', objectLock: true, versioning: 'Suspended' }],
      ['POST', `${account.path}/accesskeys`, { permission: 'Everything' }],
      ['POST', `${account.path}/accesskeys`, { expiresAt: '2020-01-01T00:00:00Z' }],
      ['POST', `${account.path}/accesskeys`, { accountName: 'another' }],
      ['POST', identity.path, {}],
      ['PATCH', `${identity.path}/${key}`, { status: 'Expired' }],
    ]
    for (const [method, path, body] of bad) {
      expect((await call(method, path, body)).status, `${method} ${path} ${JSON.stringify(body)}`).to.equal(400)
    }
    const unknown = await code('POST', identity.path, { accountName: 'nothing' })
    expect(unknown).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
    const stranger = await makeCaller()
    const all: [Parameters<typeof call>[0], string, object?][] = [
      ...reads.map((path): [Parameters<typeof call>[0], string] => ['GET', path]),
      ...missing,
      ['GET', accounts],
      ['POST', account.path, {}],
      ['DELETE', `${identity.path}/${key}`],
      ['PATCH', `${identity.path}/${key}`, { status: 'Active' }],
      ['POST', `${account.path}/sts/sessions`, {}],
      ['GET', `/boundaries/${boundaryId}/resources/objectstorageaccounts`],
      ['GET', `/boundaries/${boundaryId}/resources/objectstorageaccounts/config`],
      ['GET', `/boundaries/${boundaryId}/resources/objectstorageaccounts/runtime-info`],
    ]
    for (const [method, path, body] of all) {
      expect((await call(method, path, body, { token: null })).status, `${method} ${path}`).to.equal(401)
      expect((await call(method, path, body, { token: stranger.token })).status, `${method} ${path}`).to.equal(403)
    }
  })

  it('does the same for kubectl, and heals a Secret that was lost', async () => {
    const namespace = groupNamespace(boundaryId, group)
    const name = uniqueName('kube')
    const make = (kind: { apiVersion: string; kind: string; resource: never }, object: string, spec: object) =>
      admin.create(kind.resource, {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: { name: object, namespace },
        spec,
      })
    await make(ObjectAccessKey as never, `${name}-key`, { accountName: name })
    await make(AccountBucket as never, `${name}-media`, { accountName: name, bucketName: 'media' })
    await make(ObjectStorageAccount as never, name, {})
    const path = `${accounts}/${name}`
    const { storeName } = await running<Bucket>(`${path}/buckets/media`)
    const read = () => admin.get(secret, { namespace, name: accessKeySecretName(`${name}-key`) })
    const pairOf = async () => {
      const { data = {} } = (await read()) as { data?: Record<string, string> }
      const decode = (field: string) => Buffer.from(data[field] ?? '', 'base64').toString()
      return { accessKeyId: decode('AWS_ACCESS_KEY_ID'), secretAccessKey: decode('AWS_SECRET_ACCESS_KEY') }
    }
    const first = await until('the Secret is there', async () => pairOf().catch(() => undefined))
    const endpoint = testPlatform().store?.endpoint ?? ''
    const open = (pair: typeof first) => clientOf({ ...pair, id: '', status: '', endpoint })
    const client = open(first)
    await until('it works', async () => (await put(client, storeName, 'a')) === 200)
    const lose = () => admin.remove(secret, { namespace, name: accessKeySecretName(`${name}-key`) })
    await lose()
    const second = await until('another one is there', async () => {
      const pair = await pairOf().catch(() => undefined)
      // A pass that had read the pair just before it was lost writes it back: then it is lost again.
      if (pair?.accessKeyId === first.accessKeyId) await lose()
      return pair?.accessKeyId !== first.accessKeyId && pair
    })
    expect(await put(client, storeName, 'a'), 'the lost one opens nothing').to.equal(403)
    const renewed = open(second)
    await until('the new one works', async () => (await put(renewed, storeName, 'b')) === 200)
    await admin.remove(AccountBucket.resource, { namespace, name: `${name}-media` })
    const held = await until('it waits to be emptied', async () => {
      const { body } = await call<Bucket>('GET', `${path}/buckets/media`)
      return body.status === 'Deleting' && body.statusMessage?.includes('not empty') && body
    })
    expect(held.name).to.equal('media')
    await admin.mergePatch(
      AccountBucket.resource,
      { namespace, name: `${name}-media` },
      { spec: { forceDelete: true } },
    )
    await until('it is gone', async () => (await call('GET', `${path}/buckets/media`)).status === 404)
  })

  it('goes with its group, whatever it holds', async () => {
    const doomed = (await makeGroup(boundaryId)).name
    const base = `/boundaries/${boundaryId}/resourcegroups/${doomed}`
    const path = `${base}/resources/objectstorageaccounts/${uniqueName('acc')}`
    await expectCall(201, 'POST', path, {})
    await running<Account>(path)
    const { storeName } = await makeBucket({ path }, 'one')
    const client = clientOf(await issue({ path }))
    await put(client, storeName, 'a')
    await call('DELETE', base)
    await until('the group is gone', async () => (await call('GET', base)).status === 404)
    expect(await put(client, storeName, 'a')).to.equal(403)
  })
})
