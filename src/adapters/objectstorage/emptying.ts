import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { Options } from './calls.ts'
import { attempt } from './failures.ts'

/** Pages of 1,000 versions that one call deletes: a pass of a controller must end. */
const PAGES_PER_CALL = 10

/** Deletes versions, markers and unfinished uploads. */
export async function emptyBucket(
  s3: S3Client,
  name: string,
  options: Options,
): Promise<'Empty' | 'Emptying' | 'Locked'> {
  const what = `Bucket "${name}" could not be emptied`
  await abortUploads(s3, name, options)
  for (let pages = 0; pages < PAGES_PER_CALL; pages += 1) {
    const page = await attempt(what, () => s3.send(new ListObjectVersionsCommand({ Bucket: name }), options))
    const found = [...(page?.Versions ?? []), ...(page?.DeleteMarkers ?? [])]
    if (found.length === 0) return 'Empty'
    const Objects = found.map(({ Key, VersionId }) => ({
      Key,
      ...(VersionId === undefined ? {} : { VersionId }),
    }))
    const answer = await attempt(what, () =>
      s3.send(new DeleteObjectsCommand({ Bucket: name, Delete: { Objects, Quiet: true } }), options),
    )
    const refused = answer?.Errors ?? []
    if (refused.length === found.length) return 'Locked'
  }
  return 'Emptying'
}

async function abortUploads(s3: S3Client, name: string, options: Options): Promise<void> {
  const what = `Unfinished uploads to bucket "${name}" could not be ended`
  const page = await attempt(what, () => s3.send(new ListMultipartUploadsCommand({ Bucket: name }), options))
  for (const { Key, UploadId } of page?.Uploads ?? []) {
    const upload = { Bucket: name, Key, UploadId }
    await attempt(what, () => s3.send(new AbortMultipartUploadCommand(upload), options), ['NoSuchUpload'])
  }
}
