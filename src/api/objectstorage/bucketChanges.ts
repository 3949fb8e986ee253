import { bucketLacks } from '../../contracts/objectstorage.ts'
import { PlatformError } from '../../core/errors.ts'
import { AccountBucket } from '../../crds/objectstorage.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { placeOf } from '../resources/places.ts'
import { patchedBody, refuseWhileDeleting } from '../resources/writes.ts'
import {
  type AccountObject,
  BucketCreateDto,
  BucketDto,
  type BucketObject,
  bucketDto,
  bucketVersioning,
} from './record.ts'
import { refuseLacking } from './store.ts'

/** What a bucket is made with, and what of it may be changed later; the schema of the kind refuses the rest. */
export type BucketBody = Omit<BucketCreateDto, 'name'>

/** The fields of a spec that a body has; forceDelete and the names are none of its business. */
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
const writable = new Set(Object.keys(body.shape))

const declaration = {
  body,
  shownNames: Object.keys(BucketDto.shape).filter((name) => !writable.has(name)),
  toBody: ({ spec }: { spec: object }) =>
    Object.fromEntries(Object.entries(spec).filter(([name]) => writable.has(name))),
}

/**
 * Lays a merge patch (RFC 7396) over a bucket.
 *
 * @throws PlatformError BAD_REQUEST for what is fixed at creation (name, account, objectLock), PUBLIC_ACCESS_DISABLED,
 *   FEATURE_UNSUPPORTED, INVALID_STATE, CONFLICT
 */
export async function patchBucket(context: Context, found: { object: BucketObject; account: AccountObject }) {
  const { services, caller, ifMatch } = context
  const { account } = found
  const { namespace, name } = found.object.metadata
  const { bucketName, accountName } = found.object.spec
  const place = { ...placeOf(context, 'accountName'), name: bucketName, accountName }
  const change = (stored: BucketObject) => {
    refuseWhileDeleting(stored)
    const next = patchedBody(context.body, place, stored, declaration) as BucketBody
    const spec = bucketSpec(next)
    // What the account says is not written down because somebody sends back what he read.
    if (spec.versioning === bucketVersioning(stored, account)) spec.versioning = stored.spec.versioning
    if (spec.publicRead && !stored.spec.publicRead) refuseClosed(account)
    const features = services.objectStorage.store?.info.features
    if (features !== undefined) refuseLacking(bucketLacks(spec, features))
    return { ...stored.spec, ...spec }
  }
  const { object } = await services.records.update(AccountBucket, { namespace, name }, { caller, ifMatch, change })
  return ok(bucketDto(object, account), { etag: etagOf(object) })
}

/** @throws PlatformError PUBLIC_ACCESS_DISABLED */
export function refuseClosed({ spec, metadata }: AccountObject): void {
  if (spec.enablePublicAccess) return
  const message = `Account "${metadata.name}" allows no public buckets: set its enablePublicAccess first.`
  throw new PlatformError('PUBLIC_ACCESS_DISABLED', message, { field: 'publicRead' })
}
