import { randomUUID } from 'node:crypto'
import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { groupNamespace } from '../../src/core/names.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { s3Client, statusOf } from '../make/s3Client.ts'
import {
  call,
  expectCall,
  makeBoundary,
  makeCaller,
  makeGroup,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

export type Account = {
  name: string
  status: string
  endpoint: string
  bucketCount: number
  usedBytes: number
  tags: object
}
export type Bucket = { name: string; storeName: string; status: string; url: string; statusMessage: string | null }
export type Issued = {
  id: string
  accessKeyId: string
  secretAccessKey: string
  endpoint: string
  status: string
  sessionToken?: string
}

/** A separate group and shorthands for object storage, for the calling suite. */
export function objectStorageSuite() {
  const world = {} as {
    admin: KubeClient
    boundaryId: string
    group: string
    /** The namespace of the group. */
    namespace: string
    /** The path of the list of accounts. */
    accounts: string
    reader: TestCaller
  }
  const clients: S3Client[] = []

  before(async function () {
    if (testPlatform().store === undefined) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    const boundaryId = (await makeBoundary()).id
    const group = (await makeGroup(boundaryId)).name
    Object.assign(world, {
      admin: await administrator(),
      boundaryId,
      group,
      namespace: groupNamespace(boundaryId, group),
      accounts: `/boundaries/${boundaryId}/resourcegroups/${group}/resources/objectstorageaccounts`,
      reader: await makeCaller({ Reader: `/boundaries/${boundaryId}` }),
    })
  })
  after(async () => {
    for (const client of clients) client.destroy()
    await world.admin?.close()
  })

  const running = async <T extends { status: string }>(path: string) =>
    until(`${path} is running`, async () => {
      const { body } = await call<T>('GET', path)
      return body.status === 'Running' && body
    })
  return {
    world,
    running,
    async makeAccount(spec: object = {}, name = uniqueName('acc')) {
      const path = `${world.accounts}/${name}`
      await expectCall(201, 'POST', path, spec)
      await running<Account>(path)
      return { name, path }
    },
    async makeBucket(account: { path: string }, name: string, spec: object = {}) {
      await expectCall(201, 'POST', `${account.path}/buckets`, { name, ...spec })
      return running<Bucket>(`${account.path}/buckets/${name}`)
    },
    issue: async (account: { path: string }, spec: object = {}) =>
      (await expectCall<Issued>(201, 'POST', `${account.path}/accesskeys`, spec)).body,
    clientOf(key: Pick<Issued, 'accessKeyId' | 'secretAccessKey'> & { endpoint?: string }) {
      const client = s3Client(key.endpoint ?? testPlatform().store?.endpoint ?? '', key)
      clients.push(client)
      return client
    },
    put: (client: S3Client, Bucket: string, Key: string, Body = 'hello') =>
      statusOf(client.send(new PutObjectCommand({ Bucket, Key, Body }))),
    get: (client: S3Client, Bucket: string, Key: string) =>
      statusOf(client.send(new GetObjectCommand({ Bucket, Key }))),
    /** Status and code of an answer. */
    async code(...given: Parameters<typeof call>) {
      const { status, body } = await call(...given)
      return [status, body?.code]
    },
    async makeIdentity() {
      const id = randomUUID()
      await world.admin.create(ManagedIdentity.resource, {
        apiVersion: ManagedIdentity.apiVersion,
        kind: ManagedIdentity.kind,
        metadata: { name: id, namespace: world.namespace },
        spec: { resourceName: uniqueName('shop'), resourceType: 'apps', resourceUid: randomUUID() },
      })
      const { boundaryId, group } = world
      const path = `/boundaries/${boundaryId}/resourcegroups/${group}/managedidentities/${id}/objectaccesskeys`
      await until('the identity is known', async () => (await call('GET', path)).status === 200)
      return { id, path }
    },
  }
}
