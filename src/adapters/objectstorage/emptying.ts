import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { Clients, Options } from './calls.ts'
import { decodedKey } from './exactKeys.ts'
import { attempt } from './failures.ts'
import { isSpeakable } from './hiddenKeys.ts'

/** Pages of 1,000 versions that one call deletes: a pass of a controller must end. */
const PAGES_PER_CALL = 10

/** Deletes versions, markers and unfinished uploads; `Stuck` if the store deletes nothing of what it lists. */
export async function emptyBucket(
  { s3, hidden }: Clients,
  name: string,
  options: Options,
): Promise<'Empty' | 'Emptying' | 'Locked' | 'Stuck'> {
  const what = `Bucket "${name}" could not be emptied`
  await abortUploads(s3, name, options)
  let before: string | undefined
  for (let pages = 0; pages < PAGES_PER_CALL; pages += 1) {
    const input = { Bucket: name, EncodingType: 'url' } as const
    const page = await attempt(what, () => s3.send(new ListObjectVersionsCommand(input), options))
    const found = [...(page?.Versions ?? []), ...(page?.DeleteMarkers ?? [])].map(({ Key, VersionId }) => ({
      Key: keyOf(Key, page?.EncodingType),
      ...(VersionId === undefined ? {} : { VersionId }),
    }))
    if (found.length === 0) return 'Empty'
    const Objects = found.flatMap(({ Key, ...version }) => (isSpeakable(Key) ? { Key, ...version } : []))
    if (Objects.length === 0) {
      const state = await hidden.remove(name, options)
      if (state === 'Locked' || state === 'Stuck') return state
      if (state === 'Paused') return 'Emptying'
      continue
    }
    const listed = JSON.stringify(found)
    if (listed === before) return 'Stuck'
    before = listed
    const answer = await attempt(what, () =>
      s3.send(new DeleteObjectsCommand({ Bucket: name, Delete: { Objects, Quiet: true } }), options),
    )
    const refused = answer?.Errors ?? []
    if (refused.length === Objects.length) return 'Locked'
  }
  return 'Emptying'
}

/** Not every store encodes keys that it is asked to encode. */
const keyOf = (key: string | undefined, encoding: string | undefined) =>
  encoding === 'url' && key !== undefined ? decodedKey(key).toString() : key

async function abortUploads(s3: S3Client, name: string, options: Options): Promise<void> {
  const what = `Unfinished uploads to bucket "${name}" could not be ended`
  const input = { Bucket: name, EncodingType: 'url' } as const
  const page = await attempt(what, () => s3.send(new ListMultipartUploadsCommand(input), options))
  for (const { Key: told, UploadId } of page?.Uploads ?? []) {
    // One that the list cannot say goes with the bucket.
    const upload = { Bucket: name, Key: keyOf(told, page?.EncodingType), UploadId }
    await attempt(what, () => s3.send(new AbortMultipartUploadCommand(upload), options), ['NoSuchUpload'])
  }
}
