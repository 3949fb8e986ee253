import {
  type AccessKeyPair,
  accessKeySecretName,
  type BucketSettings,
  encodeAccessKey,
  type StoreFeatures,
  type StoreGrant,
  storeNameOf,
} from '../../contracts/objectstorage.ts'
import { MANAGED_BY, MANAGED_BY_LABEL, OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { ageOf, type KubeObject } from '../../core/object.ts'
import { compareTexts } from '../../core/textOrder.ts'
import {
  type AccountBucket,
  completeCorsRule,
  completeLifecycleRule,
  ObjectAccessKey,
  type ObjectStorageAccount,
} from '../../crds/objectstorage.ts'

/** Returns the bucket's settings for the store; the account supplies what the bucket does not set. */
export function bucketSettings(
  { spec }: Pick<AccountBucket, 'spec'>,
  account: Pick<ObjectStorageAccount, 'spec'>,
  { name, owner }: Pick<BucketSettings, 'name' | 'owner'>,
): BucketSettings {
  return {
    owner,
    name,
    versioning: spec.objectLock ? 'Enabled' : (spec.versioning ?? account.spec.defaultVersioning),
    objectLock: spec.objectLock,
    lockDays: spec.lockDays,
    quotaBytes: spec.quotaBytes,
    publicRead: spec.publicRead && account.spec.enablePublicAccess,
    lifecycleRules: spec.lifecycleRules.map(completeLifecycleRule),
    corsRules: spec.corsRules.map(completeCorsRule),
  }
}

/** Restricts the settings to what the store supports. Without the feature, a bucket is never public. */
export function restrictToFeatures(settings: BucketSettings, features: StoreFeatures): BucketSettings {
  return {
    ...settings,
    versioning: features.versioning ? settings.versioning : 'Off',
    objectLock: settings.objectLock && features.objectLock,
    quotaBytes: features.quota ? settings.quotaBytes : undefined,
    publicRead: settings.publicRead && features.publicAccess,
    lifecycleRules: features.lifecycle ? settings.lifecycleRules : [],
  }
}

/** Returns the grants of a key on the existing buckets of its account. */
export function keyGrants(
  { spec }: Pick<ObjectAccessKey, 'spec'>,
  buckets: readonly Pick<AccountBucket, 'spec' | 'status'>[],
): StoreGrant[] {
  const { accountName, permission, prefix } = spec
  return buckets
    .filter((bucket) => bucket.spec.accountName === accountName)
    .filter((bucket) => spec.buckets === undefined || spec.buckets.includes(bucket.spec.bucketName))
    .map((bucket) => ({
      bucket: storeNameOf(bucket),
      permission,
      ...(prefix === undefined ? {} : { prefix }),
    }))
    .sort((one, other) => compareTexts(one.bucket, other.bucket))
}

type DatedObject = { metadata: { name: string; creationTimestamp?: string } }

/** Whether the object is among the first `limit` by age: newer objects exceed a limit, older ones never do. */
export function isWithinLimit(object: DatedObject, all: readonly DatedObject[], limit: number): boolean {
  return all.filter((other) => ageOf(other) < ageOf(object)).length < limit
}

/** The Secret with both halves of a key. By its labels, only the watch of its own namespace sees it. */
export function accessKeySecret({ metadata }: Pick<ObjectAccessKey, 'metadata'>, pair: AccessKeyPair): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: accessKeySecretName(metadata.name),
      namespace: metadata.namespace ?? '',
      labels: {
        [MANAGED_BY_LABEL]: MANAGED_BY,
        [OWNER_KIND_LABEL]: ObjectAccessKey.kind,
        [OWNER_NAME_LABEL]: metadata.name,
      },
    },
    type: 'Opaque',
    data: encodeAccessKey(pair),
  }
}

const HISTORY_DAYS = 30
export type DailyUsage = { date: string; usedBytes: number }

/** Adds today's usage to the history; returns the same list if today is already in it. */
export function withDailyUsage(
  history: readonly DailyUsage[],
  today: string,
  usedBytes: number,
): readonly DailyUsage[] {
  if (history.at(-1)?.date === today) return history
  return [...history, { date: today, usedBytes }].slice(-HISTORY_DAYS)
}

export type RecordedBucket = { storeName: string; bucketName: string; since: string; until?: string | undefined }

const FORMER_BUCKETS_MAX = 200

/**
 * Updates the current and former buckets of an account, so that requests to an earlier bucket of the same name can be
 * told apart. Returns the same list if nothing changed.
 */
export function withRecordedBuckets(
  recorded: readonly RecordedBucket[],
  buckets: readonly Pick<AccountBucket, 'metadata' | 'spec' | 'status'>[],
  now: string,
): readonly RecordedBucket[] {
  const present = buckets.flatMap(({ metadata, spec, status }): RecordedBucket[] => {
    const { creationTimestamp: since = now } = metadata
    return status?.storeName === undefined ? [] : [{ storeName: status.storeName, bucketName: spec.bucketName, since }]
  })
  const isSame = (one: RecordedBucket, other: RecordedBucket) =>
    one.storeName === other.storeName && one.since === other.since
  const known = recorded.filter((each) => each.until !== undefined || present.some((other) => isSame(each, other)))
  const removed = recorded.filter((each) => !known.includes(each)).map((each) => ({ ...each, until: now }))
  const added = present.filter((each) => !recorded.some((other) => isSame(each, other) && other.until === undefined))
  if (removed.length === 0 && added.length === 0) return recorded
  const former = [...known.filter(({ until }) => until !== undefined), ...removed].slice(-FORMER_BUCKETS_MAX)
  return [...former, ...known.filter(({ until }) => until === undefined), ...added]
}
