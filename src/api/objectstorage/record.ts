import { z } from 'zod'
import { keyState, storeNameOf, unsupportedAccountFields } from '../../contracts/objectstorage.ts'
import { RESOURCE_STATES, summaryOf } from '../../core/conditions.ts'
import { Tags } from '../../crds/fields.ts'
import {
  AccountBucket,
  BucketName,
  CorsRule,
  completeCorsRule,
  completeLifecycleRule,
  KEY_PERMISSIONS,
  LifecycleRule,
  MIN_QUOTA_BYTES,
  type ObjectAccessKey,
  ObjectStorageAccount,
  VERSIONING,
} from '../../crds/objectstorage.ts'
import type { Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { indexedByReference } from '../records/derived.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, headFields, Uuid } from '../resources/dto.ts'
import { recordOf } from '../resources/record.ts'
import type { ResourceView } from '../resources/types.ts'
import { requireStoreFeature } from './store.ts'

export type AccountObject = RecordOf<typeof ObjectStorageAccount>
export type BucketObject = RecordOf<typeof AccountBucket>
export type KeyObject = RecordOf<typeof ObjectAccessKey>
export type AccountView = ResourceView<typeof ObjectStorageAccount>
export const COLLECTION = 'objectstorageaccounts'

const QuotaBytes = z.int().min(MIN_QUOTA_BYTES)

const use = (field: keyof ReturnType<typeof accountUsage>) => (view: AccountView) =>
  accountUsage(view.services, view.object)[field]

/** ObjectStorageAccountDto (records: object storage). */
export const accountRecord = recordOf(ObjectStorageAccount, {
  computed: {
    endpoint: [
      z.string().describe('Where workloads reach the store; empty until it is known'),
      ({ object }) => object.status?.endpoint ?? '',
    ],
    regionName: [z.string(), ({ object }) => object.status?.regionName ?? ''],
    publicEndpoint: z.string().nullable(),
    forcePathStyle: [z.boolean(), ({ object }) => object.status?.forcePathStyle ?? true],
    bucketCount: [z.int(), use('bucketCount')],
    objectCount: [z.int(), use('objectCount')],
    usedBytes: [z.int(), use('usedBytes')],
    usageAt: [DateTime.nullable().describe('When the newest of these figures was found'), use('usageAt')],
  },
  refine: (draft, view) => {
    const features = view.services.objectStorage.store?.info.features
    if (features !== undefined) requireStoreFeature(unsupportedAccountFields(draft, features))
    return {}
  },
})

/** Returns the totals of an account's buckets, from their own measurements. */
export function accountUsage(services: Services, { metadata }: AccountObject) {
  let [bucketCount, objectCount, usedBytes, usageAt] = [0, 0, 0, ''] as [number, number, number, string]
  for (const { status } of bucketsOf(services, metadata.namespace, metadata.name)) {
    bucketCount += 1
    objectCount += status?.objectCount ?? 0
    usedBytes += status?.usedBytes ?? 0
    if ((status?.usageAt ?? '') > usageAt) usageAt = status?.usageAt ?? ''
  }
  return { bucketCount, objectCount, usedBytes, usageAt: usageAt === '' ? null : usageAt }
}

const ofAccount = indexedByReference(AccountBucket, ({ spec }) => spec.accountName)

export function bucketsOf({ records }: Services, namespace = '', account: string): BucketObject[] {
  return ofAccount(records, namespace, account)
}

const { expireDays, noncurrentExpireDays, abortUploadDays } = LifecycleRule.shape

/** Null means absent, so that a record can be sent back as read. */
const LifecycleRuleBody = LifecycleRule.extend({
  expireDays: expireDays.nullable(),
  noncurrentExpireDays: noncurrentExpireDays.nullable(),
  abortUploadDays: abortUploadDays.nullable(),
})

const bucketFields = {
  versioning: z.enum(VERSIONING),
  objectLock: z.boolean().describe('Cannot be changed later; needs versioning'),
  lockDays: z.int().min(1).max(36_500).nullable(),
  quotaBytes: QuotaBytes.nullable(),
  publicRead: z.boolean(),
  lifecycleRules: z.array(LifecycleRuleBody).max(100),
  corsRules: z.array(CorsRule).max(100),
  tags: Tags,
}

export const BucketCreateDto = strictRecord('BucketCreateDto', {
  name: BucketName.describe('Unique in the account'),
  versioning: bucketFields.versioning.nullish().describe("The account's default when absent"),
  objectLock: z.boolean().default(false),
  lockDays: bucketFields.lockDays.optional(),
  quotaBytes: bucketFields.quotaBytes.optional(),
  publicRead: z.boolean().default(false),
  lifecycleRules: bucketFields.lifecycleRules.default([]),
  corsRules: bucketFields.corsRules.default([]),
  tags: Tags.default({}),
})
export type BucketCreateDto = z.output<typeof BucketCreateDto>

export const BucketDto = namedRecord('BucketDto', {
  id: Uuid,
  name: z.string(),
  accountName: z.string(),
  storeName: z.string().describe('Its name at the endpoint'),
  url: z.string(),
  status: headFields.status,
  statusMessage: z.string().nullable(),
  ...bucketFields,
  lifecycleRules: z.array(
    namedRecord('LifecycleRuleDto', {
      id: z.string(),
      prefix: z.string(),
      expireDays: z.int().nullable(),
      noncurrentExpireDays: z.int().nullable(),
      abortUploadDays: z.int().nullable(),
      enabled: z.boolean(),
    }),
  ),
  corsRules: z.array(
    namedRecord('CorsRuleDto', {
      origins: z.array(z.string()),
      methods: z.array(z.string()),
      headers: z.array(z.string()),
      maxAgeSeconds: z.int(),
    }),
  ),
  objectCount: z.int(),
  usedBytes: z.int(),
  usageAt: DateTime.nullable(),
  createdAt: DateTime,
})

/** Returns the effective versioning: once enabled, it can be suspended but not turned off. */
export function bucketVersioning({ spec, status }: BucketObject, account: AccountObject): (typeof VERSIONING)[number] {
  const wanted = spec.objectLock ? 'Enabled' : (spec.versioning ?? account.spec.defaultVersioning)
  return wanted === 'Off' && (status?.versioning ?? 'Off') !== 'Off' ? 'Suspended' : wanted
}

/** Returns the fields of a bucket's record that are not in the spec. */
export function bucketDto(object: BucketObject, account: AccountObject) {
  const { spec, status } = object
  const storeName = storeNameOf(object)
  const { status: state, statusMessage } = summaryOf(object)
  const endpoint = account.status?.publicEndpoint ?? account.status?.endpoint ?? ''
  return {
    name: spec.bucketName,
    storeName,
    url: endpoint === '' ? '' : `${endpoint}/${storeName}`,
    status: state,
    statusMessage,
    versioning: bucketVersioning(object, account),
    lifecycleRules: spec.lifecycleRules.map(completeLifecycleRule).map((rule) => ({
      ...rule,
      expireDays: rule.expireDays ?? null,
      noncurrentExpireDays: rule.noncurrentExpireDays ?? null,
      abortUploadDays: rule.abortUploadDays ?? null,
    })),
    corsRules: spec.corsRules.map(completeCorsRule),
    objectCount: status?.objectCount ?? 0,
    usedBytes: status?.usedBytes ?? 0,
  }
}

export const BUCKET_STATES = RESOURCE_STATES

const KEY_STATES = ['Active', 'Inactive', 'Expired'] as const

export const AccessKeyDto = namedRecord('AccessKeyDto', {
  id: Uuid,
  accessKeyId: z.string().describe('Empty until the store has made it'),
  accountName: z.string(),
  managedIdentityId: Uuid.nullable(),
  ownerType: z.enum(['Account', 'ManagedIdentity']),
  description: z.string().nullable(),
  permission: z.enum(KEY_PERMISSIONS),
  buckets: z.array(z.string()).nullable().describe('Null: every bucket of the account'),
  status: z.enum(KEY_STATES),
  createdAt: DateTime,
  createdBy: z.string().nullable(),
  expiresAt: DateTime.nullable(),
  lastUsedAt: DateTime.nullable(),
})

export const IssuedAccessKeyDto = namedRecord('IssuedAccessKeyDto', {
  ...AccessKeyDto.shape,
  secretAccessKey: z.string().describe('Shown here and never again'),
  endpoint: z.string(),
  regionName: z.string(),
})

/** Returns the fields of a key's record that are not in the spec. */
export function keyDto(object: KeyObject, now: number) {
  const { spec, status } = object
  return {
    accessKeyId: status?.accessKeyId ?? '',
    ownerType: spec.managedIdentityId === undefined ? ('Account' as const) : ('ManagedIdentity' as const),
    status: keyState(object, now),
  }
}
