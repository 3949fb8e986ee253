import { unsupportedBucketFields } from '../../contracts/objectstorage.ts'
import { PlatformError } from '../../core/errors.ts'
import {
  AccountBucket,
  completeCorsRule,
  completeLifecycleRule,
  type ObjectStorageAccount,
} from '../../crds/objectstorage.ts'
import type { Context } from '../http/context.ts'
import { isEqual } from '../records/mergePatch.ts'
import type { ResourceParent } from '../resources/collection/parents.ts'
import { locationOf } from '../resources/find.ts'
import { patchedBody } from '../resources/writes.ts'
import { mergePatchBody, withIgnoredReadFields } from '../resources/writtenBody.ts'
import { type AccountObject, BucketCreateDto, BucketDto, type BucketObject, bucketVersioning } from './record.ts'
import { requireStoreFeature } from './store.ts'

/** The settings of a new bucket, and what of them can change later; the schema of the kind refuses other changes. */
export type BucketBody = Omit<BucketCreateDto, 'name'>

/** Returns the spec fields in a body, without forceDelete and the names. */
export function bucketSpec(body: BucketBody) {
  return {
    versioning: body.versioning ?? undefined,
    objectLock: body.objectLock,
    lockDays: body.lockDays ?? undefined,
    quotaBytes: body.quotaBytes ?? undefined,
    publicRead: body.publicRead,
    lifecycleRules: body.lifecycleRules.map((rule) => ({
      ...rule,
      expireDays: rule.expireDays ?? undefined,
      noncurrentExpireDays: rule.noncurrentExpireDays ?? undefined,
      abortUploadDays: rule.abortUploadDays ?? undefined,
    })),
    corsRules: body.corsRules,
    tags: body.tags,
  }
}

const body = BucketCreateDto.omit({ name: true })
const { body: names, documentedBody } = mergePatchBody(withIgnoredReadFields(body, BucketDto))
export const patchedBucketBody = { body: names, documentedBody }
const writable = new Set(Object.keys(body.shape))

const declaration = {
  body,
  shownNames: Object.keys(BucketDto.shape).filter((name) => !writable.has(name)),
  toBody: ({ spec }: { spec: object }) =>
    Object.fromEntries(Object.entries(spec).filter(([name]) => writable.has(name))),
}

export type AccountParent = ResourceParent<typeof ObjectStorageAccount>

/**
 * Applies a merge patch (RFC 7396) to a bucket.
 * @throws PlatformError BAD_REQUEST for immutable fields (name, account, objectLock), PUBLIC_ACCESS_DISABLED,
 * FEATURE_UNSUPPORTED
 */
export function patchedBucket(stored: BucketObject, context: Context, { owner: account }: AccountParent): object {
  const { bucketName, accountName } = stored.spec
  const location = { ...locationOf(context, 'accountName'), name: bucketName, accountName }
  const spec = bucketSpec(patchedBody(AccountBucket, context.body, location, stored, declaration) as BucketBody)
  // Sending back the account's default as read must not store it.
  if (spec.versioning === bucketVersioning(stored, account)) spec.versioning = stored.spec.versioning
  // The same holds for defaults of rules.
  const { lifecycleRules, corsRules } = stored.spec
  const kept = {
    ...(isAlike(spec.lifecycleRules, lifecycleRules, completeLifecycleRule) && { lifecycleRules }),
    ...(isAlike(spec.corsRules, corsRules, completeCorsRule) && { corsRules }),
  }
  if (spec.publicRead && !stored.spec.publicRead) requirePublicAccess(account)
  const features = context.services.objectStorage.store?.info.features
  if (features !== undefined) requireStoreFeature(unsupportedBucketFields(spec, features))
  return { ...stored.spec, ...spec, ...kept }
}

function isAlike<Rule>(one: readonly Rule[], other: readonly Rule[], complete: (rule: Rule) => object): boolean {
  return isEqual(one.map(complete), other.map(complete))
}

/** @throws PlatformError PUBLIC_ACCESS_DISABLED */
export function requirePublicAccess({ spec, metadata }: AccountObject): void {
  if (spec.enablePublicAccess) return
  const message = `Account "${metadata.name}" allows no public buckets: set its enablePublicAccess first.`
  throw new PlatformError('PUBLIC_ACCESS_DISABLED', message, { field: 'publicRead' })
}
