import { z } from 'zod'
import { bucketLacks, storeBucketName, storeNameOf } from '../../contracts/objectstorage.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { AccountBucket, ObjectStorageAccount, VERSIONING } from '../../crds/objectstorage.ts'
import { acceptedEmpty, created, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { pagedListOf } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { findResource } from '../resources/places.ts'
import { untilChanged } from '../resources/untilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { bucketSpec, patchBucket, refuseClosed } from './bucketChanges.ts'
import {
  type AccountObject,
  BUCKET_STATES,
  BucketCreateDto,
  BucketDto,
  type BucketObject,
  bucketDto,
  bucketState,
  bucketsOf,
  bucketVersioning,
  COLLECTION,
} from './record.ts'
import { asking, refuseLacking } from './store.ts'

const BASE = '{RG}/objectstorageaccounts/{accountName}/buckets'

type Row = { object: BucketObject; account: AccountObject }

const shape: ListShape<Row> = {
  fields: {
    name: { title: 'Name', type: 'text', of: ({ object }) => object.spec.bucketName, isSearched: true },
    versioning: {
      title: 'Versioning',
      type: 'enumeration',
      values: VERSIONING,
      of: ({ object, account }) => bucketVersioning(object, account),
      isSorted: false,
    },
    publicRead: { title: 'Public', type: 'boolean', of: ({ object }) => object.spec.publicRead, isSorted: false },
    status: {
      title: 'Status',
      type: 'enumeration',
      values: BUCKET_STATES,
      of: ({ object }) => bucketState(object).status,
      isSorted: false,
    },
    usedBytes: { title: 'Used bytes', type: 'number', of: ({ object }) => object.status?.usedBytes, isFiltered: false },
    createdAt: {
      title: 'Created',
      type: 'dateTime',
      of: ({ object }) => object.metadata.creationTimestamp,
      isFiltered: false,
    },
  },
  defaultSort: 'name',
  nameOf: ({ object }) => object.spec.bucketName,
  idOf: ({ object }) => object.metadata.name,
  tagsOf: ({ object }) => object.spec.tags,
}

export function accountOf(context: Context, parameter: 'name' | 'accountName') {
  return findResource(ObjectStorageAccount, context, parameter, { segment: COLLECTION })
}

/** @throws PlatformError NOT_FOUND */
async function findBucket(context: Context<'bucketName'>): Promise<Row> {
  const { object: account, ref } = await accountOf(context as Context, 'accountName')
  const { bucketName } = context.parameters
  const all = await context.services.records.list(AccountBucket, { namespace: ref.namespace }, { fresh: context.fresh })
  const object = all.find(({ spec }) => spec.accountName === ref.name && spec.bucketName === bucketName)
  if (object === undefined) throw notFound(`Bucket "${bucketName}" of account "${ref.name}"`)
  return { object, account }
}

async function createBucket(context: Context<string, unknown, BucketCreateDto>) {
  const { object: account, ref } = await accountOf(context as Context, 'accountName')
  const { services, body, caller } = context
  refuseWhileDeleting(account)
  if (body.publicRead) refuseClosed(account)
  const spec = { accountName: ref.name, bucketName: body.name, ...bucketSpec(body) }
  const features = services.objectStorage.store?.info.features
  if (features !== undefined) refuseLacking(bucketLacks(spec, features))
  refuseOneMore(context as Context, account, body.name)
  const known = bucketsOf(services, ref.namespace, ref.name).find((each) => each.spec.bucketName === body.name)
  const { object, isNew } = await services.records.create(AccountBucket, {
    namespace: ref.namespace,
    // Another way of making it, or a former release, may have called the object otherwise.
    name: known?.metadata.name ?? storeBucketName(ref.name, body.name),
    spec,
    caller,
  })
  return (isNew ? created : ok)(bucketDto(object, account), { etag: etagOf(object) })
}

/** @throws PlatformError QUOTA_EXCEEDED */
function refuseOneMore({ services }: Context, { metadata, spec }: AccountObject, name: string): void {
  const present = bucketsOf(services, metadata.namespace, metadata.name)
  const used = present.length
  if (used < spec.maxBuckets || present.some((bucket) => bucket.spec.bucketName === name)) return
  const message = `Account "${metadata.name}" has ${used} of ${spec.maxBuckets} buckets.`
  const extras = { quota: 'maxBuckets', limit: spec.maxBuckets, used, requested: 1 }
  throw new PlatformError('QUOTA_EXCEEDED', message, extras)
}

/** A bucket that holds something goes only where that was asked for; what is locked stays in any case. */
async function deleteBucket(context: Context<'bucketName', { force?: 'true' | 'false' | undefined } | undefined>) {
  const { object } = await findBucket(context as Context<'bucketName'>)
  const { caller, ifMatch, services } = context
  const force = context.query?.force === 'true'
  const { namespace, name, uid } = object.metadata
  const ref = { namespace, name }
  const isHeld = object.status?.storeName !== undefined && !(await isEmptyAtStore(context as Context, object, force))
  if (isHeld) {
    await services.records.update(AccountBucket, ref, {
      caller,
      ifMatch,
      change: ({ spec }) => ({ ...spec, forceDelete: true }),
    })
  }
  const { isGone } = await services.records.remove(AccountBucket, ref, isHeld ? { caller } : { caller, ifMatch })
  if (isGone) return noContent()
  const look = async () => services.records.peek(AccountBucket, ref)?.metadata.uid !== uid
  return (await untilChanged(context as Context, look)) ? noContent() : acceptedEmpty()
}

/** @throws PlatformError BUCKET_NOT_EMPTY, OBJECTS_LOCKED */
async function isEmptyAtStore({ services, signal }: Context, object: BucketObject, force: boolean): Promise<boolean> {
  const { store } = services.objectStorage
  if (store === undefined) return true
  const { bucketName, objectLock } = object.spec
  const storeName = storeNameOf(object)
  return asking(async () => {
    if (await store.isEmpty(storeName, { signal })) return true
    if (objectLock && (await store.holdsLocked(storeName, { signal }))) {
      const message = `Bucket "${bucketName}" holds objects that may not be deleted yet.`
      throw new PlatformError('OBJECTS_LOCKED', message)
    }
    if (force) return false
    const message = `Bucket "${bucketName}" is not empty: delete its objects, or add force=true.`
    throw new PlatformError('BUCKET_NOT_EMPTY', message)
  })
}

export const bucketRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    BASE,
    {
      auth: action('objectbuckets/read'),
      summary: 'The buckets of an account',
      list: shape as never,
      reply: pagedListOf(BucketDto),
      answers: [200],
    },
    async (context) => {
      const { object: account, ref } = await accountOf(context, 'accountName')
      const rows = bucketsOf(context.services, ref.namespace, ref.name).map((object) => ({ object, account }))
      return pagedParts(rows, context.list, shape, (row) => bucketDto(row.object, row.account))
    },
  ),
  route(
    'POST',
    BASE,
    {
      auth: action('objectbuckets/write'),
      summary: 'Make a bucket; the same body again answers 200',
      body: BucketCreateDto,
      reply: BucketDto,
      answers: [200, 201, 409, 422],
    },
    createBucket,
  ),
  route(
    'GET',
    `${BASE}/{bucketName}`,
    { auth: action('objectbuckets/read'), summary: 'Read one', reply: BucketDto, answers: [200] },
    async (context) => {
      const { object, account } = await findBucket(context)
      return ok(bucketDto(object, account), { etag: etagOf(object) })
    },
  ),
  route(
    'DELETE',
    `${BASE}/{bucketName}`,
    {
      auth: action('objectbuckets/delete'),
      summary: 'Delete an empty bucket; force=true takes the objects along and may answer 202',
      query: z.strictObject({ force: z.enum(['true', 'false']).optional() }),
      answers: [200, 202, 204, 409],
    },
    deleteBucket,
  ),
]

/** What the interface lacks: a bucket can be made there, and no setting of it changed. */
export const additionalBucketRoutes: readonly RouteDraft[] = [
  route(
    'PATCH',
    `${BASE}/{bucketName}`,
    {
      auth: action('objectbuckets/write'),
      summary: 'JSON Merge Patch (RFC 7396) of the settings of a bucket',
      body: z.unknown(),
      mediaTypes: ['application/merge-patch+json', 'application/json'],
      reply: BucketDto,
      answers: [200, 400, 409, 422],
    },
    async (context) => patchBucket(context as Context, await findBucket(context as Context<'bucketName'>)),
  ),
]
