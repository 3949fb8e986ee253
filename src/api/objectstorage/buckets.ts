import { z } from 'zod'
import { isStoreError } from '../../adapters/objectstorage/port.ts'
import { storeBucketName, storeNameOf, unsupportedBucketFields } from '../../contracts/objectstorage.ts'
import { PlatformError } from '../../core/errors.ts'
import { refOf } from '../../core/object.ts'
import { pluralize } from '../../core/pluralize.ts'
import {
  AccountBucket,
  completeCorsRule,
  completeLifecycleRule,
  ObjectStorageAccount,
  VERSIONING,
} from '../../crds/objectstorage.ts'
import type { Context } from '../http/context.ts'
import { action } from '../http/route.ts'
import { isEqual } from '../records/mergePatch.ts'
import { collection } from '../resources/collection/collection.ts'
import { inResource, type ResourceParent } from '../resources/collection/parents.ts'
import { findResource, locationOf } from '../resources/find.ts'
import { dateTime, enumeration, flag, number, text } from '../resources/paging.ts'
import { patchedBody } from '../resources/writes.ts'
import { mergePatchBody, withIgnoredReadFields } from '../resources/writtenBody.ts'
import {
  type AccountObject,
  BUCKET_STATES,
  BucketCreateDto,
  BucketDto,
  type BucketObject,
  bucketDto,
  bucketsOf,
  bucketVersioning,
  COLLECTION,
} from './record.ts'
import { requireStoreFeature, translateStoreErrors } from './store.ts'

/** The settings of a new bucket, and what of them can change later; the schema of the kind refuses other changes. */
type BucketBody = Omit<BucketCreateDto, 'name'>

/** Returns the spec fields in a body, without forceDelete and the names. */
function bucketSpec(body: BucketBody) {
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
const patchedBucketBody = { body: names, documentedBody }
const writable = new Set(Object.keys(body.shape))

const declaration = {
  body,
  shownNames: Object.keys(BucketDto.shape).filter((name) => !writable.has(name)),
  toBody: ({ spec }: { spec: object }) =>
    Object.fromEntries(Object.entries(spec).filter(([name]) => writable.has(name))),
}

type AccountParent = ResourceParent<typeof ObjectStorageAccount>

/**
 * Applies a merge patch (RFC 7396) to a bucket.
 * @throws PlatformError BAD_REQUEST for immutable fields (name, account, objectLock), PUBLIC_ACCESS_DISABLED,
 * FEATURE_UNSUPPORTED
 */
function patchedBucket(stored: BucketObject, context: Context, { owner: account }: AccountParent): object {
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
function requirePublicAccess({ spec, metadata }: AccountObject): void {
  if (spec.enablePublicAccess) return
  const message = `Account "${metadata.name}" allows no public buckets: set its enablePublicAccess first.`
  throw new PlatformError('PUBLIC_ACCESS_DISABLED', message, { field: 'publicRead' })
}

export function accountOf(context: Context, parameter: 'name' | 'accountName') {
  return findResource(ObjectStorageAccount, context, parameter)
}

/** @throws PlatformError QUOTA_EXCEEDED */
function refuseTooManyBuckets({ services }: Context, { metadata, spec }: AccountObject, name: string): void {
  const present = bucketsOf(services, metadata.namespace, metadata.name)
  const used = present.length
  if (used < spec.maxBuckets || present.some((bucket) => bucket.spec.bucketName === name)) return
  const message = `Account "${metadata.name}" has ${used} of ${pluralize(spec.maxBuckets, 'bucket')}.`
  const extras = { quota: 'maxBuckets', limit: spec.maxBuckets, used, requested: 1 }
  throw new PlatformError('QUOTA_EXCEEDED', message, extras)
}

/** @throws PlatformError BUCKET_NOT_EMPTY, OBJECTS_LOCKED */
async function refuseNonEmpty({ services, signal }: Context, object: BucketObject, force: boolean): Promise<void> {
  const { store } = services.objectStorage
  const { bucketName, objectLock } = object.spec
  // Do not list when everything will be deleted, because the store may be unable to list some of it.
  if (store === undefined || (force && !objectLock)) return
  const storeName = storeNameOf(object)
  await translateStoreErrors(async () => {
    if (await store.isEmpty(storeName, { signal }).catch((error: unknown) => refuseUnlisted(error, object))) return
    if (objectLock && (await store.holdsLocked(storeName, { signal }))) {
      const message = `Bucket "${bucketName}" holds objects that may not be deleted yet.`
      throw new PlatformError('OBJECTS_LOCKED', message)
    }
    if (force) return
    const message = `Bucket "${bucketName}" is not empty: delete its objects, or add force=true.`
    throw new PlatformError('BUCKET_NOT_EMPTY', message)
  })
}

/** @throws PlatformError BUCKET_NOT_EMPTY if force would delete it, otherwise the error itself */
function refuseUnlisted(error: unknown, { spec }: BucketObject): never {
  if (spec.objectLock || !isStoreError(error, 'Failed')) throw error
  const message = `The object store cannot list bucket "${spec.bucketName}": add force=true to delete it with what is in it.`
  throw new PlatformError('BUCKET_NOT_EMPTY', message, {}, { cause: error })
}

type Create = Context<string, unknown, BucketCreateDto>

/** @throws PlatformError PUBLIC_ACCESS_DISABLED, FEATURE_UNSUPPORTED, QUOTA_EXCEEDED */
function newBucket(context: Create, { owner: account }: AccountParent) {
  const { services, body } = context
  if (body.publicRead) requirePublicAccess(account)
  const spec = { accountName: account.metadata.name, bucketName: body.name, ...bucketSpec(body) }
  const features = services.objectStorage.store?.info.features
  if (features !== undefined) requireStoreFeature(unsupportedBucketFields(spec, features))
  refuseTooManyBuckets(context as Context, account, body.name)
  return spec
}

type Remove = Context<string, { force?: 'true' | 'false' | undefined }>

/** Refuses a bucket with objects unless the caller set force; locked objects are refused in any case. */
async function beforeRemoval(context: Remove, object: BucketObject): Promise<boolean> {
  const force = context.query?.force === 'true'
  if (object.status?.storeName === undefined) return false
  await refuseNonEmpty(context as Context, object, force)
  if (!force) return false
  const { caller, ifMatch, services } = context
  const change = ({ spec }: BucketObject) => ({ ...spec, forceDelete: true })
  await services.records.update(AccountBucket, refOf(object), { caller, ifMatch, change })
  return true
}

const buckets = collection(AccountBucket, {
  path: `{RG}/${COLLECTION}/{accountName}/buckets`,
  item: 'bucketName',
  noun: 'Bucket',
  parent: inResource(ObjectStorageAccount, 'accountName', 'account'),
  includes: ({ spec }, { owner }) => spec.accountName === owner.metadata.name,
  keyOf: ({ spec }) => spec.bucketName,
  may: {
    read: action('objectbuckets/read'),
    write: action('objectbuckets/write'),
    delete: action('objectbuckets/delete'),
  },
  dto: BucketDto,
  toDto: (object, { parent }) => bucketDto(object, parent.owner),
  columns: {
    name: text('Name', { isSearched: true }),
    versioning: enumeration('Versioning', VERSIONING, { isSorted: false }),
    publicRead: flag('Public'),
    status: enumeration('Status', BUCKET_STATES, { isSorted: false }),
    usedBytes: number('Used bytes', { isFiltered: false }),
    createdAt: dateTime('Created', { isFiltered: false }),
  },
  sort: 'name',
  name: 'name',
  isTagged: true,
  list: { summary: 'The buckets of an account' },
  get: { summary: 'Read one' },
  create: {
    summary: 'Create a bucket; the same body again answers 200',
    body: BucketCreateDto,
    lock: ({ namespace, owner }) => ({
      key: `buckets of ${namespace}/${owner.metadata.name}`,
      sees: [{ kind: AccountBucket, namespace }],
    }),
    toSpec: newBucket,
    nameOf: ({ services, body }, { namespace, owner: { metadata } }) => {
      const present = bucketsOf(services, namespace, metadata.name)
      const known = present.find(({ spec }) => spec.bucketName === body.name)
      // kubectl or an earlier release may have named the object differently.
      return known?.metadata.name ?? storeBucketName(metadata.name, body.name)
    },
  },
  patch: {
    summary: 'JSON Merge Patch (RFC 7396) of the settings of a bucket',
    ...patchedBucketBody,
    toSpec: patchedBucket,
  },
  remove: {
    summary: 'Delete an empty bucket; force=true deletes its objects too and may answer 202',
    query: z.strictObject({ force: z.enum(['true', 'false']).optional().describe('True deletes what is in it too') }),
    before: beforeRemoval,
    waits: true,
  },
})

export const bucketRoutes = buckets.routes()
