import {
  CreateBucketCommand,
  DeleteBucketCommand,
  GetBucketTaggingCommand,
  GetBucketVersioningCommand,
  GetObjectLockConfigurationCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandInput,
  type ListObjectVersionsCommandOutput,
  PutBucketTaggingCommand,
  PutBucketVersioningCommand,
  PutObjectLockConfigurationCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { BucketSettings } from '../../contracts/objectstorage.ts'
import { DAY_MS } from '../../core/clock.ts'
import { changePolicy } from './bucketPolicies.ts'
import { ensureCors, ensureLifecycle } from './bucketRules.ts'
import { type Clients, type Options, optionsOf } from './calls.ts'
import { emptyBucket } from './emptyBucket.ts'
import { attempt } from './failures.ts'
import { isXmlSafeKey } from './keys.ts'
import { withPublic } from './policies.ts'
import { type BucketUse, isStoreError, type ObjectStore, type Removal, type RemovalState, StoreError } from './port.ts'

/** Pages of 1,000 versions that computing a bucket's use reads at most. */
const USE_PAGES_MAX = 1_000

type BucketCalls = Pick<ObjectStore, 'ensureBucket' | 'removeBucket' | 'isEmpty' | 'holdsLocked' | 'use'>

export function bucketCalls(clients: Clients): BucketCalls {
  return {
    ensureBucket: (settings) => ensureBucket(clients, settings),
    removeBucket: (name, how) => removeBucket(clients, name, how),
    isEmpty: (name, call = {}) => isEmpty(clients, name, optionsOf(call)),
    holdsLocked: (name, call = {}) => holdsLocked(clients, name, optionsOf(call)),
    use: (name, call = {}) => useOf(clients, name, optionsOf(call)),
  }
}

async function ensureBucket(clients: Clients, settings: BucketSettings) {
  const { s3, driver } = clients
  const { name: Bucket, objectLock } = settings
  const what = `Bucket "${Bucket}" could not be created`
  const found = await attempt(what, () => s3.send(new HeadBucketCommand({ Bucket })), ['NotFound', 'NoSuchBucket'])
  if (found === undefined) {
    const input = objectLock ? { Bucket, ObjectLockEnabledForBucket: true } : { Bucket }
    await attempt(what, () => s3.send(new CreateBucketCommand(input)), ['BucketAlreadyOwnedByYou'])
  }
  await ensureOwner(clients, settings)
  // Before the other settings, so that an error in one of them does not keep the bucket public.
  await changePolicy(s3, Bucket, (policy) => withPublic(policy, Bucket, settings.publicRead))
  const versioning = await ensureVersioning(clients, settings)
  if (objectLock && settings.lockDays !== undefined) await ensureLock(clients, settings)
  await ensureCors(s3, settings)
  if (driver.features.lifecycle) await ensureLifecycle(s3, settings)
  return { versioning }
}

/** Marks our buckets, to tell them from those that an administrator created. */
const OWNER_TAG = 'freehold-owner'

/** Returns undefined if the bucket has no owner tag. @throws StoreError NotFound */
async function ownerOf({ s3 }: Clients, name: string): Promise<string | undefined> {
  const what = `The owner of bucket "${name}" could not be read`
  const answer = await attempt(what, () => s3.send(new GetBucketTaggingCommand({ Bucket: name })), ['NoSuchTagSet'])
  return answer?.TagSet?.find(({ Key }) => Key === OWNER_TAG)?.Value
}

/** Adopts an empty bucket without owner: a process died after it created the bucket. */
async function ensureOwner(clients: Clients, { name, owner }: BucketSettings): Promise<void> {
  const found = await ownerOf(clients, name)
  if (found === owner) return
  if (found !== undefined || !(await isEmpty(clients, name))) {
    throw new StoreError('Taken', `Bucket "${name}" already exists at the store and belongs to somebody else.`)
  }
  const Tagging = { TagSet: [{ Key: OWNER_TAG, Value: owner }] }
  await attempt(`The owner of bucket "${name}" could not be set`, () =>
    clients.s3.send(new PutBucketTaggingCommand({ Bucket: name, Tagging })),
  )
}

/** Versioning that was ever enabled can only be suspended (S3, "How S3 Versioning works"). */
async function ensureVersioning({ s3 }: Clients, settings: BucketSettings): Promise<BucketSettings['versioning']> {
  const { name: Bucket, versioning, objectLock } = settings
  const what = `The versioning of bucket "${Bucket}" could not be set`
  const stored = (await attempt(what, () => s3.send(new GetBucketVersioningCommand({ Bucket }))))?.Status
  const wanted = objectLock || versioning === 'Enabled' ? 'Enabled' : 'Suspended'
  if (stored === undefined && versioning === 'Off' && !objectLock) return 'Off'
  if (stored === wanted) return wanted
  const VersioningConfiguration = { Status: wanted } as const
  await attempt(what, () => s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration })))
  return wanted
}

/** Governance mode, not compliance: keys that we issue cannot shorten a lock, but an administrator of the store can. */
async function ensureLock(clients: Clients, { name: Bucket, lockDays }: BucketSettings) {
  const retention = await lockOf(clients, Bucket)
  if (retention?.Days === lockDays && retention?.Mode === 'GOVERNANCE') return
  const what = `The lock of bucket "${Bucket}" could not be set`
  const DefaultRetention = { Mode: 'GOVERNANCE', Days: lockDays } as const
  const ObjectLockConfiguration = { ObjectLockEnabled: 'Enabled', Rule: { DefaultRetention } } as const
  await attempt(what, () => clients.s3.send(new PutObjectLockConfigurationCommand({ Bucket, ObjectLockConfiguration })))
}

async function removeBucket(clients: Clients, name: string, how: Removal): Promise<RemovalState> {
  const { empty, owner, objectLock } = how
  try {
    if (await removeFolders(clients, name, how)) return 'Gone'
    if ((await ownerOf(clients, name)) !== owner) return 'Gone'
    // Checked first, because SeaweedFS deletes a bucket with all its objects.
    if (!empty && !(await isEmpty(clients, name))) return 'NotEmpty'
    if ((!empty || !objectLock) && (await isDeleted(clients, name))) return 'Gone'
    if (!empty) return 'Unlisted'
    const left = await emptyBucket(clients.s3, name)
    if (left !== 'Empty') return left
    if (await isDeleted(clients, name)) return 'Gone'
    // Not stuck if somebody has just written to the bucket.
    return (await isEmpty(clients, name)) ? 'Stuck' : 'Emptying'
  } catch (error) {
    if (isStoreError(error, 'NotFound')) return 'Gone'
    if (!empty && isStoreError(error, 'Failed')) return 'Unlisted'
    throw error
  }
}

/** Deletes the bucket; false if the store says that it is not empty. @throws StoreError */
async function isDeleted({ s3 }: Clients, name: string): Promise<boolean> {
  const what = `Bucket "${name}" could not be deleted`
  const call = () => s3.send(new DeleteBucketCommand({ Bucket: name }))
  return (await attempt(what, call, ['BucketNotEmpty'])) !== undefined
}

/** Removes the bucket with its folders; false if that is not possible. The store enforces locks. @throws StoreError */
async function removeFolders(clients: Clients, name: string, how: Removal): Promise<boolean> {
  const { folders } = clients
  const { empty, owner, objectLock } = how
  if (folders === undefined) return false
  const mayRemove = empty && !objectLock
  if (!(await folders.isLeaving(name, owner))) {
    if (!mayRemove || !(await folders.has(name)) || (await ownerOf(clients, name)) !== owner) return false
  }
  await folders.remove(name, owner)
  return true
}

async function isEmpty({ s3 }: Clients, name: string, options: Options = {}): Promise<boolean> {
  const what = `Bucket "${name}" could not be listed`
  const input = { Bucket: name, MaxKeys: 1 }
  const page = await attempt(what, () => s3.send(new ListObjectVersionsCommand(input), options), ['NoSuchBucket'])
  return (page?.Versions ?? []).length === 0 && (page?.DeleteMarkers ?? []).length === 0
}

/** Versions to check: the bucket sets the lock of new objects, so either the first ones have one or none has. */
const LOCKS_CHECKED_MAX = 20

async function holdsLocked(clients: Clients, name: string, options: Options): Promise<boolean> {
  const { s3 } = clients
  const what = `The locks of bucket "${name}" could not be read`
  const input = { Bucket: name, MaxKeys: LOCKS_CHECKED_MAX }
  const page = await attempt(what, () => s3.send(new ListObjectVersionsCommand(input), options), ['NoSuchBucket'])
  const days = (await lockOf(clients, name, options))?.Days ?? 0
  for (const { Key, VersionId, LastModified } of page?.Versions ?? []) {
    // Some stores derive the lock from the bucket's setting on demand, and write nothing to the object.
    if (LastModified !== undefined && LastModified.getTime() + days * DAY_MS > Date.now()) return true
    // The key cannot be sent in a request; the store itself refuses to delete a locked object.
    if (!isXmlSafeKey(Key)) continue
    const version = { Bucket: name, Key, ...(VersionId === undefined || VersionId === 'null' ? {} : { VersionId }) }
    const head = await attempt(what, () => s3.send(new HeadObjectCommand(version), options), ['NotFound'])
    const until = head?.ObjectLockRetainUntilDate
    if (head?.ObjectLockLegalHoldStatus === 'ON' || (until !== undefined && until.getTime() > Date.now())) return true
  }
  return false
}

/** Returns the retention of new objects in the bucket. */
async function lockOf({ s3 }: Clients, name: string, options: Options = {}) {
  const what = `The lock of bucket "${name}" could not be read`
  const stored = await attempt(what, () => s3.send(new GetObjectLockConfigurationCommand({ Bucket: name }), options), [
    'ObjectLockConfigurationNotFoundError',
  ])
  return stored?.ObjectLockConfiguration?.Rule?.DefaultRetention
}

/** Page sizes to try: a page whose last key XML cannot carry has no usable marker for the next page. */
const PAGE_SIZES = Array.from({ length: 20 }, (_, index) => 999 - index * 47)

async function requestSafePage(s3: S3Client, input: ListObjectVersionsCommandInput, options: Options) {
  const ask = (MaxKeys: number) => s3.send(new ListObjectVersionsCommand({ ...input, MaxKeys }), options)
  const endsPlainly = ({ IsTruncated, NextKeyMarker }: ListObjectVersionsCommandOutput) =>
    IsTruncated !== true || isXmlSafeKey(NextKeyMarker)
  const whole = await ask(1_000)
  if (endsPlainly(whole)) return whole
  for (const size of PAGE_SIZES) {
    const page = await ask(size)
    if (endsPlainly(page)) return page
  }
  return whole
}

async function useOf({ s3 }: Clients, name: string, options: Options): Promise<BucketUse> {
  const what = `Bucket "${name}" could not be listed`
  const use = { objectCount: 0, usedBytes: 0 }
  let markers: { KeyMarker?: string; VersionIdMarker?: string } = {}
  for (let pages = 0; pages < USE_PAGES_MAX; pages += 1) {
    const page = await attempt(what, () => requestSafePage(s3, { Bucket: name, ...markers }, options))
    for (const { Size = 0, IsLatest } of page?.Versions ?? []) {
      use.usedBytes += Size
      if (IsLatest !== false) use.objectCount += 1
    }
    if (page?.IsTruncated !== true || page.NextKeyMarker === undefined) break
    // A key that XML cannot carry is reported as another key, which may send the store back to an earlier page.
    if (page.NextKeyMarker === markers.KeyMarker && page.NextVersionIdMarker === markers.VersionIdMarker) break
    markers = {
      KeyMarker: page.NextKeyMarker,
      ...(page.NextVersionIdMarker === undefined ? {} : { VersionIdMarker: page.NextVersionIdMarker }),
    }
  }
  return use
}
