import { readFileSync } from 'node:fs'
import { GetBucketVersioningCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { accessKeySecretName, SEAWEED_PORT } from '../../src/contracts/objectstorage.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { type Seaweed, seaweedObstacle } from '../../src/desired/objectstorage/seaweed.ts'
import { secret } from '../../src/kube/builtin.ts'
import { isKubeError, type KubeError } from '../../src/kube/errors.ts'
import { seaweed } from '../../src/kube/seaweedfs.ts'
import { type Account, type Bucket, objectStorageSuite } from '../suites/objectStorageSuite.ts'
import { call, expectCall, expectRemoved, itemsOf, makeGroup, uniqueName, until } from '../worlds/platform.ts'

describe('accounts and buckets of object storage', () => {
  const { world, running, makeAccount, makeBucket, issue, clientOf, put, get, code } = objectStorageSuite()

  it('deletes an account after its buckets, and a bucket if it is empty or with force=true', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    await makeBucket(account, 'two')
    const key = await issue(account)
    const client = clientOf(key)
    await put(client, storeName, 'a')
    expect(await code('DELETE', account.path)).to.deep.equal([409, 'IN_USE'])
    expect(await code('DELETE', `${account.path}/buckets/one`)).to.deep.equal([409, 'BUCKET_NOT_EMPTY'])
    await expectRemoved(`${account.path}/buckets/two`)
    expect([202, 204]).to.include((await call('DELETE', `${account.path}/buckets/one?force=true`)).status)
    await until('it is deleted', async () => (await call('GET', `${account.path}/buckets/one`)).status === 404)
    await expectRemoved(account.path)
    await until('the account is deleted', async () => (await call('GET', account.path)).status === 404)
    expect(await put(client, storeName, 'a'), 'a key of the deleted account').to.equal(403)
    const again = await makeAccount({}, account.name)
    await makeBucket(again, 'one')
    expect(await get(client, storeName, 'a'), 'the same key for a new account of the same name').to.equal(403)
    await expectCall(200, 'PATCH', again.path, { deletionProtection: true })
    expect(await code('DELETE', again.path)).to.deep.equal([409, 'DELETION_PROTECTED'])
    const ref = { namespace: world.namespace, name: account.name }
    const refusal = await world.admin.remove(ObjectStorageAccount.resource, ref).catch((error: unknown) => error)
    expect(isKubeError(refusal, 'Forbidden'), 'by kubectl the same').to.equal(true)
  })

  it('returns 409 OBJECTS_LOCKED for a bucket with locked objects', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'vault', { objectLock: true, lockDays: 1 })
    const client = clientOf(await issue(account, { permission: 'Admin' }))
    expect(await put(client, storeName, 'a')).to.equal(200)
    for (const query of ['', '?force=true']) {
      expect(await code('DELETE', `${account.path}/buckets/vault${query}`)).to.deep.equal([409, 'OBJECTS_LOCKED'])
    }
  })

  it('refuses to delete the group of a bucket with object lock until it is empty, by REST and by kubectl', async () => {
    const group = (await makeGroup(world.boundaryId)).name
    const base = `/boundaries/${world.boundaryId}/resourcegroups/${group}`
    const path = `${base}/resources/objectstorageaccounts/${uniqueName('acc')}`
    await expectCall(201, 'POST', path, {})
    await running<Account>(path)
    // Without default days, an object is locked only if its writer says so, so this one can be deleted.
    const { storeName } = await makeBucket({ path }, 'vault', { objectLock: true })
    const client = clientOf(await issue({ path }, { permission: 'Admin' }))
    const ref = { namespace: boundaryNamespace(world.boundaryId), name: group }
    /** A change of a bucket has it measured at once. */
    const heldBy = async (note: string, count: number) => {
      await expectCall(200, 'PATCH', `${path}/buckets/vault`, { tags: { note } })
      return until(`${count} hold the group`, async () => {
        const { status } = (await world.admin.get(ResourceGroup.resource, ref)) as ResourceGroup
        return status?.heldBy?.length === count && status.heldBy
      })
    }
    await heldBy('empty', 0)
    expect(await put(client, storeName, 'a')).to.equal(200)
    const [holder = ''] = await heldBy('full', 1)
    expect(holder).to.match(/^accountbuckets\//)
    const rest = await call('DELETE', base)
    expect(rest.status).to.equal(409)
    expect(rest.body).to.deep.include({ code: 'DELETION_PROTECTED', resources: [holder] })
    const refusal = await world.admin.remove(ResourceGroup.resource, ref).catch((error: unknown) => error)
    expect(isKubeError(refusal, 'Forbidden')).to.equal(true)
    expect((refusal as KubeError).denial?.message).to.contain(holder)
    expect([202, 204]).to.include((await call('DELETE', `${path}/buckets/vault?force=true`)).status)
    await until('the group goes', async () => (await call('DELETE', base)).status !== 409)
    await until('it is deleted', async () => (await call('GET', base)).status === 404)
  })

  it('lists requests in the audit, except those of the platform, and returns 409 while it is disabled', async () => {
    const account = await makeAccount()
    const { storeName } = await makeBucket(account, 'one')
    const key = await issue(account)
    const client = clientOf(key)
    // The API server counts in seconds: requests in the second of the account's creation may be those of a namesake.
    const { body } = await expectCall<{ createdAt: string }>(200, 'GET', account.path)
    await until(
      'that second is over',
      async () => Date.now() >= Math.floor(Date.parse(body.createdAt) / 1000) * 1000 + 1000,
    )
    expect(await put(client, storeName, 'dir/a b')).to.equal(200)
    expect(await get(client, storeName, 'none')).to.equal(404)
    type Entry = { operation: string; bucket: string; key: string; statusCode: number; accessKeyId: string }
    const path = `${account.path}/audit?filter=accessKeyId:eq:${key.accessKeyId}`
    const entries = await until('both are in the audit', async () => {
      const found = await itemsOf<Entry>(path)
      return found.length >= 2 && found
    })
    const brief = entries.map((entry) => [entry.operation, entry.bucket, entry.key, entry.statusCode])
    expect(brief).to.deep.include(['PutObject', 'one', 'dir/a b', 200])
    expect(brief).to.deep.include(['GetObject', 'one', 'none', 404])
    expect(await itemsOf(`${path}&filter=operation:eq:PutObject`)).to.have.length(1)
    expect((await call('GET', `${account.path}/audit?filter=color:eq:x`)).status).to.equal(400)
    expect((await call('GET', `${account.path}/audit`, undefined, { token: world.reader.token })).status).to.equal(403)
    const all = await itemsOf<Entry>(`${account.path}/audit`)
    expect(new Set(all.map(({ accessKeyId }) => accessKeyId)), 'no requests of the platform').to.deep.equal(
      new Set([key.accessKeyId]),
    )
    await call('DELETE', `${account.path}/buckets/one?force=true`)
    await until('the bucket is deleted', async () => (await call('GET', `${account.path}/buckets/one`)).status === 404)
    const left = await itemsOf<Entry>(path)
    expect(left.map((entry) => [entry.operation, entry.bucket, entry.key, entry.statusCode])).to.deep.include.members(
      brief,
    )
    await expectCall(200, 'PATCH', account.path, { auditEnabled: false })
    expect(await code('GET', `${account.path}/audit`)).to.deep.equal([409, 'AUDIT_DISABLED'])
  })

  it('allows public buckets only while the account does', async () => {
    const account = await makeAccount()
    const wish = { name: 'site', publicRead: true }
    expect(await code('POST', `${account.path}/buckets`, wish)).to.deep.equal([422, 'PUBLIC_ACCESS_DISABLED'])
    await expectCall(200, 'PATCH', account.path, { enablePublicAccess: true })
    const { storeName, url } = await makeBucket(account, 'site', { publicRead: true })
    await put(clientOf(await issue(account)), storeName, 'index.html')
    await until('it is readable without credentials', async () => (await fetch(`${url}/index.html`)).status === 200)
    expect((await fetch(url)).status, 'but lists nothing').to.equal(403)
    await expectCall(200, 'PATCH', account.path, { enablePublicAccess: false })
    const denied = await until('the bucket is Degraded', async () => {
      const { body } = await call<Bucket>('GET', `${account.path}/buckets/site`)
      return body.status === 'Degraded' && body
    })
    expect(denied.statusMessage).to.contain('allows no public buckets')
    expect((await fetch(`${url}/index.html`)).status, 'and is closed').to.equal(403)
  })

  it('applies changed settings of a bucket at the store', async () => {
    const account = await makeAccount({ enablePublicAccess: true })
    const { storeName, url } = await makeBucket(account, 'site')
    const path = `${account.path}/buckets/site`
    const client = clientOf(await issue(account, { permission: 'Admin' }))
    await put(client, storeName, 'a')
    const versions = async () =>
      (await client.send(new ListObjectVersionsCommand({ Bucket: storeName }))).Versions?.map(({ Key }) => Key)
    expect((await fetch(`${url}/a`)).status).to.equal(403)
    const cors = { origins: ['https://a.example'], methods: ['GET'], headers: [], maxAgeSeconds: 60 }
    const wish = { publicRead: true, versioning: 'Enabled', corsRules: [cors], tags: { team: 'x' } }
    const { body, headers } = await expectCall<object>(200, 'PATCH', path, wish)
    expect(body).to.deep.include(wish)
    await until('it is readable without credentials', async () => (await fetch(`${url}/a`)).status === 200)
    await until('an object has two versions', async () => {
      await put(client, storeName, 'b')
      return ((await versions()) ?? []).filter((key) => key === 'b').length > 1
    })
    const asked = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
    const preflight = () => fetch(`${url}/a`, { method: 'OPTIONS', headers: asked })
    await until('browsers of that origin may', async () => (await preflight()).ok)
    const ifMatch = headers.get('etag') ?? ''
    await expectCall(200, 'PATCH', path, { publicRead: null, corsRules: null }, { headers: { 'if-match': ifMatch } })
    await until('it is closed', async () => (await fetch(`${url}/a`)).status === 403)
    expect(await code('PATCH', path, {}, { headers: { 'if-match': ifMatch } })).to.deep.equal([409, 'CONFLICT'])
    expect(await code('PATCH', path, { objectLock: true })).to.deep.equal([400, 'BAD_REQUEST'])
    expect(await code('PATCH', path, { quotaBytes: 2_000_000_000 })).to.deep.equal([422, 'FEATURE_UNSUPPORTED'])
    expect((await call('PATCH', path, {}, { token: world.reader.token })).status).to.equal(403)
    await expectCall(200, 'PATCH', path, { versioning: 'Off' })
    const shown = async () => (await expectCall<{ versioning: string }>(200, 'GET', path)).body.versioning
    await until('the record shows what the store has', async () => {
      const { Status } = await client.send(new GetBucketVersioningCommand({ Bucket: storeName }))
      return Status === 'Suspended' && (await shown()) === Status
    })
  })

  it('lists features that the store lacks, and refuses requests that need them', async () => {
    const path = `/boundaries/${world.boundaryId}/resources/objectstorageaccounts/runtime-info`
    type Info = { driver: string; features: Record<string, boolean>; endpoint: string }
    const { body } = await expectCall<Info>(200, 'GET', path, undefined, { token: world.reader.token })
    expect(body.driver).to.equal('versitygw')
    expect(body.features).to.deep.equal({
      ...{ versioning: true, objectLock: true, quota: false, lifecycle: false, sts: true, publicAccess: true },
    })
    const refusal = await call('POST', `${world.accounts}/${uniqueName('acc')}`, { quotaBytes: 2_000_000_000 })
    expect([refusal.status, refusal.body]).to.deep.include.members([422])
    expect(refusal.body).to.include({ code: 'FEATURE_UNSUPPORTED', feature: 'quota' })
    const account = await makeAccount()
    const rule = { id: 'old', expireDays: 1 }
    const other = await call('POST', `${account.path}/buckets`, { name: 'logs', lifecycleRules: [rule] })
    expect([other.status, other.body.code]).to.deep.equal([422, 'FEATURE_UNSUPPORTED'])
    expect((await call('GET', path, undefined, { token: null })).status).to.equal(401)
  })

  it('limits the number of buckets and keys', async () => {
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

  it('reads, replaces, patches and lists accounts in a group and across groups', async () => {
    const account = await makeAccount({ tags: { team: 'x' } })
    expect((await call('POST', account.path, { tags: { team: 'x' } })).status).to.equal(200)
    expect(await code('POST', account.path, { maxBuckets: 2 })).to.deep.equal([409, 'ALREADY_EXISTS'])
    const read = (await expectCall<Account>(200, 'GET', account.path)).body
    expect(read).to.deep.include({ name: account.name, bucketCount: 0, usedBytes: 0, tags: { team: 'x' } })
    expect((await expectCall<Account>(200, 'PUT', account.path, read)).body).to.deep.equal(read)
    const patched = await expectCall<{ maxBuckets: number }>(200, 'PATCH', account.path, { maxBuckets: 7 })
    expect(patched.body.maxBuckets).to.equal(7)
    const across = `/boundaries/${world.boundaryId}/resources/objectstorageaccounts`
    for (const list of [world.accounts, across]) {
      const rows = await itemsOf<Account>(`${list}?filter=tags.team:eq:x&sort=-usedBytes`, {
        token: world.reader.token,
      })
      expect(rows.map(({ name }) => name)).to.deep.equal([account.name])
    }
    const config = await expectCall<{ sorts: string[]; actions: string[] }>(200, 'GET', `${across}/config`)
    expect(config.body.sorts).to.include.members(['name', 'usedBytes', 'bucketCount'])
    const other = (await makeGroup(world.boundaryId)).name
    const elsewhere = `/boundaries/${world.boundaryId}/resourcegroups/${other}/resources/objectstorageaccounts/${account.name}`
    expect(await code('POST', elsewhere, {})).to.deep.equal([409, 'ALREADY_EXISTS'])
  })

  it('creates account, bucket and key for kubectl, and replaces a lost Secret', async () => {
    const { namespace } = world
    const name = uniqueName('kube')
    const make = (kind: { apiVersion: string; kind: string; resource: never }, object: string, spec: object) =>
      world.admin.create(kind.resource, {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: { name: object, namespace },
        spec,
      })
    await make(ObjectAccessKey as never, `${name}-key`, { accountName: name })
    await make(AccountBucket as never, `${name}-media`, { accountName: name, bucketName: 'media' })
    await make(ObjectStorageAccount as never, name, {})
    const path = `${world.accounts}/${name}`
    const { storeName } = await running<Bucket>(`${path}/buckets/media`)
    const read = () => world.admin.get(secret, { namespace, name: accessKeySecretName(`${name}-key`) })
    const pairOf = async () => {
      const { data = {} } = (await read()) as { data?: Record<string, string> }
      const decode = (field: string) => Buffer.from(data[field] ?? '', 'base64').toString()
      return { accessKeyId: decode('AWS_ACCESS_KEY_ID'), secretAccessKey: decode('AWS_SECRET_ACCESS_KEY') }
    }
    const first = await until('the Secret is there', async () => pairOf().catch(() => undefined))
    const open = (pair: typeof first) => clientOf(pair)
    const client = open(first)
    await until('it works', async () => (await put(client, storeName, 'a')) === 200)
    const lose = () => world.admin.remove(secret, { namespace, name: accessKeySecretName(`${name}-key`) })
    await lose()
    const second = await until('another one is there', async () => {
      const pair = await pairOf().catch(() => undefined)
      // A pass that read the pair just before it was lost restores it: then it is lost again.
      if (pair?.accessKeyId === first.accessKeyId) await lose()
      return pair?.accessKeyId !== first.accessKeyId && pair
    })
    expect(await put(client, storeName, 'a'), 'the lost key is refused').to.equal(403)
    const renewed = open(second)
    await until('the new one works', async () => (await put(renewed, storeName, 'b')) === 200)
    await world.admin.remove(AccountBucket.resource, { namespace, name: `${name}-media` })
    const held = await until('it waits to be emptied', async () => {
      const { body } = await call<Bucket>('GET', `${path}/buckets/media`)
      return body.status === 'Deleting' && body.statusMessage?.includes('not empty') && body
    })
    expect(held.name).to.equal('media')
    await world.admin.mergePatch(
      AccountBucket.resource,
      { namespace, name: `${name}-media` },
      { spec: { forceDelete: true } },
    )
    await until('it is deleted', async () => (await call('GET', `${path}/buckets/media`)).status === 404)
  })

  it('stalls objects of kubectl whose quota the store does not support', async () => {
    const { namespace } = world
    const name = uniqueName('quota')
    const make = (kind: typeof AccountBucket | typeof ObjectStorageAccount, object: string, spec: object) =>
      world.admin.create(kind.resource, {
        ...{ apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: object, namespace }, spec },
      })
    await make(ObjectStorageAccount, name, {})
    await make(ObjectStorageAccount, `${name}-x`, { quotaBytes: 2_000_000_000 })
    await make(AccountBucket, `${name}-b`, { accountName: name, bucketName: 'media', quotaBytes: 2_000_000_000 })
    type Stalled = { status?: { conditions?: { type: string; status: string; reason: string; message: string }[] } }
    for (const [kind, object] of [
      [ObjectStorageAccount, `${name}-x`],
      [AccountBucket, `${name}-b`],
    ] as const) {
      const stalled = await until(`${object} is Stalled`, async () => {
        const { status } = (await world.admin.get(kind.resource, { namespace, name: object })) as Stalled
        return status?.conditions?.find((one) => one.type === 'Stalled' && one.status === 'True')
      })
      expect(stalled.reason).to.equal('ConfigurationInvalid')
      expect(stalled.message).to.contain('quotaBytes needs "quota"')
    }
  })

  it('has an example of a Seaweed that its CRD accepts and that serves', async () => {
    const file = new URL('../../deploy/objectstorage/seaweedfs.yaml', import.meta.url)
    const objects = loadAll(readFileSync(file, 'utf8')) as (KubeObject & Seaweed)[]
    const example = objects.find(({ kind }) => kind === seaweed.kind)
    if (example === undefined) throw new Error('The example has no Seaweed.')
    const { namespace } = world
    // Unknown fields are refused, not dropped.
    const made = await world.admin.create<KubeObject & Seaweed>(seaweed, {
      ...example,
      metadata: { name: example.metadata.name, namespace },
    })
    const place = { namespace, name: example.metadata.name, port: SEAWEED_PORT }
    expect(seaweedObstacle(place, { ...made, status: { s3: { readyReplicas: 1 } } }, true)).to.equal(undefined)
    await world.admin.remove(seaweed, { namespace, name: example.metadata.name })
  })

  it('deletes accounts and keys with their group', async () => {
    const doomed = (await makeGroup(world.boundaryId)).name
    const base = `/boundaries/${world.boundaryId}/resourcegroups/${doomed}`
    const path = `${base}/resources/objectstorageaccounts/${uniqueName('acc')}`
    await expectCall(201, 'POST', path, {})
    await running<Account>(path)
    const { storeName } = await makeBucket({ path }, 'one')
    const client = clientOf(await issue({ path }))
    await put(client, storeName, 'a')
    await call('DELETE', base)
    await until('the group is deleted', async () => (await call('GET', base)).status === 404)
    expect(await put(client, storeName, 'a')).to.equal(403)
  })
})
