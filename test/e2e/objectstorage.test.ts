import { randomUUID } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { accessKeySecretName, decodeAccessKey } from '../../src/contracts/objectstorage.ts'
import type { SecretObject } from '../../src/core/secretData.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { ObjectAccessKey } from '../../src/crds/objectstorage.ts'
import { secret } from '../../src/kube/builtin.ts'
import { statusOf } from '../make/s3Client.ts'
import { promised, seenWorking } from '../make/until.ts'
import { type Issued, objectStorageSuite } from '../suites/objectStorageSuite.ts'
import { call, expectCall, expectRemoved, itemsOf, makeCaller, uniqueName, until } from '../worlds/platform.ts'

const FIVE_MEBIBYTES = 5 * 1024 * 1024

describe('object storage', () => {
  const { world, makeAccount, makeBucket, issue, clientOf, put, get, code, makeIdentity } = objectStorageSuite()

  it('issues keys for S3 clients: put, get, list and multipart uploads', async () => {
    const account = await makeAccount()
    const bucket = await makeBucket(account, 'photos')
    expect(bucket.storeName).to.equal(`${account.name}.photos`)
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

  it('refuses keys of one account on buckets of another, also if its name has the same beginning', async () => {
    const mine = await makeAccount()
    const other = await makeAccount({}, `${mine.name}-x`)
    const [own, foreign] = [await makeBucket(mine, 'one'), await makeBucket(other, 'one')]
    const key = clientOf(await issue(mine))
    expect(await put(key, own.storeName, 'a')).to.equal(200)
    for (const attempt of [put(key, foreign.storeName, 'a'), get(key, foreign.storeName, 'a')]) {
      expect(await attempt).to.equal(403)
    }
    // `<mine>-x` and `one` against `<mine>` and `x-one`: two names at the store.
    const alike = await makeBucket(mine, 'x-one')
    expect(alike.storeName).not.to.equal(foreign.storeName)
    await until('the key opens it', async () => (await put(key, alike.storeName, 'a')) === 200)
    expect(await put(key, foreign.storeName, 'a')).to.equal(403)
    expect(await put(clientOf(await issue(other)), foreign.storeName, 'a')).to.equal(200)
  })

  it('limits keys to their permission and buckets, and adds new buckets to keys of all', async () => {
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

  it('refuses a key of an identity within two seconds when inactive, and at once when deleted', async () => {
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
    await until('it is refused', async () => (await get(client, storeName, 'a')) === 403, promised(2_000))
    await expectCall(200, 'PATCH', path, { status: 'Active' })
    await until('it works', async () => (await get(client, storeName, 'a')) === 200)
    const rows = await itemsOf<{ id: string; ownerType: string; managedIdentityId: string }>(identity.path)
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({ id: key.id, ownerType: 'ManagedIdentity', managedIdentityId: identity.id })
    await expectRemoved(path)
    expect(await get(client, storeName, 'a')).to.equal(403)
    expect(await code('DELETE', path)).to.deep.equal([404, 'NOT_FOUND'])
    expect(await code('PATCH', path, { status: 'Active' })).to.deep.equal([404, 'NOT_FOUND'])
  })

  it('refuses a key of an account within two seconds when inactive, and at once when deleted', async () => {
    const [account, other] = [await makeAccount(), await makeAccount()]
    const { storeName } = await makeBucket(account, 'one')
    const key = await issue(account)
    const client = clientOf(key)
    expect(await put(client, storeName, 'a')).to.equal(200)
    const path = `${account.path}/accesskeys/${key.id}`
    await expectCall(200, 'PATCH', path, { status: 'Inactive' })
    await until('it is refused', async () => (await get(client, storeName, 'a')) === 403, promised(2_000))
    await expectCall(200, 'PATCH', path, { status: 'Active' })
    await until('it works', async () => (await get(client, storeName, 'a')) === 200)
    expect((await call('DELETE', `${other.path}/accesskeys/${key.id}`)).status, 'of another account').to.equal(404)
    expect((await call('DELETE', path, undefined, { token: world.reader.token })).status).to.equal(403)
    await expectRemoved(path)
    expect(await get(client, storeName, 'a')).to.equal(403)
    expect((await call('PATCH', path, { status: 'Active' })).status).to.equal(404)
  })

  it('deletes the keys of an identity with the identity', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    const identity = await makeIdentity()
    const key = (await expectCall<Issued>(201, 'POST', identity.path, { accountName: account.name })).body
    const { namespace } = world
    await world.admin.remove(ManagedIdentity.resource, { namespace, name: identity.id })
    const client = clientOf(key)
    await until('the key is refused', async () => (await put(client, storeName, 'a')) === 403)
    await until('the identity is deleted', async () => (await call('GET', identity.path)).status === 404)
  })

  it('opens sessions within a permission, a prefix, a duration and the rights of the caller', async () => {
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
    // Sessions are not listed among the keys of the account.
    expect(await itemsOf(`${account.path}/accesskeys`)).to.deep.equal([])
    expect(await code('POST', path, { prefix: 'in/' })).to.deep.equal([400, 'BAD_REQUEST'])
    expect(await code('POST', path, { bucket: 'none' })).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
    expect(await code('POST', path, { durationSeconds: 60 })).to.deep.equal([400, 'BAD_REQUEST'])
    expect(await code('POST', `${account.path}-none/sts/sessions`, {})).to.deep.equal([404, 'NOT_FOUND'])
    expect((await call('POST', path, {}, { token: world.reader.token })).status).to.equal(403)
  })

  it('ends a session at its time', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    const { namespace } = world
    const make = async (expiresAt: string) => {
      const name = uniqueName('short')
      await world.admin.create(ObjectAccessKey.resource, {
        apiVersion: ObjectAccessKey.apiVersion,
        kind: ObjectAccessKey.kind,
        metadata: { name, namespace },
        spec: { accountName: account.name, isSession: true, expiresAt },
      })
      return name
    }
    const storedPair = async (name: string) => {
      const found = await world.admin.get(secret, { namespace, name: accessKeySecretName(name) }).catch(() => undefined)
      return decodeAccessKey((found as SecretObject | undefined)?.data)
    }
    let client: ReturnType<typeof clientOf> | undefined
    const name = await seenWorking(make, async (made) => {
      const pair = await storedPair(made)
      client = pair && clientOf(pair)
      return client !== undefined && (await put(client, storeName, 'a')) === 200
    })
    await until('it is refused', async () => client !== undefined && (await put(client, storeName, 'a')) === 403)
    await until('its object is deleted', async () =>
      world.admin.get(ObjectAccessKey.resource, { namespace, name }).then(
        () => false,
        () => true,
      ),
    )
  })

  it('returns 400, 401, 403 and 404 on every route', async () => {
    const account = await makeAccount()
    await makeBucket(account, 'one')
    const identity = await makeIdentity()
    const none = `${world.accounts}/${uniqueName('none')}`
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
      ['PATCH', `${account.path}/buckets/none`, {}],
      ['POST', `${none}/buckets`, { name: 'abc' }],
      ['POST', `${none}/accesskeys`, {}],
      ['GET', identity.path.replace(identity.id, key)],
      ['POST', identity.path.replace(identity.id, key), { accountName: account.name }],
    ]
    for (const [method, path, body] of missing) {
      expect((await call(method, path, body))?.status, `${method} ${path}`).to.equal(404)
    }
    const bad: [Parameters<typeof call>[0], string, object][] = [
      ['POST', `${world.accounts}/ab`, {}],
      ['POST', `${world.accounts}/${uniqueName('acc')}`, { maxBuckets: 0 }],
      ['PUT', account.path, { color: 'blue' }],
      ['PATCH', account.path, { defaultVersioning: 'Suspended' }],
      ['POST', `${account.path}/buckets`, { name: 'No' }],
      ['PATCH', `${account.path}/buckets/one`, { name: 'two' }],
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
      ['GET', world.accounts],
      ['POST', account.path, {}],
      ['DELETE', `${identity.path}/${key}`],
      ['PATCH', `${identity.path}/${key}`, { status: 'Active' }],
      ['POST', `${account.path}/sts/sessions`, {}],
      ['GET', `/boundaries/${world.boundaryId}/resources/objectstorageaccounts`],
      ['GET', `/boundaries/${world.boundaryId}/resources/objectstorageaccounts/config`],
      ['GET', `/boundaries/${world.boundaryId}/resources/objectstorageaccounts/runtime-info`],
    ]
    for (const [method, path, body] of all) {
      expect((await call(method, path, body, { token: null })).status, `${method} ${path}`).to.equal(401)
      expect((await call(method, path, body, { token: stranger.token })).status, `${method} ${path}`).to.equal(403)
    }
  })
})
