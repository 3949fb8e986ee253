import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { attempt } from './failures.ts'
import { decodeListedKey, isXmlSafeKey } from './keys.ts'

/** Pages of 1,000 versions that one call deletes, to bound a reconcile pass. */
const PAGES_PER_CALL = 10
/** Versions per page that are deleted one by one, because XML cannot carry their keys. */
const SINGLES_PER_PAGE = 20

type Version = { Key: string; VersionId?: string }

/** Deletes versions, delete markers and unfinished uploads. Returns `Stuck` if the store keeps deleted versions. */
export async function emptyBucket(s3: S3Client, name: string): Promise<'Empty' | 'Emptying' | 'Locked' | 'Stuck'> {
  await abortUploads(s3, name)
  const requested = new Set<string>()
  let keepsDeleted = false
  for (let pages = 0; pages < PAGES_PER_CALL; pages += 1) {
    const found = await versionsOf(s3, name)
    if (found.length === 0) return 'Empty'
    const left = found.filter((version) => !requested.has(JSON.stringify(version)))
    keepsDeleted = left.length < found.length
    const batch = left.filter(({ Key }) => isXmlSafeKey(Key))
    const singles = left.filter(({ Key }) => !isXmlSafeKey(Key)).slice(0, keepsDeleted ? 0 : SINGLES_PER_PAGE)
    if (batch.length + singles.length === 0) return 'Stuck'
    const refused = new Set([...(await removeBatch(s3, name, batch)), ...(await removeSingles(s3, name, singles))])
    const accepted = [...batch, ...singles].filter(({ Key }) => !refused.has(Key))
    if (accepted.length === 0) return 'Locked'
    for (const version of accepted) requested.add(JSON.stringify(version))
  }
  return keepsDeleted ? 'Stuck' : 'Emptying'
}

async function versionsOf(s3: S3Client, name: string): Promise<Version[]> {
  const input = { Bucket: name, EncodingType: 'url' } as const
  const page = await attempt(whatOf(name), () => s3.send(new ListObjectVersionsCommand(input)))
  return [...(page?.Versions ?? []), ...(page?.DeleteMarkers ?? [])].map(({ Key, VersionId }) => ({
    Key: decodeListedKey(Key, page?.EncodingType) ?? '',
    ...(VersionId === undefined ? {} : { VersionId }),
  }))
}

type Removing = (s3: S3Client, name: string, versions: Version[]) => Promise<readonly string[]>

/** Deletes in one request. Returns the refused keys. */
const removeBatch: Removing = async (s3, name, Objects) => {
  if (Objects.length === 0) return []
  const input = { Bucket: name, Delete: { Objects, Quiet: true } }
  const answer = await attempt(whatOf(name), () => s3.send(new DeleteObjectsCommand(input)))
  return (answer?.Errors ?? []).map(({ Key = '' }) => Key)
}

/** Deletes one by one. Returns the refused keys. */
const removeSingles: Removing = async (s3, name, versions) => {
  const refused: string[] = []
  for (const version of versions) {
    const call = () => s3.send(new DeleteObjectCommand({ Bucket: name, ...version }))
    // `attempt` returns undefined for a refusal.
    const answer = await attempt(whatOf(name), call, ['AccessDenied', 'InvalidRequest'])
    if (answer === undefined) refused.push(version.Key)
  }
  return refused
}

const whatOf = (name: string) => `Bucket "${name}" could not be emptied`

async function abortUploads(s3: S3Client, name: string): Promise<void> {
  const what = `Unfinished uploads to bucket "${name}" could not be ended`
  const input = { Bucket: name, EncodingType: 'url' } as const
  const page = await attempt(what, () => s3.send(new ListMultipartUploadsCommand(input)))
  for (const { Key: listedKey, UploadId } of page?.Uploads ?? []) {
    const Key = decodeListedKey(listedKey, page?.EncodingType)
    // A key that cannot be sent: the upload is deleted with the bucket.
    if (!isXmlSafeKey(Key)) continue
    const upload = { Bucket: name, Key, UploadId }
    await attempt(what, () => s3.send(new AbortMultipartUploadCommand(upload)), ['NoSuchUpload'])
  }
}
