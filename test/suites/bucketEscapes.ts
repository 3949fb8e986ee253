import { randomUUID } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { expect } from 'chai'
import type { ObjectStore } from '../../src/adapters/objectstorage/port.ts'
import { s3Client, statusOf } from '../make/s3Client.ts'
import { until } from '../make/until.ts'
import { nobodysUser, settings } from './objectStoreContract.ts'

/** As long as the store's ids of versions. */
const VERSIONS = ['./../../../../../../secret', '../../../../../../objects/', 'null/../../../../../secret']

/** Stores that keep buckets as folders may build paths from parts of a request other than its bucket. */
export function bucketEscapesSuite(open: () => { store: ObjectStore; endpoint: string }): void {
  describe('isolation of buckets against path traversal', () => {
    let clients: { mine: S3Client; theirs: S3Client }
    let mine: string
    let theirs: string

    beforeEach(async () => {
      const { store, endpoint } = open()
      const tail = randomUUID().slice(0, 8)
      ;[mine, theirs] = [`mine-${tail}`, `theirs-${tail}`]
      const openBucket = async (bucket: string, versioning: 'Off' | 'Enabled') => {
        await store.ensureBucket(settings(bucket, { versioning }))
        const grants = [{ bucket, permission: 'ReadWrite' as const }]
        const user = nobodysUser()
        const key = { user, isActive: true, grants, among: [bucket], known: undefined, keep: async () => undefined }
        const client = s3Client(endpoint, await store.ensureKey(key))
        const put = new PutObjectCommand({ Bucket: bucket, Key: 'kept', Body: bucket })
        await until('it writes', async () => (await statusOf(client.send(put))) === 200)
        return client
      }
      clients = { mine: await openBucket(mine, 'Enabled'), theirs: await openBucket(theirs, 'Off') }
    })
    afterEach(async () => {
      expect(await keysOf(clients.theirs, theirs)).to.deep.equal(['kept'])
      expect(await keysOf(clients.mine, mine)).to.include('kept')
      for (const client of Object.values(clients)) client.destroy()
    })

    const keysOf = async (client: S3Client, Bucket: string) =>
      (await client.send(new ListObjectsV2Command({ Bucket }))).Contents?.map(({ Key }) => Key)
    /** Any answer is fine unless it grants the request: some stores drop the connection. */
    const asked = async (command: unknown): Promise<number> =>
      statusOf(clients.mine.send(command as GetObjectCommand)).catch(() => 0)

    it('deletes no object of another bucket by keys of DeleteObjects', async () => {
      const keys = [
        `../${theirs}/kept`,
        `x/../../${theirs}/kept`,
        `/../${theirs}/kept`,
        `./../${theirs}/kept`,
        '..',
        '.',
      ]
      for (const Key of keys)
        await asked(
          new DeleteObjectsCommand({ Bucket: mine, Delete: { Objects: [{ Key }, { Key, VersionId: 'null' }] } }),
        )
    })

    it('grants no multipart request with a path as upload id', async () => {
      for (const UploadId of [`../../../../${theirs}`, '../../..', '..', '.', '../../../../', 'a/../..']) {
        const upload = { Bucket: mine, Key: 'up', UploadId }
        const part = { ...upload, PartNumber: 7 }
        const parts = { Parts: [{ PartNumber: 7, ETag: '"d41d8cd98f00b204e9800998ecf8427e"' }] }
        const answers = {
          part: await asked(new UploadPartCommand({ ...part, Body: 'planted' })),
          copy: await asked(new UploadPartCopyCommand({ ...part, CopySource: `${mine}/kept` })),
          list: await asked(new ListPartsCommand(upload)),
          complete: await asked(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: parts })),
        }
        for (const [what, status] of Object.entries(answers)) expect(status, `${what} of ${UploadId}`).not.to.equal(200)
        await asked(new AbortMultipartUploadCommand(upload))
      }
    })

    it('grants no request with a path as version id', async () => {
      for (const VersionId of VERSIONS) {
        const version = { Bucket: mine, Key: 'kept', VersionId }
        const CopySource = `${mine}/kept?versionId=${encodeURIComponent(VersionId)}`
        const answers = {
          read: await asked(new GetObjectCommand(version)),
          head: await asked(new HeadObjectCommand(version)),
          tags: await asked(new GetObjectTaggingCommand(version)),
          copy: await asked(new CopyObjectCommand({ Bucket: mine, Key: 'copied', CopySource })),
        }
        for (const [what, status] of Object.entries(answers))
          expect(status, `${what} of ${VersionId}`).not.to.equal(200)
        await asked(new DeleteObjectCommand(version))
      }
    })
  })
}
